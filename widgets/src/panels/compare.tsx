/** The present line beside another one, from the first difference on. */

import type { JSX } from "preact";
import type { Card, Comparison, Usage } from "../protocol";
import type { Store } from "../store";
import { Button, count, cut, Note, Panel, Refusal, Scrolled, spent, textOf, titleOf, useAsked, WordDiff } from "./parts";

export function Compare({ store, branch, onClose }: { store: Store; branch: number; onClose: () => void }): JSX.Element {
  const { value, error } = useAsked<Comparison>(store, String(branch), { cmd: "compare", branch });
  return (
    <Panel name="compare" label={`Comparison with branch ${branch}`}>
      <header>
        <h3>Here and branch {branch}</h3>
        <Button aria-label="Close the comparison" onClick={onClose}>
          ×
        </Button>
      </header>
      {error ? <Refusal text={error} /> : value?.branch === branch ? <Columns found={value} /> : <Note>Asking…</Note>}
    </Panel>
  );
}

function Columns({ found }: { found: Comparison }): JSX.Element {
  const { first, here, there, branch, totals } = found;
  const places = Array.from({ length: Math.max(here.length, there.length) }, (_, index) => index);
  // the lines part where a step was taken again, which may have given the same
  const differs = places.find((index) => told(here[index]) !== told(there[index]));
  if (!places.length) return <Note>Both lines are the same.</Note>;
  return (
    <ol class="ak-columns" aria-label="Entries side by side">
      <li aria-hidden="true" class="ak-column-headings">
        <b>Here</b>
        <b>Branch {branch}</b>
      </li>
      {places.map((index) => (
        <li key={index}>
          <h4 class={index === differs ? "ak-first-difference" : undefined}>
            {first + index}
            {index === differs && <span class="ak-badge">first difference</span>}
          </h4>
          <Cell card={here[index]} other={there[index]} side="-" name="here" />
          <Cell card={there[index]} other={here[index]} side="+" name={`branch ${branch}`} />
        </li>
      ))}
      <li class="ak-totals">
        <Total name="here" length={first + here.length} usage={totals.here} />
        <Total name={`branch ${branch}`} length={first + there.length} usage={totals.there} />
      </li>
    </ol>
  );
}

/** What tells an entry from another one at its place. */
function told(card: Card | undefined): string {
  return card ? `${titleOf(card)} ${textOf(card)}` : "";
}

function Cell(props: { card: Card | undefined; other: Card | undefined; side: "-" | "+"; name: string }): JSX.Element {
  const { card, other, side, name } = props;
  if (!card)
    return (
      <div class="ak-cell ak-muted">
        <span class="ak-column-label">{name}: </span>ends before
      </div>
    );
  const text = cut(textOf(card));
  const others = other?.kind === card.kind ? cut(textOf(other)) : undefined;
  const [from, to] = side === "-" ? [text, others] : [others, text];
  return (
    <Scrolled class="ak-cell">
      <div class="ak-message-head">
        <span class="ak-column-label ak-muted">{name}: </span>
        <b>{titleOf(card)}</b>
        {card.original > 0 && <span class="ak-badge">edited</span>}
      </div>
      <div class="ak-text">{others === undefined ? text : <WordDiff from={from ?? ""} to={to ?? ""} side={side} mark />}</div>
    </Scrolled>
  );
}

function Total({ name, length, usage }: { name: string; length: number; usage: Usage | null }): JSX.Element {
  return (
    <div class="ak-cell ak-muted">
      <span class="ak-column-label">{name}: </span>
      {count(length - 1, "step")}
      {usage?.input ? ` · ${spent(usage)}` : ""}
    </div>
  );
}
