/** One card of the trace: a thought with the actions that it asked for, or an entry that stands alone. */

import { Component, type JSX } from "preact";
import type { Card } from "../protocol";
import type { Store } from "../store";
import type { Iteration } from "../trace";
import type { Ui } from "../ui";
import { Action, Conclusion, Question, Task, Thought } from "./entries";

interface IterationProps {
  store: Store;
  ui: Ui;
  iteration: Iteration;
  /** The place after which all follows a human edit, or -1. */
  edited: number;
}

/** Drawn anew only when one of its entries is another one: a trace has hundreds of these, and grows many times a second. */
export class IterationCard extends Component<IterationProps> {
  override shouldComponentUpdate({ iteration: next, edited, store }: IterationProps): boolean {
    const { iteration: now, edited: before } = this.props;
    const follows = (edited: number): boolean => edited >= 0 && edited < next.head.n;
    return (
      store !== this.props.store ||
      next.head !== now.head ||
      next.acts.length !== now.acts.length ||
      follows(edited) !== follows(before) ||
      next.acts.some((act, index) => act !== now.acts[index])
    );
  }

  override render({ iteration, ...rest }: IterationProps): JSX.Element {
    const { head, acts } = iteration;
    return (
      <section class={`ak-card ak-card-of-${head.kind}`}>
        {[head, ...acts].map((card) => (
          <EntryView key={card.id} {...rest} card={card} />
        ))}
      </section>
    );
  }
}

function EntryView({ store, ui, card, edited }: { store: Store; ui: Ui; card: Card; edited: number }): JSX.Element | null {
  const rest = { store, ui, after: edited >= 0 && card.n > edited };
  if (card.kind === "begin") return <Task {...rest} card={card} />;
  if (card.kind === "think") return <Thought {...rest} card={card} />;
  if (card.kind === "act") return <Action {...rest} card={card} />;
  if (card.kind === "ask") return <Question {...rest} card={card} />;
  if (card.kind === "conclude") return <Conclusion {...rest} card={card} />;
  return null; // a kind that a later kernel knows
}
