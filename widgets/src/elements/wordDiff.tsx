/** The difference between two texts, word by word. */

import type { JSX } from "preact";
import { diff, words } from "./diff";

interface WordDiffProps {
  from: string;
  to: string;
  /** "-" shows the first text with its deletions, "+" the second one with its insertions, "" both in one. */
  side?: "" | "-" | "+";
  /** Neither text came first: highlight the differences instead of calling them deletions and insertions. */
  highlight?: boolean;
}

export function WordDiff({ from, to, side = "", highlight = false }: WordDiffProps): JSX.Element {
  return (
    <>
      {diff(words(from), words(to)).map(({ op, items }, index) => {
        if (op === "=") return items.join("");
        if (side && op !== side) return null;
        const Tag = highlight ? "mark" : op === "-" ? "del" : "ins";
        return <Tag key={index}>{items.join("")}</Tag>;
      })}
    </>
  );
}
