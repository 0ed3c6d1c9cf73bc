/** What an observation shows beside its text. Nothing here loads anything or runs anything. */

import type { JSX } from "preact";
import { Fold, QUIET } from "../controls";
import { count, Note } from "../panels/parts";
import type { Item } from "../protocol";
import { JsonTree } from "./json";

const IMAGES = /^image\/(png|jpeg|gif|webp|bmp|svg\+xml)$/;

/**
 * Put before every page: it may style itself and show what it holds, and fetch nothing. The kernel says so too; where two
 * policies stand, both hold.
 */
const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; form-action 'none'; base-uri 'none'">`;

export function ItemView({ item }: { item: Item }): JSX.Element | null {
  if (item.type === "table") return <Table item={item} />;
  if (item.type === "image") return <Image item={item} />;
  if (item.type === "page") {
    return (
      <iframe
        {...QUIET}
        class="ak-html"
        sandbox=""
        title="A page that the tool made"
        srcdoc={POLICY + item.srcdoc}
        loading="lazy"
      />
    );
  }
  if (item.type === "json") return <JsonTree value={item.value} />;
  if (item.type === "source") {
    return (
      <Fold summary={`source (${item.mime})`}>
        <pre class="ak-code">{item.text}</pre>
      </Fold>
    );
  }
  return null;
}

function Table({ item }: { item: Extract<Item, { type: "table" }> }): JSX.Element {
  const figures = item.header.map((_, column) => item.rows.every((row) => /^-?[\d.,]+%?$|^$/.test(row[column] ?? "")));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by key
    <div class="ak-table" role="region" aria-label="Table" tabIndex={0} {...QUIET}>
      <table>
        <thead>
          <tr>
            {item.header.map((name, column) => (
              <th key={column} scope="col" class={figures[column] ? "ak-numeric" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {item.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={figures[column] ? "ak-numeric" : ""}>
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

/** Only data: a picture from elsewhere would tell that elsewhere what was looked at. */
function Image({ item }: { item: Extract<Item, { type: "image" }> }): JSX.Element {
  if (!IMAGES.test(item.mime)) return <Note>A picture of a kind that is not shown: {item.mime}</Note>;
  return <img class="ak-image" alt="Made by the tool" src={`data:${item.mime};base64,${item.data}`} />;
}
