/** The state of one view: what its reader has selected, opened and typed; and what the reader's actions do. */

import { copyText } from "../elements/clipboard";
import { errorText } from "../elements/format";
import type { Card, Command, PendingStep, ResultOf } from "../protocol";
import { type Action, appliesTo, isEditable, isEnabled, runCommand, toggleBreakpoint } from "./actions";
import { entryText } from "./entryText";
import { PAGE } from "./page";
import { PastMoments } from "./pastMoments";
import { isRunning } from "./status";
import type { Store } from "./store";

export type Tab = "source" | "request" | "breakpoints" | "branches" | "progress" | "profile" | "audit";

/** The most entries that are drawn at a time. */
export const WINDOW_SIZE = 300;

/** An edit in progress. Its `draft` outlives the card, which another view may replace in the meantime. */
export interface Edit {
  /** The entry, with its full texts; null if a pending step is edited. */
  card: Card | null;
  step: PendingStep | null;
  /** Whether the arguments of a call are edited, or a result is written or taken from the recording. */
  target: "arguments" | "result" | "recording";
  /** The id of the last entry when the edit began. */
  base: number;
  draft: { [field: string]: string };
}

/** What a person expects of a step, before it is performed. */
interface Guess {
  path: string;
  index: number;
  text: string;
  /** The last entry when the guess was made. */
  base: number;
  /** The entry that the step became, or 0. */
  entry: number;
}

interface State {
  /** The id of the selected entry, or 0. */
  selected: number;
  edit: Edit | null;
  /** How often the message box was asked for since it was closed; 0 if it is closed. */
  messageBox: number;
  isHelpOpen: boolean;
  /** Whether the side panel is open; null leaves that to the width of the view. */
  sidePanel: boolean | null;
  tab: Tab;
  /** The branch that is compared with the current one; 0 for none. */
  comparison: number;
  /** The last refusal or confirmation. */
  notice: string;
  /** The position at which the drawn part of the trace ends; null for the end of the trace, which moves. */
  windowEnd: number | null;
  /** Increases with every request to scroll to the selected entry, so that one can be scrolled to twice. */
  scrollRequests: number;
  /** The entry that is to get the focus as soon as it is drawn; 0 for none. */
  focusDue: number;
  /** Increases with every request to open the menu of what can be taken back. */
  goBackRequests: number;
  /** The thought whose model is shown talking on; 0 for none. */
  talkedOn: number;
  /** The thought whose model may be asked again a number of times; 0 for none. */
  luck: number;
  /** Whether there is room for the side panel beside the trace. */
  isWide: boolean;
  /** Whether each step is to be guessed before it is performed. */
  isPredicting: boolean;
  /** Increases with every request to guess. */
  guessRequests: number;
}

export class ViewState implements State {
  selected = 0;
  edit: Edit | null = null;
  messageBox = 0;
  isHelpOpen = false;
  sidePanel: boolean | null = null;
  tab: Tab = "source";
  comparison = 0;
  notice = "";
  windowEnd: number | null = null;
  scrollRequests = 0;
  focusDue = 0;
  goBackRequests = 0;
  talkedOn = 0;
  luck = 0;
  isWide = true;
  isPredicting = false;
  guessRequests = 0;
  /** The unsent message to the model; it outlives its box. */
  messageDraft = "";

  readonly moments: PastMoments;
  private readonly guesses: Guess[] = [];

  private readonly listeners = new Set<() => void>();

