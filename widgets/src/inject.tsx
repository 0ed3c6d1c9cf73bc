/** Saying something to the model, with a receipt: sent, or seen by it. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Form } from "./cards/edit";
import { Area, Button, Choice, Tool } from "./controls";
import { Refusal, said } from "./panels/parts";
import type { Head } from "./protocol";
import { able } from "./status";
import type { Store } from "./store";
import type { Ui } from "./ui";
import { useOf } from "./use";

export function Inject({ store, ui }: { store: Store; ui: Ui }): JSX.Element | null {
  const open = useOf(ui, (u) => u.injecting);
  const notes = useOf(store, (s) => s.head.injections);
  if (!open && !notes.length) return null;
  return (
    <section class="ak-inject" aria-label="Messages to the model">
      {notes.length > 0 && (
        <ul class="ak-injections">
          {notes.map((note) => (
            <li key={note.id}>
              <span class={`ak-tag ${note.seen ? "ak-tag-success" : ""}`}>
                {note.seen ? "seen by the model" : "sent, not seen yet"}
              </span>
              {note.to && <span class="ak-tag">lane {note.to}</span>}
              <span class="ak-text">{note.text}</span>
              {!note.seen && (
                <Button class="ak-action" title="Take it back" onClick={() => void ui.tell({ cmd: "recall", id: note.id })}>
                  recall
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {open > 0 && <Box store={store} ui={ui} open={open} />}
    </section>
  );
}

function Box({ store, ui, open }: { store: Store; ui: Ui; open: number }): JSX.Element {
  const head = useOf(store, (s) => s.head);
  const [text, redraw] = useState(ui.saying);
  const [to, setTo] = useState("");
  const [refused, setRefused] = useState("");
  const lanes = lanesOf(head);
  const setText = (text: string): void => {
    ui.saying = text;
    redraw(text);
  };
  const send = async (): Promise<void> => {
    if (!text.trim()) return;
    try {
      await store.ask({ cmd: "inject", text, to: lanes.includes(to) ? to : "" });
      setText("");
      setRefused("");
    } catch (error) {
      setRefused(said(error));
    }
  };
  return (
    <Form label="Inject" begin={open} send={send} cancel={() => ui.set({ injecting: 0 })}>
      <Area
        label="Message to the model"
        placeholder="Say something to the model: it is part of its next request"
        value={text}
        onInput={setText}
      />
      {refused && <Refusal text={refused} />}
      <div class="ak-buttons">
        <Tool label="Send" class="ak-primary" hint="Ctrl+Enter" off={!text.trim() || !able(store, "inject")} onPress={send} />
        {lanes.length > 0 && (
          <Choice aria-label="For" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
            <option value="">for all lanes</option>
            {lanes.map((lane) => (
              <option key={lane} value={lane}>
                lane {lane}
              </option>
            ))}
          </Choice>
        )}
        <Tool label="Close" hint="Escape" onPress={() => ui.set({ injecting: 0 })} />
      </div>
    </Form>
  );
}

function lanesOf(head: Head): string[] {
  return [...new Set([...head.pending, ...head.where].map((each) => each.lane).filter(Boolean))];
}
