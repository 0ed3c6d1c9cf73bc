/** The messages of a request, one by one: unchanged ones are folded, new and changed ones stand out. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { readMessage, unwrapFunction } from "../elements/chat";
import { Button, ScrollArea, Summary } from "../elements/controls";
import { FoldedText } from "../elements/foldedText";
import { count, truncate } from "../elements/format";
import { MessageView } from "../elements/messageView";
import { Muted, Note } from "../elements/text";
import type { Json, ModelRequest } from "../protocol";
import { compareMessages, type MessageRow, messagesOf } from "./messageDiff";

/** The most messages that are drawn: the last ones, which are the new ones. */
const MAX_MESSAGES = 200;

export function Messages({ request }: { request: ModelRequest }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { body, previous_body: previous, same } = request;
  const rows = compareMessages(messagesOf(previous), messagesOf(body), same);
  if (!rows.length) return <Note>This request has no list of messages; see the JSON tab.</Note>;
  const firstChange = rows.findIndex((row) => row.state !== "unchanged");
  const folded = isOpen ? 0 : firstChange < 0 ? rows.length : firstChange;
  const omitted = Math.max(0, rows.length - folded - MAX_MESSAGES);
  return (
    <ol class="ak-messages">
      <Extra name="system" value={body.system} />
      <Extra name="tools" value={body.tools} />
      {firstChange > 0 && (
        <li>
          <Button class="ak-expander" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {count(firstChange, "unchanged message")}
          </Button>
        </li>
      )}
      {omitted > 0 && <Note>{count(omitted, "earlier message")} not shown; see the JSON tab.</Note>}
      {rows.slice(folded + omitted).map((row) => (
        <Message key={`${row.state} ${row.number}`} row={row} isFirstRequest={previous === null} />
      ))}
    </ol>
  );
}

/** What the request contains besides its messages; folded, since it seldom changes. */
function Extra({ name, value }: { name: string; value: Json | undefined }): JSX.Element | null {
  if (!value || (Array.isArray(value) && !value.length)) return null;
  return (
    <li>
      <details class="ak-details">
        <Summary>
          {name}
          {Array.isArray(value) && `: ${value.map((item) => unwrapFunction(item)?.name ?? "?").join(", ")}`}
        </Summary>
        {typeof value === "string" ? (
          <FoldedText text={value} markdown />
        ) : (
          <ScrollArea class="ak-text ak-scroll">{truncate(JSON.stringify(value, null, 2))}</ScrollArea>
        )}
      </details>
    </li>
  );
}

function Message({ row, isFirstRequest }: { row: MessageRow; isFirstRequest: boolean }): JSX.Element {
  const state = isFirstRequest ? "unchanged" : row.state;
  const before = row.before === undefined ? undefined : readMessage(row.before);
  return (
    <li>
      <MessageView message={readMessage(row.message)} before={before} class={`ak-message-${state}`}>
        <Muted>{row.number}</Muted>
        {state !== "unchanged" && <span class="ak-badge">{state}</span>}
      </MessageView>
    </li>
  );
}
