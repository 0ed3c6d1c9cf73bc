/** Putting something else in the place of an entry, and seeing afterwards what was there before. */

import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Area, Button, Field, Fold, Tool } from "../controls";
import { Dim, Note, Refusal, said, textOf, useAsked, WordDiff } from "../panels/parts";
import type { Call, Card, Command, Json } from "../protocol";
import type { Store } from "../store";
import type { Editing, Ui } from "../ui";
import { ArgumentsForm, type Draft, written } from "./args";

type Change = Extract<Command, { cmd: "edit" }>["change"];

/** One field of an edit: how it is asked for, and what it says. */
interface Part {
  field: "text" | "answer";
  label: string;
  before: string;
}

export function EditForm({ store, ui, editing }: { store: Store; ui: Ui; editing: Editing }): JSX.Element {
  const [draft, setDraft] = useState<Draft>(editing.draft);
  const [refused, setRefused] = useState("");
  const [busy, setBusy] = useState(false);
  const id = useId();
  const { card, step, what } = editing;
  const calls = callsOf(editing);
  const parts = partsOf(editing);
  const put = (more: Draft): void => {
    editing.draft = { ...editing.draft, ...more }; // outlives this form
    setDraft(editing.draft);
  };
  const { change, problem } = changeOf(editing, parts, calls, draft);
  const send = async (): Promise<void> => {
    if (problem || busy) return setRefused(problem);
    setBusy(true);
    try {
      const place = step && { step: { path: step.path, index: step.index } };
      await store.ask({ cmd: "edit", entry: card?.id ?? null, ...place, base: editing.base, change, reason: draft.reason ?? "" });
      ui.set({ editing: null });
    } catch (error) {
      setRefused(said(error));
      setBusy(false);
    }
  };
  return (
    <Form label="Edit" begin={what} send={send} cancel={() => ui.set({ editing: null })}>
      {(card ?? step)?.kind === "act" && !step?.own && <What ui={ui} editing={editing} />}
      {parts.map((part) => (
        <div class="ak-form-row" key={part.field}>
          <span aria-hidden="true">{part.label}</span>
          <Area label={part.label} value={draft[part.field] ?? part.before} onInput={(text) => put({ [part.field]: text })} />
        </div>
      ))}
      {calls.map((call, index) => (
        <fieldset key={call.id || index}>
          <legend>
            Arguments of <code>{call.name}</code>
          </legend>
          <ArgumentsForm
            id={`${id}-${index}`}
            schema={step?.schema}
            given={call.arguments}
            draft={draft[`call${index}`] ? (JSON.parse(draft[`call${index}`] as string) as Draft) : {}}
            onDraft={(fields) => put({ [`call${index}`]: JSON.stringify(fields) })}
          />
        </fieldset>
      ))}
      <Field
        class="ak-field ak-reason"
        aria-label="Reason"
        placeholder="Reason (kept with the edit)"
        value={draft.reason ?? ""}
        onInput={(event) => put({ reason: event.currentTarget.value })}
      />
      {refused && <Refusal text={refused} />}
      <Buttons
        name={busy ? "Saving…" : card ? "Save edit" : "Use this"}
        off={busy || !!problem}
        send={send}
        cancel={() => ui.set({ editing: null })}
      >
        {problem && <Dim>{problem}</Dim>}
      </Buttons>
    </Form>
  );
}

/** An action has two sides: what it was asked, and what it gave. */
function What({ ui, editing }: { ui: Ui; editing: Editing }): JSX.Element {
  const sides: [what: Editing["what"], label: string][] = [
    ["arguments", "Arguments"],
    ["result", "Observation"],
  ];
  return (
    <div class="ak-edit-target" role="group" aria-label="What to edit">
      {sides.map(([what, label]) => (
        <Button key={what} aria-pressed={editing.what === what} onClick={() => ui.set({ editing: { ...editing, what } })}>
          {label}
        </Button>
      ))}
    </div>
  );
}

interface FormProps {
  label: string;
  /** Whether the cursor goes into its first box; and again whenever this changes. */
  begin?: string | number;
  send: () => void;
  cancel?: (() => void) | undefined;
  children: ComponentChildren;
}

