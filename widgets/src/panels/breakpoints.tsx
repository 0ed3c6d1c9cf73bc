/** The breakpoints of a run, with how often each was hit, and a form for another one. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Breakpoint } from "../protocol";
import type { Store } from "../store";
import { Button, count, Dim, Note, Panel, QUIET, Refusal, useHead, useTold } from "./parts";

type Kind = Breakpoint["kind"];

/** What each kind is called, and what it asks for: nothing where the label is empty. */
const KINDS: { [kind in Kind]: [name: string, label: string] } = {
  tool: ["a tool is called", "Tool"],
  role: ["a step has a role", "Role"],
  line: ["the engine is at a line", "Line"],
  error: ["a tool fails", ""],
  repeat: ["a call is repeated", ""],
  when: ["a Python condition holds", "Condition of entry"],
};
const EXAMPLE = 'entry.kind == "act" and not entry.result[0].ok';

export function Breakpoints({ store }: { store: Store }): JSX.Element {
  const { breakpoints } = useHead(store);
  const [tell, refused] = useTold(store);
  return (
    <Panel name="breakpoints" label="Breakpoints">
      {breakpoints.length ? (
        <ul class="ak-list">
          {breakpoints.map((point) => (
            <li key={point.id}>
              <label>
                <input
                  type="checkbox"
                  {...QUIET}
                  checked={point.enabled}
                  onChange={() => tell({ cmd: "enable", id: point.id, enabled: !point.enabled })}
                />
                <span>
                  {KINDS[point.kind][0]} {point.value && <code>{point.value}</code>}
                  {point.file && <Dim> of {point.file.replace(/.*[\\/]/, "")}</Dim>}
                </span>
              </label>
              <Dim>{count(point.hits, "hit")}</Dim>
              <Button
                aria-label={`Remove: ${KINDS[point.kind][0]} ${point.value}`}
                title="Remove"
                onClick={() => tell({ cmd: "unbreak", id: point.id })}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      ) : (
        <Note>No breakpoints yet. The run pauses before a step that meets one.</Note>
      )}
      <Refusal text={refused} />
      <Form store={store} />
    </Panel>
  );
}

function Form({ store }: { store: Store }): JSX.Element {
  const { tools, roles } = useHead(store);
  const [tell, refused] = useTold(store);
  const [kind, setKind] = useState<Kind>("tool");
  const [value, setValue] = useState("");
  const id = useId();
  const [, label] = KINDS[kind];
  // a select shows its first option before anything was chosen, or when the chosen one is gone
  const chosen = kind === "tool" && tools.length && !tools.includes(value) ? (tools[0] as string) : value;
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if ((await tell({ cmd: "break", kind, value: label ? chosen : "" })) !== undefined) setValue("");
  };
  const onInput = (event: Event): void => setValue((event.currentTarget as HTMLInputElement).value);
  const field = { ...QUIET, id, value: chosen, onInput, "aria-describedby": `${id}-refused` };
  return (
    <form class="ak-breakpoint-form" onSubmit={onSubmit}>
      <label for={`${id}-kind`}>Pause when</label>
      <select
        {...QUIET}
        id={`${id}-kind`}
        value={kind}
        onChange={(event) => {
          setKind(event.currentTarget.value as Kind);
          setValue("");
        }}
      >
        {Object.entries(KINDS).map(([name, [text]]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      {label && (
        <label for={id} class="ak-sr-only">
          {label}
        </label>
      )}
      {kind === "tool" && tools.length ? (
        <select {...field} onChange={onInput}>
          {tools.map((tool) => (
            <option key={tool} value={tool}>
              {tool}
            </option>
          ))}
        </select>
      ) : label ? (
        <input
          {...field}
          type={kind === "line" ? "number" : "text"}
          min="1"
          class={kind === "when" ? "ak-code" : undefined}
          list={`${id}-${kind}`}
          placeholder={kind === "when" ? EXAMPLE : label}
          spellcheck={false}
          autocomplete="off"
          required
        />
      ) : null}
      {kind === "role" && (
        <datalist id={`${id}-role`}>
          {roles.map((role) => (
            <option key={role} value={role} />
          ))}
        </datalist>
      )}
      <button type="submit" {...QUIET}>
        Add
      </button>
      <div id={`${id}-refused`}>
        <Refusal text={refused} />
      </div>
    </form>
  );
}
