/** What the kernel reads in the reply that a person writes in the place of the model, while it is typed. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ErrorMessage, Muted } from "../elements/text";
import type { PendingStep } from "../protocol";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";

/** How long nothing is typed before the kernel is asked, in milliseconds. */
const DELAY = 200;

export function ReadReply(props: { store: Store; step: PendingStep; text: string }): JSX.Element {
  const { store, step, text } = props;
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(text), DELAY);
    return () => clearTimeout(timer);
  }, [text]);
  const position = { path: step.path, index: step.index };
  const { value, error } = useQuery(store, typed, typed.trim() ? { cmd: "read", step: position, text: typed } : null);
  if (error) return <ErrorMessage text={error} />;
  const { calls = [], answer = null, problems = [], readable = true } = (typed.trim() && value) || {};
  return (
    <div class="ak-read" role="status">
      {!value || !typed.trim() ? (
        <Muted>{FORM[store.head.dialect] ?? FORM.text}</Muted>
      ) : (
        <>
          {calls.map((call, index) => (
            <p key={index}>
              <Muted>Read as a call: </Muted>
              <code>{call.text}</code>
            </p>
          ))}
          {readable && answer !== null && (
            <p>
              <Muted>Read as the answer: </Muted>
              {answer}
            </p>
          )}
          {[
            ...(readable ? [] : ["This is neither a call nor an answer; a model would be asked to write it again."]),
            ...problems,
            ...calls.flatMap(({ problem }) => problem || []),
          ].map((problem) => (
            <p key={problem} class="ak-problem">
              {problem}
            </p>
          ))}
        </>
      )}
    </div>
  );
}

/** The two forms of a reply, by dialect. */
const FORM: { [dialect: string]: string } = {
  text: "To call a tool, write lines that begin with Thought:, Action: and Action Input:, the arguments as JSON. To finish, write FINAL_ANSWER: and the answer.",
  json: 'Write one JSON object: {"type": "tool_call", "tool_name": …, "tool_args": {…}}, or {"type": "final_answer", "answer": …}.',
};