/** A form that Ctrl+Enter sends and Escape leaves. */
export function Form({ label, begin, send, cancel, children }: FormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (begin) form.current?.querySelector<HTMLElement>("textarea,input,select")?.focus();
  }, [begin]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    else if (event.key === "Escape" && cancel) cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <form
      class="ak-edit-form"
      ref={form}
      aria-label={label}
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {children}
    </form>
  );
}

interface ButtonsProps {
  name: string;
  off: boolean;
  send: () => void;
  cancel: () => void;
  children?: ComponentChildren;
}

export function Buttons({ name, off, send, cancel, children }: ButtonsProps): JSX.Element {
  return (
    <div class="ak-buttons">
      <Tool label={name} class="ak-primary" hint="Ctrl+Enter" off={off} onPress={send} />
      <Tool label="Cancel" hint="Escape" onPress={cancel} />
      {children}
    </div>
  );
}

function callsOf({ card, step, what }: Editing): Call[] {
  if (card?.kind === "think") return card.calls;
  const call = card?.kind === "act" ? card.call : step?.call;
  return call && what === "arguments" ? [call] : [];
}

function partsOf({ card, step, what }: Editing): Part[] {
  if (what === "arguments") return [];
  if (card?.kind === "think") {
    if (card.answer === null || card.text !== card.answer) {
      const thought: Part = { field: "text", label: "Thought", before: card.text };
      return card.answer === null ? [thought] : [thought, { field: "answer", label: "Answer", before: card.answer }];
    }
    return [{ field: "answer", label: "Answer", before: card.answer }];
  }
  if (card?.kind === "act") return [{ field: "text", label: "Observation", before: card.text }];
  if (card?.kind === "ask") return [{ field: "text", label: "Answer", before: card.text }];
  const label = step?.kind === "think" ? "In the model's place: the final answer" : "In the tool's place: the observation";
  return [{ field: "text", label, before: "" }];
}

function changeOf(editing: Editing, parts: Part[], calls: Call[], draft: Draft): { change: Change; problem: string } {
  const change: Change = {};
  for (const { field, before } of parts) {
    const text = draft[field];
    if (text !== undefined && text !== before) change[field] = text;
  }
  const made = calls.map((call, index) => {
    const fields = draft[`call${index}`];
    return written(editing.step?.schema, call.arguments, fields ? (JSON.parse(fields) as Draft) : {});
  });
  const bad = made.some(({ problems }) => Object.keys(problems).length);
  const changed = made.some(({ value }, index) => !same(value, calls[index]?.arguments ?? {}));
  if (changed && (calls.length === 1 || editing.what === "arguments")) change.arguments = made[0]?.value as Json;
  else if (changed)
    change.calls = made.map(({ value }, index) => ({ ...(calls[index] as Call), arguments: value })) as unknown as Json;
  if (bad) return { change, problem: "Some argument cannot be read." };
  return { change, problem: Object.keys(change).length ? "" : "Nothing is changed yet." };
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What an edit replaced, word by word; fetched when it is opened. */
export function Original({ store, card }: { store: Store; card: Card }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <Fold
      class="ak-original"
      summary={`what was here before${card.reason && ` (reason: ${card.reason})`}`}
      onOpen={() => setOpen(true)}
    >
      {open && <Difference store={store} card={card} />}
    </Fold>
  );
}

function Difference({ store, card }: { store: Store; card: Card }): JSX.Element {
  const { value, error } = useAsked<Card>(store, String(card.id), { cmd: "original", entry: card.id });
  if (error) return <p class="ak-error-message">{error}</p>;
  if (!value) return <Note>Asking…</Note>;
  return (
    <div class="ak-text ak-difference">
      <WordDiff from={textOf(value)} to={textOf(card)} />
    </div>
  );
}

/** An edit whose entry is not there any more: another view, or Python, was quicker. */
export function Orphan({ ui, editing }: { ui: Ui; editing: Editing }): JSX.Element {
  const texts = Object.entries(editing.draft).filter(([, text]) => text);
  return (
    <section class="ak-lost-edit" role="alert">
      <p>The entry that you were editing is not on this line any more: it was changed elsewhere. What you wrote:</p>
      {texts.map(([field, text]) => (
        <pre class="ak-code" key={field}>
          {text}
        </pre>
      ))}
      <Button class="ak-tool-button" onClick={() => ui.set({ editing: null })}>
        Discard
      </Button>
    </section>
  );
}
