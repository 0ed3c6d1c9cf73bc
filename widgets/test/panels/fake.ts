/** A store that was told what a real run said, and a kernel that answers from the record. */

import type { Command, FromKernel, Head, Json, Pictures } from "../../src/protocol";
import { VERSION } from "../../src/protocol";
import { Store } from "../../src/store";

export interface Recorded {
  messages: FromKernel[];
  answers: { [command: string]: Json };
}

type Answer = Json | ((command: Command) => Json);

export interface Fake {
  store: Store;
  /** The commands that came, in their order. */
  told: Command[];
  /** Say that something of the head is different now. */
  head: (changes: Partial<Head>) => void;
  pictures: (pictures: Pictures) => void;
}

/** An answer that throws is a refusal. */
export function fake(recorded: Recorded, answers: { [command: string]: Answer } = {}, changes: Partial<Head> = {}): Fake {
  const told: Command[] = [];
  const answer = (command: Command): Json => {
    const given = answers[command.cmd] ?? recorded.answers[command.cmd] ?? null;
    return typeof given === "function" ? given(command) : given;
  };
  const store: Store = new Store({
    can: { insert: false, freeze: false },
    insert: () => 0,
    freeze: () => 0,
    send: (message) => {
      if (message.t !== "cmd") return;
      const { t: _, v, cid, ...command } = message;
      told.push(command);
      queueMicrotask(() => {
        try {
          store.take({ t: "ack", v, cid, result: answer(command) });
        } catch (error) {
          store.take({ t: "nak", v, cid, error: (error as Error).message, type: "UsageError" });
        }
      });
    },
  });
  for (const message of recorded.messages) store.take(message);
  let seq = recorded.messages.reduce((last, message) => ("seq" in message ? message.seq : last), 0);
  const say = (ev: Extract<FromKernel, { t: "events" }>["ev"]): void =>
    store.take({ t: "events", v: VERSION, run: store.head.run, seq: ++seq, ev });
  const head = (more: Partial<Head>): void => say([{ k: "head", head: { ...store.head, ...more } }]);
  head(changes);
  return { store, told, head, pictures: (pictures) => say([{ k: "pictures", pictures }]) };
}
