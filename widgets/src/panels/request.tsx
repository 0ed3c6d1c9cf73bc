/** A model request as it was sent: its messages, its changes since the previous one, its JSON, and its tokens. */

import type { ComponentChildren, JSX } from "preact";
import { CopyButton } from "../elements/clipboard";
import { SUPPRESS_SHORTCUTS } from "../elements/controls";
import { diff, type Hunk } from "../elements/diff";
import { count } from "../elements/format";
import { Tabs } from "../elements/tabs";
import { ErrorMessage, Note } from "../elements/text";
import { WordDiff } from "../elements/wordDiff";
import type { Json } from "../protocol";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";
import { Messages } from "./messages";
import { Panel } from "./panel";
import { Tokens } from "./tokens";

/** A body may have megabytes: the most lines compared, lines drawn, and characters of JSON drawn. */
const MAX_COMPARED = 20_000;
const MAX_LINES = 800;
const MAX_CHARACTERS = 200_000;
/** Unchanged lines shown before and after a change. */
const CONTEXT = 3;

export function RequestPanel({ store, entry }: { store: Store; entry: number }): JSX.Element {
  const { value, error } = useQuery(store, String(entry), { cmd: "request", entry });
  if (error) return <ErrorMessage text={error} />;
  if (value?.entry !== entry) return <Note>Loading the request…</Note>;
  const { body, previous_body: previous } = value;
  return (
    <Panel name="request" label="Request">
      <Tokens request={value} />
      <Tabs label="Request" names={["Messages", "Diff", "JSON"]}>
        {(tab) =>
          tab === 0 ? (
            <Messages request={value} />
          ) : tab === 1 ? (
            <LineDiff before={previous} now={body} />
          ) : (
            <Body body={body} />
          )
        }
      </Tabs>
    </Panel>
  );
}

function Body({ body }: { body: Json }): JSX.Element {
  const text = format(body);
  const rest = text.length - MAX_CHARACTERS;
  return (
    <>
      <CopyButton text={text} label="Copy JSON" />
      <CodeBox label="Request as JSON">
        {text.slice(0, MAX_CHARACTERS)}
        {rest > 0 && `\n… ${count(rest, "more character")}; copy the JSON to see all of it`}
      </CodeBox>
    </>
  );
}

function LineDiff({ before, now }: { before: Json; now: Json }): JSX.Element {
  if (before === null) return <Note>This is the first request, so there is nothing to compare it with.</Note>;
  const [linesBefore, linesNow] = [format(before).split("\n"), format(now).split("\n")];
  const hunks = diff(linesBefore.slice(0, MAX_COMPARED), linesNow.slice(0, MAX_COMPARED));
  if (hunks.every((hunk) => hunk.op === "=")) return <Note>Identical to the previous request.</Note>;
  const lines = hunks.flatMap((_, index) => drawHunk(hunks, index));
  const rest = lines.length - MAX_LINES;
  return (
    <CodeBox label="Changes since the previous request">
      {lines.slice(0, MAX_LINES)}
      {rest > 0 && <div class="ak-gap">… {count(rest, "more line")}</div>}
      {Math.max(linesBefore.length, linesNow.length) > MAX_COMPARED && (
        <div class="ak-gap">Only the first {count(MAX_COMPARED, "line")} were compared.</div>
      )}
    </CodeBox>
  );
}

function drawHunk(hunks: Hunk<string>[], index: number): JSX.Element[] {
  const { op, items } = hunks[index] as Hunk<string>;
  if (op !== "=") return items.map((line, n) => drawChange(op, line, counterpart(hunks, index, n)));
  const head = index ? CONTEXT : 0;
  const tail = index < hunks.length - 1 ? CONTEXT : 0;
  const hidden = items.length - head - tail;
  if (hidden < 2) return items.map(drawUnchanged);
  return [
    ...items.slice(0, head).map(drawUnchanged),
    <div class="ak-gap">{count(hidden, "unchanged line")}</div>,
    ...items.slice(items.length - tail).map(drawUnchanged),
  ];
}

/** Return the line to compare word by word with line `n` of a hunk, if as many lines were deleted as inserted. */
function counterpart(hunks: Hunk<string>[], index: number, n: number): string | undefined {
  const hunk = hunks[index] as Hunk<string>;
  const other = hunks[hunk.op === "-" ? index + 1 : index - 1];
  return other && other.op !== "=" && other.items.length === hunk.items.length ? other.items[n] : undefined;
}

function drawUnchanged(line: string): JSX.Element {
  return <div>{`  ${line}`}</div>;
}

function drawChange(op: "-" | "+", line: string, other: string | undefined): JSX.Element {
  const [from, to] = op === "-" ? [line, other ?? ""] : [other ?? "", line];
  return (
    <div class={op === "-" ? "ak-removed" : "ak-added"}>
      {op} {other === undefined ? line : <WordDiff from={from} to={to} side={op} />}
    </div>
  );
}

function CodeBox({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <pre class="ak-code-box" tabIndex={0} role="region" aria-label={label} {...SUPPRESS_SHORTCUTS}>
      {children}
    </pre>
  );
}

function format(value: Json): string {
  return JSON.stringify(value, null, 2);
}
