/** A store that has received a recording, and a kernel that answers its commands. */

import type { Recording } from "../../dev/model";
import type { Command, FromKernel, Head, Json, Pictures } from "../../src/protocol";
import { VERSION } from "../../src/protocol";
import type { Host } from "../../src/state/host";
import { Store } from "../../src/state/store";

export type { Recording };

/** The answer to a command, or a function that returns it; a function that throws refuses the command. */
type Answer = Json | ((command: Command) => Json);

export interface FakeKernel {
  store: Store;
  /** The commands that were received, in order. */
  commands: Command[];
  /** Change the head. */
  head: (changes: Partial<Head>) => void;
  pictures: (pictures: Pictures) => void;
}

/** A page that can do nothing but show the view. */
export const PLAIN_PAGE: Omit<Host, "send"> = {
  can: { insert: false, settle: false, dock: false },
  insert: () => 0,
  setMoment: () => 0,
  dock: () => 0,
  isShown: () => true,
};

/** Answer commands from `answers`, or else from the recording. */
export function fakeKernel(
  recording: Recording,
  answers: { [command: string]: Answer } = {},
  changes: Partial<Head> = {},
): FakeKernel {
  const commands: Command[] = [];
  const answerTo = (command: Command): Json => {
    const answer = answers[command.cmd] ?? recording.answers[command.cmd] ?? null;
    return typeof answer === "function" ? answer(command) : answer;
  };
  const store: Store = new Store({
    ...PLAIN_PAGE,
    send: (message) => {
      if (message.t !== "cmd") return;
      const { t: _, v, cid, ...command } = message;
      commands.push(command);
      queueMicrotask(() => {
        try {
          store.receive({ t: "ack", v, cid, result: answerTo(command) });
        } catch (error) {
          store.receive({ t: "nak", v, cid, error: (error as Error).message, type: "UsageError" });
        }
      });
    },
  });
  for (const message of recording.messages) store.receive(message);
  let seq = recording.messages.reduce((last, message) => Math.max(last, ("seq" in message && message.seq) || 0), 0);
  const send = (ev: Extract<FromKernel, { t: "events" }>["ev"]): void =>
    store.receive({ t: "events", v: VERSION, run: store.head.run, seq: ++seq, ev });
  const head = (more: Partial<Head>): void => send([{ k: "head", head: { ...store.head, ...more } }]);
  head(changes);
  return { store, commands, head, pictures: (pictures) => send([{ k: "pictures", pictures }]) };
}
