/** Messages to the model: a box to write one, and whether the model has seen those already sent. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, Select, TextArea, ToolButton } from "../elements/controls";
import { Form } from "../elements/form";
import { errorText } from "../elements/format";
import { ErrorMessage } from "../elements/text";
import type { Head } from "../protocol";
import { isEnabled, isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useHead, useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";

export function MessageBox({ store, view }: { store: Store; view: ViewState }): JSX.Element | null {
  const requests = useStore(view, (v) => v.messageBox);
  const { injections, held } = useHead(store);
  const mayChange = useStore(store, (s) => isOffered(s, "change"));
  if (!(requests && mayChange) && !injections.length) return null;
  return (
    <section class="ak-inject" aria-label="Messages to the model">
      {injections.length > 0 && (
        <ul class="ak-injections">
          {injections.map(({ id, text, to, to_text, seen }) => (
            <li key={id}>
              <span class={`ak-tag ${seen ? "ak-tag-success" : ""}`}>
                {seen ? "seen by the model" : "not seen yet"}
              </span>
              {to && (
                <span class="ak-tag" title={`Lane ${to}`}>
                  {to_text}
                </span>
              )}
              <span class="ak-text">{text}</span>
              {!seen && mayChange && !held && (
                <Button
                  class="ak-action"
                  title="Take this message back before the model sees it"
                  onClick={() => void view.execute({ cmd: "recall", id })}
                >
                  Recall
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {requests > 0 && mayChange && <MessageForm store={store} view={view} focusKey={requests} />}
    </section>
  );
}

interface MessageFormProps {
  store: Store;
  view: ViewState;
  focusKey: number;
}

function MessageForm({ store, view, focusKey }: MessageFormProps): JSX.Element {
  const head = useHead(store);
  const [text, setText] = useState(view.messageDraft);
  const [to, setTo] = useState("");
  const [error, setError] = useState("");
  const lanes = lanesOf(head);
  const write = (text: string): void => {
    view.messageDraft = text;
    setText(text);
  };
  const close = (): void => view.set({ messageBox: 0 });
  const send = async (): Promise<void> => {
    if (!text.trim()) return;
    try {
      await store.execute({ cmd: "inject", text, to: lanes.some(([lane]) => lane === to) ? to : "" });
      write("");
      setError("");
    } catch (error) {
      setError(errorText(error));
    }
  };
  return (
    <Form label="Inject" focusKey={focusKey} onSubmit={send} onCancel={close}>
      <TextArea
        label="Message to the model"
        placeholder="Message to the model, sent with its next request"
        value={text}
        onInput={write}
      />
      {error && <ErrorMessage text={error} />}
      <div class="ak-buttons">
        <ToolButton
          label="Send"
          class="ak-primary"
          shortcut="Ctrl+Enter"
          disabled={!text.trim() || !isEnabled(store, "inject")}
          onClick={send}
        />
        {lanes.length > 0 && (
          <Select aria-label="To" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
            <option value="">to all parallel steps</option>
            {lanes.map(([lane, text]) => (
              <option key={lane} value={lane}>
                {text.replace("in parallel, ", "only to ")}
              </option>
            ))}
          </Select>
        )}
        <ToolButton label="Close" shortcut="Escape" onClick={close} />
      </div>
    </Form>
  );
}

function lanesOf({ pending, where }: Head): [lane: string, text: string][] {
  const lanes = [...pending, ...where].filter(({ lane }) => lane);
  return [...new Map(lanes.map(({ lane, lane_text }) => [lane, lane_text ?? lane]))];
}
