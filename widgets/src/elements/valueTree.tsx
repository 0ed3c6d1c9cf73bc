/**
 * A value as a tree that opens by key or click, and loads only what is opened. It knows nothing of the run: a preview and
 * a function that opens a path come in, so that it also draws values of another moment, and plain JSON.
 */

import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { OpenedValue, ValuePreview } from "../protocol";
import { Button, Summary } from "./controls";
import { errorText, formatNumber } from "./format";
import { MessageView } from "./messageView";
import { RecordTable } from "./recordTable";
import { ErrorMessage, Muted, Note } from "./text";

/** What a message shows of itself. */
const PARTS_OF_MESSAGE = ["role", "text", "calls", "name"];

/** A column and whether it is sorted downwards. */
export type Order = [column: number, descending: 0 | 1];

/** Open what is at a path of positions of members, from a member or a row on. */
export type OpenValue = (path: number[], first: number, order?: Order) => OpenedValue | Promise<OpenedValue>;

interface ValueTreeProps {
  /** The name of the variable or field; null draws none. */
  name: string | null;
  value: ValuePreview;
  open: OpenValue;
  path?: number[];
  isOpen?: boolean;
  /** What it was before the last step, "" if there was nothing; absent if it has not changed. */
  before?: string | undefined;
  /** When this changes, what is open is loaded again. */
  version?: string;
}

export function ValueTree(props: ValueTreeProps): JSX.Element {
  const { name, value, open, path = [], isOpen = false, before, version = value.text } = props;
  const [unfolded, setUnfolded] = useState(isOpen);
  const line = (
    <>
      {name !== null && <span class="ak-json-name">{name}: </span>}
      <Preview value={value} />
      {before !== undefined && <Changed before={before} now={value.text} />}
    </>
  );
  if (!value.size) return <div class="ak-json-leaf">{line}</div>;
  return (
    <details open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <Summary>{line}</Summary>
      {unfolded && <Inside value={value} open={open} path={path} version={version} />}
    </details>
  );
}

function Preview({ value: { text, kind } }: { value: ValuePreview }): JSX.Element {
  return kind === "text" || kind === "scalar" ? <span>{text}</span> : <Muted>{text}</Muted>;
}

/** A mark on what the last step changed: what it was before, whole in the tooltip. */
function Changed({ before, now }: { before: string; now: string }): JSX.Element {
  const change = before === "" ? "new" : before === now ? "changed inside" : `was ${before}`;
  return (
    <mark class="ak-changed" title={`Since the step before: ${change}`}>
      {change}
    </mark>
  );
}

interface InsideProps {
  value: ValuePreview;
  open: OpenValue;
  path: number[];
  version: string;
}

/** What is inside a value: opened when it is drawn and when it has changed, and page by page. */
function Inside({ value, open, path, version }: InsideProps): JSX.Element {
  const [pages, setPages] = useState<OpenedValue[]>([]);
  const [order, setOrder] = useState<Order>();
  const [error, setError] = useState("");
  const last = useRef(0);
  const load = (first: number, sorting = order): void => {
    const number = ++last.current; // an answer that comes after a newer question is dropped
    const show = (page: OpenedValue): void => {
      if (number !== last.current) return;
      setError("");
      setPages((before) => (first ? [...before, page] : [page]));
    };
    const refuse = (error: unknown): void => {
      if (number === last.current) setError(errorText(error));
    };
    try {
      const page = open(path, first, sorting);
      if ("then" in page) page.then(show, refuse);
      else show(page);
    } catch (error) {
      refuse(error);
    }
  };
  useLayoutEffect(() => load(0), [version]);
  const [page] = pages;
  if (error) return <ErrorMessage text={error} />;
  if (!page) return <Note>Loading…</Note>;
  if (page.text !== undefined) return <div class="ak-json-members ak-json-text">{page.text}</div>;
  const sort = (column: number): void => {
    const next: Order = [column, order?.[0] === column && !order[1] ? 1 : 0];
    setOrder(next);
    load(0, next);
  };
  const members = pages.flatMap((each) => each.members);
  const rows = pages.flatMap((each) => each.rows ?? []);
  const messages = pages.flatMap((each) => each.messages ?? []);
  const drawn = page.header ? rows.length : members.length;
  const whole = async (at: number[]): Promise<string> => (await open([...at, 1], 0)).text ?? "";
  const drawMember = ([name, member]: [string, ValuePreview], index: number): JSX.Element | null => {
    if (value.kind === "message" && PARTS_OF_MESSAGE.includes(name)) return null;
    const at = [...path, index];
    const message = value.kind === "chat" ? messages[index] : undefined;
    const label = message ? "more" : value.kind === "list" ? null : name;
    const tree = <ValueTree key={index} name={label} value={member} open={open} path={at} version={version} />;
    if (!message) return tree;
    return (
      <div key={index}>
        <MessageView message={message} load={() => whole(at)} />
        {message.more && tree}
      </div>
    );
  };
  return (
    <div class="ak-json-members">
      {page.header ? (
        <RecordTable header={page.header} rows={rows} order={order} onSort={sort} />
      ) : (
        <>
          {value.kind === "message" && messages[0] && <MessageView message={messages[0]} load={() => whole(path)} />}
          {members.map(drawMember)}
        </>
      )}
      {drawn < page.total && (
        <Button class="ak-more" onClick={() => load(drawn)}>
          Show more ({formatNumber(page.total - drawn)} left)
        </Button>
      )}
    </div>
  );
}
