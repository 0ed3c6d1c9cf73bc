/** The arguments of a call, to be read. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../elements/controls";
import { isNumber, toJson } from "../elements/exactNumber";
import type { Call, Json } from "../protocol";
import { JsonTree } from "./jsonTree";

/** The most characters of a value that are shown on the line of its name. */
const INLINE_LENGTH = 100;

export function Arguments({ call }: { call: Call }): JSX.Element | null {
  const [asJson, setAsJson] = useState(false);
  const entries = Object.entries(call.arguments ?? {});
  if (call.raw !== undefined) return <pre class="ak-code">{call.raw}</pre>;
  if (!entries.length) return null;
  return (
    <div class="ak-arguments">
      {asJson ? (
        <pre class="ak-code">{toJson(call.arguments, 2)}</pre>
      ) : (
        <dl>
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Value value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Button
        class="ak-more ak-on-hover"
        aria-pressed={asJson}
        title="Show the arguments as JSON"
        onClick={() => setAsJson(!asJson)}
      >
        JSON
      </Button>
    </div>
  );
}

function Value({ value }: { value: Json }): JSX.Element {
  if (typeof value === "string" && !isNumber(value)) return <span class="ak-text">{value || '""'}</span>;
  if (value === null || typeof value !== "object") return <span>{toJson(value)}</span>;
  const json = toJson(value);
  return json.length <= INLINE_LENGTH ? <span>{json}</span> : <JsonTree value={value} />;
}
