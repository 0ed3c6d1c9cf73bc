/** Editing an entry, or a pending step: its text, its answer, or the arguments of its calls. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Button, Select, TextArea, TextField, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { errorText } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import type { Call, Command, Json, PendingStep } from "../protocol";
import type { Store } from "../state/store";
import type { Edit, ViewState } from "../state/viewState";
import { type Draft, readDraft } from "./argumentFields";
import { ArgumentsForm } from "./argumentsForm";
import { ReadReply } from "./readReply";

type Change = Extract<Command, { cmd: "edit" }>["change"];

interface EditedText {
  field: "text" | "answer" | "reply";
  label: string;
  original: string;
}

export function EditForm({ store, view, edit }: { store: Store; view: ViewState; edit: Edit }): JSX.Element {
  const [draft, setDraft] = useState<Draft>(edit.draft);
  const [error, setError] = useState("");
  const [isSaving, setSaving] = useState(false);
  const id = useId();
  const { card, step, target } = edit;
  const calls = editedCalls(edit);
  const texts = editedTexts(edit);
  const { change, problem } = changeOf(edit, texts, calls, draft);
  const set = (fields: Draft): void => {
    edit.draft = { ...edit.draft, ...fields }; // outlives this form
    setDraft(edit.draft);
  };
  const cancel = (): void => view.set({ edit: null });
  const save = async (): Promise<void> => {
    if (problem || isSaving) return setError(problem);
    setSaving(true);
    try {
      const position = step && { step: { path: step.path, index: step.index } };
      const reason = draft.reason ?? "";
      const entry = card?.id ?? null;
      const id = await store.execute({ cmd: "edit", entry, ...position, base: edit.base, change, reason });
      // after the edit of a pending step, the view stays at the present
      view.set(
        step ? { edit: null } : { edit: null, selected: id, focusDue: id, scrollRequests: view.scrollRequests + 1 },
      );
    } catch (error) {
      setError(errorText(error));
      setSaving(false);
    }
  };
  const saveLabel = card ? "Save edit" : `Use ${target === "arguments" ? "these arguments" : `this ${target}`}`;
  return (
    <Form label="Edit" focusKey={target} onSubmit={save} onCancel={cancel}>
      {card?.kind === "act" && <TargetButtons view={view} edit={edit} />}
      {texts.map(({ field, label, original }) => (
        <div class="ak-form-row" key={field}>
          <span aria-hidden="true">{label}</span>
          <TextArea
            label={label}
            value={draft[field] ?? original}
            mono={field === "reply"}
            minRows={field === "reply" ? 4 : 2}
            onInput={(text) => set({ [field]: text })}
          />
        </div>
      ))}
      {step && texts[0]?.field === "reply" && <ReadReply store={store} step={step} text={draft.reply ?? ""} />}
      {target === "recording" && (
        <Recordings step={step} chosen={draft.recording} onChoose={(recording) => set({ recording })} />
      )}
      {calls.map((call, index) => (
        <fieldset key={call.id || index}>
          <legend>
            Arguments of <code>{call.name}</code>
          </legend>
          <ArgumentsForm
            id={`${id}-${index}`}
            schema={step?.schema}
            values={call.arguments}
            draft={callDraft(draft, index)}
            onDraft={(fields) => set({ [`call${index}`]: JSON.stringify(fields) })}
          />
        </fieldset>
      ))}
      <TextField
        aria-label="Reason"
        placeholder="Reason (optional, kept with the edit)"
        value={draft.reason ?? ""}
        onInput={(event) => set({ reason: event.currentTarget.value })}
      />
      {error && <ErrorMessage text={error} />}
      <div class="ak-buttons">
        <ToolButton
          label={isSaving ? "Saving…" : saveLabel}
          class="ak-primary"
          shortcut="Ctrl+Enter"
          disabled={isSaving || !!problem}
          onClick={save}
        />
        <ToolButton label="Cancel" shortcut="Escape" onClick={cancel} />
        {problem && <Muted>{problem}</Muted>}
      </div>
    </Form>
  );
}

/** The results that were recorded in the place of a step, with the chosen one in full below. */
function Recordings(props: {
  step: PendingStep | null;
  chosen: string | undefined;
  onChoose: (entry: string) => void;
}): JSX.Element {
  const { step, chosen, onChoose } = props;
  const recordings = step?.recordings ?? [];
  const shown = recordings.find(({ entry }) => String(entry) === chosen) ?? recordings[0];
  return (
    <div class="ak-form-row">
      <Select
        aria-label="Recorded before"
        value={String(shown?.entry)}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {recordings.map(({ entry, text }) => (
          <option key={entry} value={String(entry)}>
            {text}
          </option>
        ))}
      </Select>
      <Note>{shown?.text} Nothing is performed.</Note>
    </div>
  );
}

