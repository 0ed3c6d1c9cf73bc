/** Predict mode: a guess that is committed before a step, and later shown beside what really happened. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Select, TextArea, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { ErrorMessage, Muted } from "../elements/text";
import type { Store } from "../state/store";
import { useQuery, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

/** As in agentkit/view/guesses.py. */
const ANSWER = "no tool: it answers";

export function GuessForm({ store, view }: { store: Store; view: ViewState }): JSX.Element | null {
  const [text, setText] = useState("");
  const requests = useStore(view, (v) => v.guessRequests);
  useStore(view, (v) => v.isPredicting);
  const tools = useStore(store, (s) => s.head.tools);
  useStore(store, (s) => s.head);
  const step = view.guessable;
  if (!step) return null;
  const label = step.kind === "think" ? "Your guess: the next action" : "Your guess: the observation";
  const commit = (): void => {
    if (!text.trim()) return;
    setText("");
    view.guess(step, text);
  };
  return (
    <Form label="Predict" focusKey={requests} onSubmit={commit}>
      {step.kind === "think" ? (
        <Select aria-label={label} value={text} onChange={(event) => setText(event.currentTarget.value)}>
          <option value="">{label} …</option>
          {[...tools, ANSWER].map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </Select>
      ) : (
        <TextArea label={label} placeholder={label} value={text} onInput={setText} />
      )}
      <div class="ak-buttons">
        <ToolButton
          label="Commit and step"
          class="ak-primary"
          shortcut="Ctrl+Enter"
          disabled={!text.trim()}
          onClick={commit}
        />
      </div>
    </Form>
  );
}

export function JudgedGuess(props: { store: Store; entry: number; guess: string }): JSX.Element {
  const { store, entry, guess } = props;
  const { value, error } = useQuery(store, String(entry), { cmd: "judge", entry, guess });
  if (error) return <ErrorMessage text={error} />;
  return (
    <dl class="ak-guess">
      <dt>
        <Muted>Your guess</Muted>
      </dt>
      <dd>{guess}</dd>
      <dt>
        <Muted>In fact</Muted>
      </dt>
      <dd>
        {value?.actual ?? "…"}
        {value && (value.right === null ? "" : value.right ? " (right)" : " (not this time)")}
      </dd>
    </dl>
  );
}
