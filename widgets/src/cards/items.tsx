/** What an observation shows besides its text. Nothing here loads or runs anything. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, Disclosure, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { MarkdownText } from "../elements/foldedText";
import { count, formatNumber } from "../elements/format";
import { RecordTable, sortRows } from "../elements/recordTable";
import { Note } from "../elements/text";
import type { Order } from "../elements/valueTree";
import type { Item } from "../protocol";
import { JsonTree } from "./jsonTree";

const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp|bmp|svg\+xml)$/;

/**
 * Put before every HTML page, which may then style itself and show what it contains, but load nothing. The kernel sets
 * the same policy; if there are two, both apply.
 */
const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; form-action 'none'; base-uri 'none'">`;

export function ItemView({ item }: { item: Item }): JSX.Element | null {
  if (item.type === "table") return <Table item={item} />;
  if (item.type === "image") return <Image item={item} />;
  if (item.type === "page") {
    return (
      <iframe
        {...SUPPRESS_SHORTCUTS}
        class="ak-html"
        sandbox=""
        title="HTML returned by the tool"
        srcdoc={POLICY + item.srcdoc}
        loading="lazy"
      />
    );
  }
  if (item.type === "json") return <JsonTree value={item.value} />;
  if (item.type === "source") {
    // a tool declares Markdown by its type, as IPython.display.Markdown does
    if (item.mime === "text/markdown") return <MarkdownText text={item.text} />;
    return (
      <Disclosure summary={`Source (${item.mime})`}>
        <pre class="ak-code">{item.text}</pre>
      </Disclosure>
    );
  }
  return null;
}

/** How many rows are drawn at first, and more of them at each click. */
const ROWS = 50;

function Table({ item }: { item: Extract<Item, { type: "table" }> }): JSX.Element {
  const [order, setOrder] = useState<Order>();
  const [shown, setShown] = useState(ROWS);
  const numbered = item.rows.map((cells, number): [number, string[]] => [number, cells]);
  const sort = (column: number): void => setOrder([column, order?.[0] === column && !order[1] ? 1 : 0]);
  return (
    <div>
      <RecordTable header={item.header} rows={sortRows(numbered, order).slice(0, shown)} order={order} onSort={sort} />
      {item.rows.length > shown && (
        <Button class="ak-more" onClick={() => setShown(shown + ROWS)}>
          Show more ({formatNumber(item.rows.length - shown)} left)
        </Button>
      )}
      {item.more > 0 && <Note>{count(item.more, "more row")}</Note>}
    </div>
  );
}

/** Only inline data: loading an image from elsewhere would reveal what somebody is looking at. */
function Image({ item }: { item: Extract<Item, { type: "image" }> }): JSX.Element {
  if (!IMAGE_TYPES.test(item.mime)) return <Note>Images of type {item.mime} are not shown.</Note>;
  return <img class="ak-image" alt="Returned by the tool" src={`data:${item.mime};base64,${item.data}`} />;
}
