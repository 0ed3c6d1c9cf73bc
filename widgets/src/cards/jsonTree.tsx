/** A JSON value as a tree that unfolds by key or click. Only what is unfolded is drawn. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, Summary } from "../elements/controls";
import { count, formatNumber } from "../elements/format";
import { Muted } from "../elements/text";
import type { Json } from "../protocol";

/** The number of members drawn at first, and more of them at each click. */
const FIRST_MEMBERS = 100;
const MORE_MEMBERS = 500;
/** The most characters of a string that are drawn. */
const MAX_STRING = 2_000;

export function JsonTree({ value }: { value: Json }): JSX.Element {
  return (
    <div class="ak-json">
      <Node name={null} value={value} isOpen />
    </div>
  );
}

function Node({ name, value, isOpen }: { name: string | null; value: Json; isOpen: boolean }): JSX.Element {
  const [unfolded, setUnfolded] = useState(isOpen);
  const label = name === null ? null : <span class="ak-json-name">{name}: </span>;
  if (value === null || typeof value !== "object") {
    return (
      <div class="ak-json-leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const members: [string, Json][] = isList ? value.map((item, index) => [String(index), item]) : Object.entries(value);
  if (!members.length)
    return (
      <div class="ak-json-leaf">
        {label}
        {isList ? "[]" : "{}"}
      </div>
    );
  return (
    <details open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <Summary>
        {label}
        <Muted>{isList ? `[${count(members.length, "item")}]` : `{${count(members.length, "field")}}`}</Muted>
      </Summary>
      {unfolded && <Members members={members} />}
    </details>
  );
}

function Members({ members }: { members: [string, Json][] }): JSX.Element {
  const [shown, setShown] = useState(FIRST_MEMBERS);
  return (
    <div class="ak-json-members">
      {members.slice(0, shown).map(([name, value]) => (
        <Node key={name} name={name} value={value} isOpen={false} />
      ))}
      {members.length > shown && (
        <Button class="ak-more" onClick={() => setShown(shown + MORE_MEMBERS)}>
          Show more ({formatNumber(members.length - shown)} left)
        </Button>
      )}
    </div>
  );
}

function Leaf({ value }: { value: null | boolean | number | string }): JSX.Element {
  if (typeof value !== "string") return <span>{String(value)}</span>;
  const rest = value.length > MAX_STRING ? `… (${count(value.length, "character")})` : "";
  return (
    <span class="ak-json-text">
      "{value.slice(0, MAX_STRING)}
      {rest}"
    </span>
  );
}
