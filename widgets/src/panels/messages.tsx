/** The messages of a request, one by one, as its body holds them: what was there before is folded, what is new stands out. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Json, RequestView } from "../protocol";
import { diff, words } from "./diff";
import { Button, callText, count, cut, Dim, Note, QUIET, Scrolled, WordDiff } from "./parts";

interface Shown {
  role: string;
  text: string;
}

type State = "as before" | "new" | "changed" | "gone";

interface Row {
  state: State;
  number: number;
  message: Json;
  before?: Json;
}

/** Messages drawn: of more the last ones, which are the new ones. */
const MOST = 200;

export function Messages({ request }: { request: RequestView }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { body, previous_body: previous } = request;
  const rows = compared(previous ? listOf(previous) : [], listOf(body), request.same);
  const same = rows.findIndex((row) => row.state !== "as before");
  const folded = open ? 0 : same < 0 ? rows.length : same;
  const left = Math.max(0, rows.length - folded - MOST);
  if (!rows.length) return <Note>This body has no list of messages; it is shown whole under JSON.</Note>;
  return (
    <ol class="ak-messages">
      {["system", "tools"].map((name) => (
        <Beside key={name} name={name} value={body[name]} />
      ))}
      {same > 0 && (
        <li>
          <Button class="ak-expander" aria-expanded={open} onClick={() => setOpen(!open)}>
            {count(same, "message")} as in the request before
          </Button>
        </li>
      )}
      {left > 0 && <Note>{count(left, "message")} before these: they are under JSON.</Note>}
      {rows.slice(folded + left).map((row) => (
        <Message key={`${row.state} ${row.number}`} row={row} isNew={previous !== null} />
      ))}
    </ol>
  );
}

/** What the model is told beside the messages, folded: it seldom changes. */
function Beside({ name, value }: { name: string; value: Json | undefined }): JSX.Element | null {
  if (!value || (Array.isArray(value) && !value.length)) return null;
  return (
    <li>
      <details class="ak-details">
        <summary {...QUIET}>
          {name}
          {Array.isArray(value) && `: ${value.map((each) => within(each)?.name ?? "?").join(", ")}`}
        </summary>
        <Scrolled class="ak-text">{cut(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</Scrolled>
      </details>
    </li>
  );
}

function Message({ row, isNew }: { row: Row; isNew: boolean }): JSX.Element {
  const { role, text } = shown(row.message);
  const state = isNew ? row.state : "as before";
  return (
    <li class={`ak-message ak-message-${state.replace("gone", "removed").replace(" ", "-")}`}>
      <div class="ak-message-head">
        <b>{role}</b> <Dim>{row.number}</Dim>
        {state !== "as before" && <span class="ak-badge">{state}</span>}
      </div>
      <Scrolled class="ak-text">
        {row.before === undefined ? cut(text) : <WordDiff from={cut(shown(row.before).text)} to={cut(text)} />}
      </Scrolled>
    </li>
  );
}

/** The first `same` messages are known to be equal; of the others, what was replaced by one of the same role counts as changed. */
export function compared(before: Json[], now: Json[], same: number): Row[] {
  const rows: Row[] = now.slice(0, same).map((message, number) => ({ state: "as before", number, message }));
  const texts = (list: Json[]): string[] => list.slice(same).map((message) => JSON.stringify(message));
  let here = same;
  let gone: Row[] = [];
  let at = same;
  for (const { op, items } of diff(texts(before), texts(now))) {
    for (const _ of items) {
      if (op === "-") {
        gone.push({ state: "gone", number: at, message: before[at] as Json });
        at++;
        continue;
      }
      const message = now[here] as Json;
      const match = op === "+" ? gone.findIndex((row) => isAlike(row.message, message)) : -1;
      if (match >= 0) {
        rows.push(...gone.slice(0, match), { state: "changed", number: here, message, before: gone[match]?.message as Json });
        gone = gone.slice(match + 1);
      } else {
        if (op === "=") rows.push(...gone.splice(0));
        rows.push({ state: op === "=" ? "as before" : "new", number: here, message });
      }
      here++;
      if (op === "=") at++;
    }
  }
  return [...rows, ...gone];
}

/** Whether one message reads as a changed version of the other: the same role, and a good part of the words. */
function isAlike(a: Json, b: Json): boolean {
  const [old, current] = [shown(a), shown(b)];
  if (old.role !== current.role) return false;
  const known = new Set(words(old.text));
  const all = words(current.text).filter((word) => word.trim());
  return all.filter((word) => known.has(word)).length * 2 > all.length;
}

/** The messages of a body; a system text that stands beside them comes first in no count, since no index names it. */
function listOf(body: { [name: string]: Json }): Json[] {
  return Array.isArray(body.messages) ? body.messages : [];
}

/** Role and text of a message in any of the usual shapes; what has another one is shown as JSON. */
export function shown(message: Json): Shown {
  if (!isObject(message)) return { role: "", text: textIn(message) };
  const { role, content, tool_calls: calls, name } = message;
  const parts = [textIn(content ?? "")];
  for (const call of Array.isArray(calls) ? calls : []) parts.push(calledIn(call));
  return {
    role: [role, name].filter((word) => typeof word === "string" && word).join(" "),
    text: parts.filter(Boolean).join("\n"),
  };
}

function textIn(content: Json): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textIn).join("\n");
  if (!isObject(content)) return JSON.stringify(content);
  if (typeof content.text === "string") return content.text;
  if (content.type === "tool_use") return calledIn(content);
  if (content.type === "tool_result") return textIn(content.content ?? "");
  return JSON.stringify(content);
}

function calledIn(call: Json): string {
  const inner = within(call);
  return inner
    ? `→ ${callText({ name: inner.name as string, arguments: parsed(inner.arguments ?? inner.input ?? {}) })}`
    : JSON.stringify(call);
}

/** A tool or a call of one, without the wrapper that some dialects put around it; undefined for what has no name. */
function within(call: Json): { [name: string]: Json } | undefined {
  const inner = isObject(call) ? (call.function ?? call) : call;
  return isObject(inner) && typeof inner.name === "string" ? inner : undefined;
}

/** Some dialects send the arguments of a call as a text that holds JSON. */
function parsed(given: Json): Json {
  try {
    return typeof given === "string" ? JSON.parse(given) : given;
  } catch {
    return given;
  }
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