const TARGETS: [target: Edit["target"], label: string][] = [
  ["arguments", "Arguments"],
  ["result", "Observation"],
];

/** A tool call has two sides to edit: its arguments and its result. */
function TargetButtons({ view, edit }: { view: ViewState; edit: Edit }): JSX.Element {
  return (
    <div class="ak-edit-target" role="group" aria-label="What to edit">
      {TARGETS.map(([target, label]) => (
        <Button
          key={target}
          aria-pressed={edit.target === target}
          onClick={() => view.set({ edit: { ...edit, target } })}
        >
          {label}
        </Button>
      ))}
    </div>
  );
}

function editedCalls({ card, step, target }: Edit): Call[] {
  if (card?.kind === "think") return card.calls;
  const call = card?.kind === "act" ? card.call : step?.call;
  return call && target === "arguments" ? [call] : [];
}

function editedTexts({ card, step, target }: Edit): EditedText[] {
  if (target !== "result") return [];
  if (card?.kind === "think") {
    const { text, answer } = card;
    const texts: EditedText[] = [];
    if (answer === null || text !== answer) texts.push({ field: "text", label: "Thought", original: text });
    if (answer !== null) texts.push({ field: "answer", label: "Answer", original: answer });
    return texts;
  }
  if (card?.kind === "act") return [{ field: "text", label: "Observation", original: card.text }];
  if (card?.kind === "ask") return [{ field: "text", label: "Answer", original: card.text }];
  if (step?.kind === "think") return [{ field: "reply", label: "Reply, as the model would write it", original: "" }];
  if (step?.kind === "ask") return [{ field: "text", label: "Answer to the question", original: "" }];
  return [{ field: "text", label: "Observation, instead of calling the tool", original: "" }];
}

/** Return the changed fields of the arguments of a call: their draft is kept as JSON in the draft of the whole edit. */
function callDraft(draft: Draft, index: number): Draft {
  return JSON.parse(draft[`call${index}`] || "{}") as Draft;
}

function changeOf(edit: Edit, texts: EditedText[], calls: Call[], draft: Draft): { change: Change; problem: string } {
  const change: Change = {};
  for (const { field, original } of texts) {
    const text = draft[field];
    if (text !== undefined && text !== original) change[field] = text;
  }
  if (edit.target === "recording") change.recording = Number(draft.recording ?? edit.step?.recordings?.[0]?.entry);
  const drafts = calls.map((call, index) => readDraft(edit.step?.schema, call.arguments, callDraft(draft, index)));
  if (drafts.some(({ value }, index) => !isSameJson(value, calls[index]?.arguments ?? {}))) {
    if (calls.length === 1) change.arguments = drafts[0]?.value ?? {};
    else change.calls = calls.map((call, index) => ({ ...call, arguments: drafts[index]?.value ?? {} }));
  }
  if (drafts.some(({ problems }) => Object.keys(problems).length))
    return { change, problem: "Some arguments are not valid." };
  return { change, problem: Object.keys(change).length ? "" : "No changes yet." };
}

function isSameJson(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
