/**
 * Where the live views of a run stand. The notebook contains the run only in a static form, as it was when a cell
 * showed it; the page finds the newest of these moments by the class of its element, and puts a view in its place.
 *
 * Notebooks remove elements and make them anew as they please: while one scrolls, when a cell is moved, when an output
 * is updated. So a view is never drawn twice if it can be moved, and is kept as long as the notebook contains its moment.
 */

const MARK = "ak-moment";
/** What a view takes the place of: the output around the static form, in JupyterLab and Notebook 7. */
const OUTPUT = ".jp-OutputArea-output";
/** Outputs in here are in the notebook itself; other ones are copies, such as "Create New View for Output" makes. */
const NOTEBOOK = ".jp-Notebook";
/** Milliseconds for which a view whose element the host has removed waits for a new one. */
const KEEP = 1_000;

/** Draws a view into an element, and returns the function that removes it. */
export type Draw = (el: HTMLElement) => () => void;

/** One view, which can be moved about the page with everything that was typed and unfolded in it. */
class Place {
  readonly el = document.createElement("div");
  /** The output that the view stands for, which is hidden meanwhile; if the host drew the view, nothing. */
  output: HTMLElement | undefined;
  private readonly remove: () => void;
  private readonly scrolled = new Map<Element, [left: number, top: number]>();
  private focused: HTMLElement | null = null;
  private wasConnected = false;

  constructor(draw: Draw) {
    this.el.className = "ak-live";
    this.remove = draw(this.el);
    this.el.addEventListener("scroll", ({ target }) => this.noteScroll(target as Element), true);
    this.el.addEventListener("focusin", ({ target }) => {
      this.focused = target as HTMLElement;
    });
    // a focused element that is still in the page after this has given the focus away
    this.el.addEventListener("focusout", ({ target }) =>
      queueMicrotask(() => {
        if (this.focused === target && (target as Element).isConnected) this.focused = null;
      }),
    );
  }

  /** Stand in the place of an output. */
  moveTo(output: HTMLElement): void {
    this.leave();
    this.output = output;
    output.style.display = "none";
    output.after(this.el);
  }

  /** Give the place back to the static form. */
  leave(): void {
    this.wasConnected = false;
    this.el.remove();
    if (this.output) this.output.style.display = "";
    this.output = undefined;
  }

  /** After the element was removed and is back: scroll and focus as before. */
  restore(): void {
    const { isConnected } = this.el;
    if (isConnected && !this.wasConnected) {
      for (const [element, [left, top]] of this.scrolled) {
        if (this.el.contains(element)) element.scrollTo(left, top);
        else this.scrolled.delete(element);
      }
      const { activeElement } = document;
      if (this.focused && this.el.contains(this.focused) && (!activeElement || activeElement === document.body))
        this.focused.focus({ preventScroll: true });
    }
    this.wasConnected = isConnected;
  }

  close(): void {
    this.leave();
    this.remove();
  }

  private noteScroll(element: Element): void {
    if (this.el.isConnected) this.scrolled.set(element, [element.scrollLeft, element.scrollTop]);
  }
}

/** All the views of one run in this page. */
export class Places {
  private readonly places: Place[] = [];
  private readonly stop: () => void;
  private isShown = false;

  constructor(
    private readonly uid: () => string,
    private readonly newest: () => number,
    /** Whether the notebook contains the newest moment, in its page or out of sight. */
    private readonly isInNotebook: () => boolean,
    /** Whether there is something to draw; until then, the static form is shown. */
    private readonly isReady: () => boolean,
    private readonly draw: Draw,
    /** Called when the run is no longer to be seen in this page, and when it is again. */
    private readonly onShown: (isShown: boolean) => void,
  ) {
    this.stop = watch(this);
  }

  /** Draw a view where the host asks for one. Return the function that removes it. */
  render(el: HTMLElement): () => void {
    const place = this.places.find((each) => !each.output && !each.el.isConnected) ?? this.add();
    el.append(place.el);
    requestAnimationFrame(() => place.restore());
    return () => {
      if (place.el.parentElement === el) place.leave();
      // an updated output is removed before it is drawn again
      setTimeout(() => !place.output && !place.el.parentElement && this.discard(place), KEEP);
    };
  }

  /** Put the views where they belong; `marks` are the elements of all moments in the page. */
  update(marks: HTMLElement[]): void {
    const wanted = new Set<HTMLElement>();
    for (const mark of this.isReady() ? marks : []) {
      const number = numberOf(mark, this.uid());
      if (!number) continue;
      const isDocked = !mark.closest(NOTEBOOK);
      const output = mark.closest<HTMLElement>(OUTPUT);
      if (output && (isDocked || number === this.newest())) wanted.add(output);
    }
    const idle: Place[] = [];
    for (const place of this.places) {
      if (!place.output) continue;
      if (wanted.has(place.output)) wanted.delete(place.output);
      else {
        if (place.output.isConnected) place.leave();
        idle.push(place); // what is not connected may come back: a notebook removes what is out of sight
      }
    }
    for (const output of wanted) (idle.shift() ?? this.add()).moveTo(output);
    // the notebook says whether one is only out of sight, and then it is kept; it also notes where a moved one is
    const isThere = this.places.some(({ el }) => el.closest(NOTEBOOK));
    const isOutOfSight = (wanted.size > 0 || !isThere) && this.isInNotebook() && !isThere;
    for (const place of idle.slice(isOutOfSight ? 1 : 0)) this.discard(place);
    const isShown = isOutOfSight || this.places.some(({ el }) => el.isConnected);
    for (const place of this.places) place.restore();
    if (this.isShown !== isShown) this.onShown(isShown);
    this.isShown = isShown;
  }

  close(): void {
    this.stop();
    for (const place of this.places) place.close();
    this.places.length = 0;
  }

  private add(): Place {
    const place = new Place(this.draw);
    this.places.push(place);
    return place;
  }

  private discard(place: Place): void {
    const index = this.places.indexOf(place);
    if (index >= 0) this.places.splice(index, 1);
    place.close();
  }
}

function numberOf(mark: HTMLElement, uid: string): number {
  const prefix = `${MARK}-${uid}-`;
  const name = [...mark.classList].find((each) => each.startsWith(prefix));
  return name ? Number(name.slice(prefix.length)) : 0;
}

// -- one observer per page, which looks at most once a frame ----------------------------------------------------------

const watched = new Set<Places>();
const observer = new MutationObserver(lookSoon);
let frame = 0;

/** Look for moments whenever the page has changed. Return the function that ends this. */
function watch(places: Places): () => void {
  if (!watched.size) observer.observe(document.body, { childList: true, subtree: true });
  watched.add(places);
  lookSoon();
  return () => {
    watched.delete(places);
    if (!watched.size) observer.disconnect();
  };
}

/** Look for moments before the page is drawn again. */
export function lookSoon(): void {
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    const marks = [...document.querySelectorAll<HTMLElement>(`.${MARK}`)];
    for (const places of [...watched]) places.update(marks);
  });
}
