/** Decisions of a person: whether a call may be made, and what a question is answered with. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Area, Button, Field, Tool } from "../controls";
import { Refusal, said } from "../panels/parts";
import type { Command, Json, Pending } from "../protocol";
import type { Store } from "../store";
import type { Ui } from "../ui";
import { Arguments, ArgumentsForm, type Draft, written } from "./args";
import { Form } from "./edit";

interface DecisionProps {
  store: Store;
  step: Pending;
  which: string;
}

/** A function that sends a decision once, and what was refused. */
function useDecision(store: Store): [decide: (command: Command, on?: boolean) => void, busy: boolean, refused: string] {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const decide = (command: Command, on = false): void => {
    if (busy) return;
    setBusy(true);
    setRefused("");
    store
      .ask(command)
      .then(() => on && store.ask({ cmd: "play" }))
      .catch((error) => setRefused(said(error)))
      .finally(() => setBusy(false));
  };
  return [decide, busy, refused];
}

type Way = "approve" | "edit" | "reject" | "respond";

export function Approval({ store, step, which }: DecisionProps & { ui: Ui }): JSX.Element {
  const [way, setWay] = useState<Way>("approve");
  const [remember, setRemember] = useState(false);
  const [draft, setDraft] = useState<Draft>({});
  const [text, setText] = useState("");
  const [decide, busy, refused] = useDecision(store);
  const id = useId();
  const given = step.call?.arguments ?? {};
  const { value, problems } = written(step.schema, given, draft);
  const unreadable = way === "edit" && Object.keys(problems).length > 0;
  const send = (on = false): void => {
    if (unreadable) return;
    if (way === "reject") decide({ cmd: "reject", which, comment: text }, on);
    else if (way === "respond") decide({ cmd: "respond", which, value: text }, on);
    else decide({ cmd: "approve", which, arguments: way === "edit" ? value : null, remember }, on);
  };
  const turn = (to: Way): void => setWay(way === to ? "approve" : to);
  return (
    <Form
      label="Approval"
      begin={way === "approve" ? "" : way}
      send={() => send()}
      cancel={way === "approve" ? undefined : () => setWay("approve")}
    >
      {way === "edit" ? (
        <ArgumentsForm id={id} schema={step.schema} given={given} draft={draft} onDraft={setDraft} />
      ) : (
        step.call && <Arguments call={step.call} />
      )}
      {way === "reject" && <Area label="Comment" placeholder="Why not (the model reads this)" value={text} onInput={setText} />}
      {way === "respond" && (
        <Area label="Observation" placeholder="What the tool would have given" value={text} onInput={setText} />
      )}
      {refused && <Refusal text={refused} />}
      <div class="ak-buttons">
        <Tool label={LABELS[way]} class="ak-primary" hint="Ctrl+Enter" off={busy || unreadable} onPress={() => send()} />
        <Tool
          label="and run on"
          title="Decide so, and go on in the background"
          off={busy || unreadable}
          onPress={() => send(true)}
        />
        {WAYS.filter(([to]) => (to === "edit" ? step.call && !step.own : step.call || to === "reject")).map(
          ([to, label, title]) => (
            <Tool key={to} label={label} title={title} pressed={way === to} onPress={() => turn(to)} />
          ),
        )}
        {step.call && (way === "approve" || way === "edit") && (
          <label class="ak-checkbox" for={`${id}-remember`}>
            <Field
              id={`${id}-remember`}
              type="checkbox"
              class=""
              checked={remember}
              onChange={(event) => setRemember(event.currentTarget.checked)}
            />
            do not ask again for this tool
          </label>
        )}
      </div>
    </Form>
  );
}

const LABELS = { approve: "Approve", edit: "Approve with these", reject: "Reject", respond: "Give this answer" };
const WAYS: [way: Way, label: string, title: string][] = [
  ["edit", "Edit…", "Change the arguments, then approve"],
  ["reject", "Reject…", "Refuse the call, with a comment that the model reads"],
  ["respond", "Respond…", "Answer in the tool's place: it is not called"],
];

/** A question of the engine, with its choices or a box to answer in. */
export function Reply({ store, step, which }: DecisionProps): JSX.Element {
  const [text, setText] = useState("");
  const [decide, busy, refused] = useDecision(store);
  const answer = (value: Json, on = false): void => decide({ cmd: "respond", which, value }, on);
  return (
    <Form label="Answer" send={() => text.trim() && answer(text)}>
      <p class="ak-text ak-question">{step.question}</p>
      {step.choices?.length ? (
        <div class="ak-buttons" role="group" aria-label="Choices">
          {step.choices.map((choice, index) => (
            <Button key={index} class="ak-tool-button" aria-disabled={busy} onClick={() => answer(choice)}>
              {choice}
            </Button>
          ))}
        </div>
      ) : null}
      <Area
        label="Answer"
        placeholder={step.choices?.length ? "Or in your own words" : "Your answer"}
        value={text}
        onInput={setText}
      />
      {refused && <Refusal text={refused} />}
      <div class="ak-buttons">
        <Tool label="Answer" class="ak-primary" hint="Ctrl+Enter" off={busy || !text.trim()} onPress={() => answer(text)} />
        <Tool
          label="and run on"
          title="Answer so, and go on in the background"
          off={busy || !text.trim()}
          onPress={() => answer(text, true)}
        />
      </div>
    </Form>
  );
}
