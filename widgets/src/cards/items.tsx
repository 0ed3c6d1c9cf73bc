/** What an observation shows besides its text. Nothing here loads or runs anything. */

import type { JSX } from "preact";
import { Disclosure, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import { Note } from "../elements/text";
import type { Item } from "../protocol";
import { JsonTree } from "./jsonTree";
import { MarkdownText } from "./longText";

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

const NUMERIC = /^-?[\d.,]+%?$|^$/;

function Table({ item }: { item: Extract<Item, { type: "table" }> }): JSX.Element {
  const isNumeric = item.header.map((_, column) => item.rows.every((row) => NUMERIC.test(row[column] ?? "")));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <div class="ak-table" role="region" aria-label="Table" tabIndex={0} {...SUPPRESS_SHORTCUTS}>
      <table>
        <thead>
          <tr>
            {item.header.map((name, column) => (
              <th key={column} scope="col" class={isNumeric[column] ? "ak-numeric" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {item.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={isNumeric[column] ? "ak-numeric" : ""}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {item.more > 0 && <Note>{count(item.more, "more row")}</Note>}
    </div>
  );
}

/** Only inline data: loading an image from elsewhere would reveal what somebody is looking at. */
function Image({ item }: { item: Extract<Item, { type: "image" }> }): JSX.Element {
  if (!IMAGE_TYPES.test(item.mime)) return <Note>Images of type {item.mime} are not shown.</Note>;
  return <img class="ak-image" alt="Returned by the tool" src={`data:${item.mime};base64,${item.data}`} />;
}
