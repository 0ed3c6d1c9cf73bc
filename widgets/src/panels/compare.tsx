/** The current branch beside another one, from the entry on at which they diverge. */

import type { JSX } from "preact";
import { callText } from "../elements/chat";
import { Button, ScrollArea } from "../elements/controls";
import { ChangedText, FoldedText } from "../elements/foldedText";
import { count, formatUsage } from "../elements/format";
import { ErrorMessage, Note } from "../elements/text";
import type { Card, Comparison, Usage } from "../protocol";
import { entryText, entryTitle } from "../state/entryText";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";
import { Panel } from "./panel";

interface CompareProps {
  store: Store;
  branch: number;
  onClose: () => void;
}

export function Compare({ store, branch, onClose }: CompareProps): JSX.Element {
  const { value, error } = useQuery(store, String(branch), { cmd: "compare", branch });
  return (
    <Panel name="compare" label={`Comparison with branch ${branch}`}>
      <header>
        <h3>
          Current branch and branch {branch}
          {value?.branch === branch && value.name && `: ${value.name}`}
        </h3>
        <Button aria-label="Close comparison" onClick={onClose}>
          ×
        </Button>
      </header>
      {error ? (
        <ErrorMessage text={error} />
      ) : value?.branch === branch ? (
        <Columns comparison={value} />
      ) : (
        <Note>Loading…</Note>
      )}
    </Panel>
  );
}

function Columns({ comparison }: { comparison: Comparison }): JSX.Element {
  const { first, here, there, branch, name, totals } = comparison;
  const rows = Array.from({ length: Math.max(here.length, there.length) }, (_, index) => index);
  // the branches diverge where a step was taken again, which may have had the same result
  const firstDifference = rows.find((row) => content(here[row]) !== content(there[row]));
  if (!rows.length) return <Note>Both branches are identical.</Note>;
  return (
    <ol class="ak-columns" aria-label="Entries side by side">
      <li aria-hidden="true" class="ak-column-headings">
        <b>Current branch</b>
        <b>
          Branch {branch}
          {name && `: ${name}`}
        </b>
      </li>
      {rows.map((row) => (
        <li key={row}>
          <h4 class={row === firstDifference ? "ak-first-difference" : undefined}>
            {first + row}
            {row === firstDifference && <span class="ak-badge">first difference</span>}
          </h4>
          <Cell card={here[row]} other={there[row]} side="-" column="current" />
          <Cell card={there[row]} other={here[row]} side="+" column={`branch ${branch}`} />
        </li>
      ))}
      <li class="ak-totals">
        <Total column="current" steps={first + here.length - 1} usage={totals.here} />
        <Total column={`branch ${branch}`} steps={first + there.length - 1} usage={totals.there} />
      </li>
    </ol>
  );
}

function content(card: Card | undefined): string {
  return card ? `${entryTitle(card)} ${entryText(card)}` : "";
}

interface CellProps {
  card: Card | undefined;
  other: Card | undefined;
  side: "-" | "+";
  column: string;
}

function Cell({ card, other, side, column }: CellProps): JSX.Element {
  const label = <span class="ak-column-label">{column}: </span>;
  if (!card) return <div class="ak-cell ak-muted">{label}no entry</div>;
  const text = entryText(card);
  const otherText = other?.kind === card.kind ? entryText(other) : text;
  const [from, to] = side === "-" ? [text, otherText] : [otherText, text];
  return (
    <ScrollArea class="ak-cell">
      <div class="ak-message-head">
        {label}
        <b>{entryTitle(card)}</b>
        {card.original > 0 && <span class="ak-badge">edited</span>}
      </div>
      {from === to ? (
        <Content card={card} />
      ) : (
        <ChangedText from={from} to={to} side={side} highlight markdown={card.kind === "think"} />
      )}
    </ScrollArea>
  );
}

/** An entry that is the same in both branches, or only in one of them: as in the trace, in short. */
function Content({ card }: { card: Card }): JSX.Element {
  if (card.kind !== "think") return <FoldedText text={entryText(card)} markdown={card.kind === "conclude"} />;
  return (
    <>
      <FoldedText text={card.text || (card.answer ?? "")} markdown />
      {card.calls.map((call, index) => (
        <FoldedText key={index} class="ak-mono" text={`→ ${callText(call)}`} />
      ))}
    </>
  );
}

function Total({ column, steps, usage }: { column: string; steps: number; usage: Usage | null }): JSX.Element {
  return (
    <div class="ak-cell ak-muted">
      <span class="ak-column-label">{column}: </span>
      {count(steps, "step")}
      {usage?.input ? ` · ${formatUsage(usage)}` : ""}
    </div>
  );
}
