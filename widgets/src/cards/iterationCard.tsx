/** A card of the trace: a thought with the tool calls that it asked for, or any other entry by itself. */

import { Component, type JSX } from "preact";
import type { Store } from "../state/store";
import type { Iteration } from "../state/trace";
import type { ViewState } from "../state/viewState";
import { EntryView } from "./entries";

interface IterationCardProps {
  store: Store;
  view: ViewState;
  iteration: Iteration;
  /** The position of the first human edit, or -1. */
  firstEdit: number;
}

/** Redrawn only when one of its entries was replaced: a trace has hundreds of cards and grows many times a second. */
export class IterationCard extends Component<IterationCardProps> {
  override shouldComponentUpdate({ iteration: next, firstEdit, store }: IterationCardProps): boolean {
    const { iteration: now } = this.props;
    const isAfter = (edit: number): boolean => edit >= 0 && edit < next.head.n;
    return (
      store !== this.props.store ||
      next.head !== now.head ||
      next.acts.length !== now.acts.length ||
      isAfter(firstEdit) !== isAfter(this.props.firstEdit) ||
      next.acts.some((act, index) => act !== now.acts[index])
    );
  }

  override render({ iteration: { head, acts }, store, view, firstEdit }: IterationCardProps): JSX.Element {
    return (
      <section class={`ak-card ak-card-of-${head.kind}`}>
        {[head, ...acts].map((card) => (
          <EntryView
            key={card.id}
            store={store}
            view={view}
            card={card}
            followsEdit={firstEdit >= 0 && card.n > firstEdit}
          />
        ))}
      </section>
    );
  }
}
