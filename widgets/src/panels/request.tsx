/** A model call as it was sent: its messages, its difference to the one before it, its JSON, and what it is made of. */

import type { JSX } from "preact";
import type { Json, RequestView, ThinkEntry } from "../protocol";
import type { Store } from "../store";
import { diff, type Hunk } from "./diff";
import { Messages } from "./messages";
import { Copy, count, Note, Panel, QUIET, Refusal, Tabs, useAsked, WordDiff } from "./parts";
import { Tokens } from "./tokens";

/** Lines compared, lines drawn, and characters of JSON drawn: a body may have megabytes. */
const LINES = 20_000;
const DRAWN = 800;
const CHARACTERS = 200_000;
const AROUND = 3;

export function RequestPanel({ store, entry }: { store: Store; entry: Pick<ThinkEntry, "id"> }): JSX.Element {
  const { value, error } = useAsked<RequestView>(store, String(entry.id), { cmd: "request", entry: entry.id });
  if (error) return <Refusal text={error} />;
  if (value?.entry !== entry.id) return <Note>Asking for the request…</Note>;
  const { body, previous_body: previous } = value;
  return (
    <Panel name="request" label="Request">
      <Tokens request={value} />
      <Tabs label="Request" names={["Messages", "Difference", "JSON"]}>
        {(open) =>
          open === 0 ? (
            <Messages request={value} />
          ) : open === 1 ? (
            <Difference before={previous} now={body} />
          ) : (
            <Whole body={body} />
          )
        }
      </Tabs>
    </Panel>
  );
}

function Whole({ body }: { body: Json }): JSX.Element {
  const text = pretty(body);
  return (
    <>
      <Copy text={() => text} label="Copy JSON" />
      <Box label="Body as JSON">
        {text.slice(0, CHARACTERS)}
        {text.length > CHARACTERS && `\n… ${count(text.length - CHARACTERS, "more character")}: copy to see them all`}
      </Box>
    </>
  );
}

function Difference({ before, now }: { before: Json; now: Json }): JSX.Element {
  if (before === null) return <Note>This is the first request: there is none before it to compare with.</Note>;
  const [old, current] = [pretty(before).split("\n"), pretty(now).split("\n")];
  const hunks = diff(old.slice(0, LINES), current.slice(0, LINES));
  if (hunks.every((hunk) => hunk.op === "=")) return <Note>The same as the request before.</Note>;
  const rows = hunks.flatMap((hunk, index) => rowsOf(hunks, hunk, index));
  const left = rows.length - DRAWN;
  return (
    <Box label="Difference to the request before">
      {rows.slice(0, DRAWN)}
      {left > 0 && <div class="ak-gap">… {count(left, "more line")}</div>}
      {Math.max(old.length, current.length) > LINES && <div class="ak-gap">Only the first {LINES} lines were compared.</div>}
    </Box>
  );
}

function rowsOf(hunks: Hunk<string>[], { op, items }: Hunk<string>, index: number): JSX.Element[] {
  if (op !== "=") return items.map((line, n) => changed(op, line, partner(hunks, index, n)));
  const head = index ? AROUND : 0;
  const tail = index < hunks.length - 1 ? AROUND : 0;
  const hidden = items.length - head - tail;
  if (hidden < 2) return items.map(kept);
  return [
    ...items.slice(0, head).map(kept),
    <div class="ak-gap">{count(hidden, "line")} as before</div>,
    ...items.slice(items.length - tail).map(kept),
  ];
}

/** The line that stands for this one on the other side, where as many lines came as went: its words are compared. */
function partner(hunks: Hunk<string>[], index: number, n: number): string | undefined {
  const other = hunks[(hunks[index] as Hunk<string>).op === "-" ? index + 1 : index - 1];
  return other && other.op !== "=" && other.items.length === hunks[index]?.items.length ? other.items[n] : undefined;
}

function kept(line: string): JSX.Element {
  return <div>{`  ${line}`}</div>;
}

function changed(op: "-" | "+", line: string, other: string | undefined): JSX.Element {
  const words =
    op === "-" ? <WordDiff from={line} to={other ?? ""} side="-" /> : <WordDiff from={other ?? ""} to={line} side="+" />;
  return (
    <div class={op === "-" ? "ak-removed" : "ak-added"}>
      {op} {other === undefined ? line : words}
    </div>
  );
}

function Box({ label, children }: { label: string; children: JSX.Element["props"]["children"] }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <pre class="ak-code-box" tabIndex={0} role="region" aria-label={label} {...QUIET}>
      {children}
    </pre>
  );
}

function pretty(value: Json): string {
  return JSON.stringify(value, null, 2);
}
