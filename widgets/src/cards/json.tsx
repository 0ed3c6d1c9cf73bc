/** A JSON value as a tree: folds that open by key or click, and only what is open is drawn. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, QUIET } from "../controls";
import { count, Dim } from "../panels/parts";
import type { Json } from "../protocol";

/** Members drawn at a time; the rest comes on demand. */
const MEMBERS = 100;
const LONG = 2_000;

export function JsonTree({ value, depth = 1 }: { value: Json; depth?: number }): JSX.Element {
  return (
    <div class="ak-json">
      <Node name={null} value={value} open={depth} />
    </div>
  );
}

function Node({ name, value, open }: { name: string | null; value: Json; open: number }): JSX.Element {
  const [unfolded, setUnfolded] = useState(open > 0);
  const key = name === null ? null : <span class="ak-json-name">{name}: </span>;
  if (value === null || typeof value !== "object") {
    return (
      <div class="ak-json-leaf">
        {key}
        <Leaf value={value} />
      </div>
    );
  }
  const list = Array.isArray(value);
  const members: [string, Json][] = list ? value.map((each, index) => [String(index), each]) : Object.entries(value);
  if (!members.length)
    return (
      <div class="ak-json-leaf">
        {key}
        {list ? "[]" : "{}"}
      </div>
    );
  return (
    <details open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary {...QUIET}>
        {key}
        <Dim>{list ? `[${count(members.length, "item")}]` : `{${count(members.length, "field")}}`}</Dim>
      </summary>
      {unfolded && <Members members={members} open={open - 1} />}
    </details>
  );
}

function Members({ members, open }: { members: [string, Json][]; open: number }): JSX.Element {
  const [shown, setShown] = useState(MEMBERS);
  return (
    <div class="ak-json-members">
      {members.slice(0, shown).map(([name, value]) => (
        <Node key={name} name={name} value={value} open={open} />
      ))}
      {members.length > shown && (
        <Button class="ak-more" onClick={() => setShown(shown + MEMBERS * 5)}>
          {count(members.length - shown, "more")}
        </Button>
      )}
    </div>
  );
}

function Leaf({ value }: { value: null | boolean | number | string }): JSX.Element {
  if (typeof value !== "string") return <span class="ak-json-value">{String(value)}</span>;
  return (
    <span class="ak-json-text">"{value.length > LONG ? `${value.slice(0, LONG)}… (${value.length} characters)` : value}"</span>
  );
}