  constructor(readonly store: Store) {
    this.moments = new PastMoments(store);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  set(change: Partial<State>): void {
    Object.assign(this, change);
    for (const listener of [...this.listeners]) listener();
  }

  get isSidePanelOpen(): boolean {
    return this.sidePanel ?? this.isWide;
  }

  /** Send a command. Return its result; if it is refused, show why and return undefined. */
  async execute<C extends Command>(command: C): Promise<ResultOf<C> | undefined> {
    try {
      const result = await this.store.execute(command);
      if (this.notice) this.set({ notice: "" });
      return result;
    } catch (error) {
      this.set({ notice: `${COMMAND_LABELS[command.cmd] ?? command.cmd}: ${errorText(error)}` });
      return undefined;
    }
  }

  /** Show a notice for a while. */
  notify(notice: string): void {
    this.set({ notice });
    setTimeout(() => this.notice === notice && this.set({ notice: "" }), 6_000);
  }

  openTab(tab: Tab): void {
    this.set({ tab, sidePanel: true });
  }

  // -- going to an entry ----------------------------------------------------------------------------------------------

  /** Select the entry at a position, and scroll to it. */
  async goToPosition(n: number): Promise<void> {
    const { store } = this;
    const drawnTo = this.windowEnd ?? store.total;
    const isDrawn = n >= drawnTo - WINDOW_SIZE && n < drawnTo;
    const isNearEnd = n >= store.total - WINDOW_SIZE;
    const windowEnd = isDrawn ? this.windowEnd : isNearEnd ? null : Math.min(store.total, n + WINDOW_SIZE / 2);
    const end = windowEnd ?? store.total;
    await store.load(Math.max(0, end - WINDOW_SIZE), end);
    const card = store.cards[n];
    if (!card) return this.set({ windowEnd });
    if (!isDrawn) void this.moments.at(card.id); // the kernel finds it while the page draws
    this.set({ windowEnd, selected: card.id, scrollRequests: this.scrollRequests + 1 });
  }

  /** Draw another part of the trace, as soon as its cards are loaded, so that the trace is not empty in between. */
  async moveWindow(windowEnd: number | null, change = (draw: () => void): void => draw()): Promise<void> {
    const end = windowEnd ?? this.store.total;
    await this.store.load(Math.max(0, end - WINDOW_SIZE), end);
    change(() => this.set({ windowEnd }));
  }

  /** Look at the run as it is now, at the end of the trace. */
  backToNow(): void {
    this.set({ selected: 0, windowEnd: null, scrollRequests: this.scrollRequests + 1 });
  }

  /** Select an entry by its id, wherever in the trace it is, and scroll to it. */
  async goToEntry(id: number): Promise<void> {
    const { store } = this;
    for (let last = store.total; last > 0; last -= WINDOW_SIZE) {
      await store.load(last - WINDOW_SIZE, last);
      const card = store.trace.find(id);
      if (card) return this.goToPosition(card.n);
    }
  }

  // -- actions --------------------------------------------------------------------------------------------------------

  /** Perform an action if it is available; `card` is the entry that it concerns. */
  perform(action: Action, card?: Card): void {
    if (PAGE.isPresenting && OUTSIDE_PRESENTATION.includes(action)) return;
    const command = runCommand(action);
    if (command) {
      if (!isEnabled(this.store, action)) return;
      if (action === "step" && this.guessable) {
        this.set({ guessRequests: this.guessRequests + 1 });
        return;
      }
      const goesOn = ["step", "play", "over"].includes(action);
      if (this.selected && (goesOn || PAGE.isPresenting)) this.backToNow(); // what happens now is shown
      void this.execute(command);
    } else if (action === "present") PAGE.present(!PAGE.isPresenting);
    else if (action === "goBack") this.set({ goBackRequests: this.goBackRequests + 1 });
    else if (action === "help") this.set({ isHelpOpen: !this.isHelpOpen });
    else if (action === "sidePanel") this.set({ sidePanel: !this.isSidePanelOpen });
    else if (action === "inject") this.set({ messageBox: this.messageBox + 1 });
    else if (card) this.performOn(action, card);
    else if (action === "edit") this.editNextStep();
  }

  // -- guessing -------------------------------------------------------------------------------------------------------

  /** The next step, if it is to be guessed before it is performed. */
  get guessable(): PendingStep | undefined {
    const { store } = this;
    const step = store.head.pending[0];
    const canGuess = step && !step.why && !isRunning(store) && (step.kind === "think" || step.kind === "act");
    return this.isPredicting && canGuess && isEnabled(store, "step") ? step : undefined;
  }

  /** Commit a guess, and perform the step. */
  guess({ path, index }: PendingStep, text: string): void {
    this.guesses.push({ path, index, text, base: this.lastEntry(), entry: 0 });
    void this.execute({ cmd: "step" });
  }

  /** Return the guess that was made before the step of an entry. */
  guessAt({ id, path, index }: Card): string | undefined {
    const isNew = (guess: Guess): boolean =>
      !guess.entry && guess.path === path && guess.index === index && id > guess.base;
    const guess = this.guesses.find(({ entry }) => entry === id) ?? this.guesses.find(isNew);
    if (guess) guess.entry = id;
    return guess?.text;
  }

  /** Begin to edit an entry. */
  async editEntry(card: Card): Promise<void> {
    if (this.hasDraft()) return;
    const base = this.lastEntry();
    const full = await this.withFullTexts(card);
    if (full) this.set({ edit: { card: full, step: null, target: "result", base, draft: {} } });
  }

  /** Begin to edit the arguments of a pending step, or to enter its result. */
  editStep(step: PendingStep, target: Edit["target"]): void {
    const { edit } = this;
    if (edit?.step && isSameStep(edit.step, step)) this.set({ edit: { ...edit, step, target } });
    else if (!this.hasDraft()) this.set({ edit: { card: null, step, target, base: this.lastEntry(), draft: {} } });
  }

  /** Leave a pending step to the model or the tool. */
  leaveStep(step: PendingStep): void {
    if (this.edit?.step && isSameStep(this.edit.step, step) && !this.hasDraft()) this.set({ edit: null });
  }

  private editNextStep(): void {
    const step = this.store.head.pending[0];
    if (step && !isRunning(this.store) && isEditable(step))
      this.editStep(step, step.kind === "act" && !step.own ? "arguments" : "result");
  }

  /** Tell whether an edit has been begun, which another one must not discard. */
  private hasDraft(): boolean {
    const hasDraft = Object.keys(this.edit?.draft ?? {}).length > 0;
    if (hasDraft) this.notify("Save or cancel your current edit first.");
    return hasDraft;
  }

  private lastEntry(): number {
    const { cards } = this.store;
    return cards[cards.length - 1]?.id ?? 0;
  }

  private performOn(action: Action, card: Card): void {
    if (action === "copy") void this.copy(card);
    else if (!appliesTo(action, card)) return;
    else if (action === "request") {
      this.set({ selected: card.id });
      this.openTab("request");
    } else if (action === "luck") this.set({ luck: card.id });
    else if (!isEnabled(this.store, action)) return;
    else if (action === "edit") void this.editEntry(card);
    else if (action === "talkOn") this.set({ talkedOn: card.id });
    else if (action === "break") void this.execute(toggleBreakpoint(this.store, card));
    else if (action === "fork") void this.fork(card.id);
    else if (action === "retry" || action === "rewind") void this.execute({ cmd: action, entry: card.id });
  }

  /** Return an entry with its full texts; if they cannot be loaded, show why and return undefined. */
  private async withFullTexts(card: Card): Promise<Card | undefined> {
    try {
      return await this.store.withFullTexts(card);
    } catch (error) {
      this.notify(`The full text could not be loaded: ${errorText(error)}`);
      return undefined;
    }
  }

  private async copy(card: Card): Promise<void> {
    const full = await this.withFullTexts(card);
    if (full) this.notify(await copyText(entryText(full)));
  }

  /** Start a second run after an entry, also after one that is on another branch. */
  async fork(entry: number): Promise<void> {
    const fork = await this.execute({ cmd: "fork", entry });
    if (fork) this.notify(`The fork is shown below this run. ${fork.forecast ?? ""}`);
  }

  /** Open the run of a trial that began again at an entry. */
  async openTrial(entry: number, trial: number): Promise<void> {
    const opened = await this.execute({ cmd: "open_trial", entry, trial });
    if (opened) this.notify(`The trial is shown below this run. ${opened.forecast ?? ""}`);
  }
}

/** What opens something that a presentation does not show. */
const OUTSIDE_PRESENTATION: Action[] = ["goBack", "request", "sidePanel"];

/** Commands as their buttons call them, where that is not the name of the command. */
const COMMAND_LABELS: { [command: string]: string } = {
  step: "Step",
  play: "Run",
  pause: "Pause",
  step_over: "Step over",
  stop: "Stop",
  undo: "Undo",
  redo: "Redo",
  pace: "Speed",
  temperature: "Temperature",
  retry: "Try again",
  rewind: "Go back",
  fork: "Try another way",
  recall: "Recall",
  break: "Breakpoint",
  unbreak: "Breakpoint",
  freeze: "Freeze",
};

/** Whether two pending steps are the same one, at different times. */
export function isSameStep(a: PendingStep, b: PendingStep): boolean {
  return a.path === b.path && a.index === b.index;
}
