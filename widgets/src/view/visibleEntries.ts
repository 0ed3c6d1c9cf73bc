/** Which entries of the trace are in sight. */

/** The positions of the first and the last entry of the visible cards; their readers are told when they change. */
export class VisibleEntries {
  range: [first: number, last: number] = [0, 0];
  private readonly listeners = new Set<() => void>();

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Measure. This costs no layout if nothing has changed since the last one. */
  measure(scroller: HTMLElement): void {
    const range = visibleRange(scroller);
    if (range[0] === this.range[0] && range[1] === this.range[1]) return;
    this.range = range;
    for (const listener of [...this.listeners]) listener();
  }
}

function visibleRange(scroller: HTMLElement): [first: number, last: number] {
  const { top, bottom } = scroller.getBoundingClientRect();
  const cards = [...(scroller.firstElementChild?.children ?? [])];
  const range: number[] = [];
  for (let index = firstBelow(cards, top); index < cards.length; index++) {
    const card = cards[index] as HTMLElement;
    if (card.getBoundingClientRect().top > bottom) break;
    // not where they are: a card that has just come into sight is not laid out inside yet
    for (const entry of card.querySelectorAll<HTMLElement>("[data-n]")) range.push(Number(entry.dataset.n));
  }
  return range.length ? [Math.min(...range), Math.max(...range)] : [0, 0];
}

/** Return the index of the first card that ends below `top`. */
function firstBelow(cards: Element[], top: number): number {
  let [low, high] = [0, cards.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cards[middle] as Element).getBoundingClientRect().bottom < top) low = middle + 1;
    else high = middle;
  }
  return low;
}
