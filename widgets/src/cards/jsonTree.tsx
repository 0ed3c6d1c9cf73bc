/** A JSON value as a tree that opens. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { openJson, previewJson } from "../elements/jsonValue";
import { ValueTree } from "../elements/valueTree";
import type { Json } from "../protocol";

export function JsonTree({ value }: { value: Json }): JSX.Element {
  const open = useMemo(() => openJson(value), [value]);
  return (
    <div class="ak-json">
      <ValueTree name={null} value={previewJson(value)} open={open} isOpen />
    </div>
  );
}
