/** The breakpoints of a run with their hit counts, and a form to add one. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Button, Checkbox, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import type { Breakpoint } from "../protocol";
import { isOffered } from "../state/actions";
import type { Store } from "../state/store";
import { useCommand, useHead, useStore } from "../state/useStore";
import { Panel } from "./panel";

type Kind = Breakpoint["kind"];

interface KindText {
  name: string;
  /** Completes "Pause when …". */
  event: string;
  /** What the field for the value is called; absent if a breakpoint of this kind has no value. */
  value?: string;
}

const KINDS: { [kind in Kind]: KindText } = {
  tool: { name: "Tool", event: "a tool is called", value: "Tool" },
  role: { name: "Role", event: "a step has a role", value: "Role" },
  line: { name: "Line", event: "the engine reaches a line", value: "Line number" },
  error: { name: "Tool failure", event: "a tool fails" },
  repeat: { name: "Repeated call", event: "a call is repeated" },
  when: { name: "Condition", event: "a condition is true", value: "Python expression of entry" },
};
const EXAMPLE_CONDITION = 'entry.kind == "act" and not entry.result.ok';

export function Breakpoints({ store }: { store: Store }): JSX.Element {
  const { breakpoints } = useHead(store);
  const [execute, error] = useCommand(store);
  const mayChange = useStore(store, (s) => isOffered(s, "change"));
  return (
    <Panel name="breakpoints" label="Breakpoints">
      {breakpoints.length ? (
        <ul class="ak-list">
          {breakpoints.map(({ id, kind, value, file, enabled, hits }) => (
            <li key={id}>
              <Checkbox
                checked={enabled}
                disabled={!mayChange}
                onChange={() => void execute({ cmd: "enable", id, enabled: !enabled })}
              >
                <span>
                  {KINDS[kind].name} {value && <code>{value}</code>}
                  {file && <Muted> in {file.replace(/.*[\\/]/, "")}</Muted>}
                </span>
              </Checkbox>
              <Muted>{count(hits, "hit")}</Muted>
              {mayChange && (
                <Button
                  aria-label={`Remove breakpoint: ${KINDS[kind].name} ${value}`.trim()}
                  title="Remove breakpoint"
                  onClick={() => void execute({ cmd: "unbreak", id })}
                >
                  ×
                </Button>
              )}
            </li>
          ))}
        </ul>
      ) : (
        <Note>No breakpoints. The run pauses before a step that matches one.</Note>
      )}
      <ErrorMessage text={error} />
      {mayChange && <BreakpointForm store={store} />}
    </Panel>
  );
}

function BreakpointForm({ store }: { store: Store }): JSX.Element {
  const { tools, roles } = useHead(store);
  const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => kind !== "when" || isOffered(store, "python"));
  const [execute, error] = useCommand(store);
  const [kind, setKind] = useState<Kind>("tool");
  const [text, setText] = useState("");
  const id = useId();
  const label = KINDS[kind].value;
  // a select shows its first option if nothing was chosen yet, or if the chosen tool is gone
  const value = kind === "tool" && tools.length && !tools.includes(text) ? (tools[0] as string) : text;
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await execute({ cmd: "break", kind, value: label ? value : "" })) setText("");
  };
  const onInput = (event: Event): void => setText((event.currentTarget as HTMLInputElement).value);
  const field = { ...SUPPRESS_SHORTCUTS, id, value, onInput, "aria-describedby": `${id}-error` };
  return (
    <form class="ak-breakpoint-form" onSubmit={onSubmit}>
      <label for={`${id}-kind`}>Pause when</label>
      <select
        {...SUPPRESS_SHORTCUTS}
        id={`${id}-kind`}
        value={kind}
        onChange={(event) => {
          setKind(event.currentTarget.value as Kind);
          setText("");
        }}
      >
        {kinds.map((name) => (
          <option key={name} value={name}>
            {KINDS[name].event}
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
          placeholder={kind === "when" ? EXAMPLE_CONDITION : label}
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
      <Button type="submit">Add</Button>
      <div id={`${id}-error`}>
        <ErrorMessage text={error} />
      </div>
    </form>
  );
}
