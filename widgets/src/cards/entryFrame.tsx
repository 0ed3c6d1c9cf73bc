/** What every entry has around its content: its number, tags and actions, and the edit in progress. */

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, SUPPRESS_SHORTCUTS, withShortcut } from "../elements/controls";
import { Note } from "../elements/text";
import type { Card } from "../protocol";
import { appliesTo, breakpointOn, type EntryAction, isEnabled, isOffered } from "../state/actions";
import { shortcutLabel } from "../state/shortcuts";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { BranchSwitcher } from "./branchSwitcher";
import { EditForm } from "./editForm";
import { JudgedGuess } from "./guess";
import { Original } from "./original";
import { Verbs } from "./verbs";

type ActionButton = [action: EntryAction, label: string, title: string];

const EDIT: ActionButton = ["edit", "Edit", "Edit this entry; the original is kept"];
const ACTIONS: ActionButton[] = [
  ["break", "Break", "Toggle a breakpoint: pause before every step with this tool or role"],
  ["request", "Request", "Show the request as it was sent, with token counts"],
  ["talkOn", "Let it talk on", "Ask again without the stop sequence: one model call, and no tool is called"],
  ["luck", "Luck", "Luck or skill: ask the model the same a number of times; shows the price first, and calls no tool"],
  ["copy", "Copy", "Copy as text"],
];

/** The actions that change nothing. */
const LOOKING: EntryAction[] = ["copy", "request", "luck"];

const DRIFTED =
  "The engine would now ask for something else here: a prompt or a docstring has changed. This is the recorded result.";

interface EntryFrameProps {
  store: Store;
  view: ViewState;
  card: Card;
  followsEdit: boolean;
  /** Selects the style. */
  kind: string;
  /** The kind in words, for screen readers. */
  name: string;
  title: ComponentChildren;
  /** The time and tokens that it took. */
  cost: string;
  children: ComponentChildren;
}

export function EntryFrame(props: EntryFrameProps): JSX.Element {
  const { store, view, card, followsEdit, kind, name, title, cost, children } = props;
  const isSelected = useStore(view, ({ selected }) => selected === card.id);
  const edit = useStore(view, ({ edit }) => (edit?.card?.id === card.id ? edit : null));
  const isEdited = card.original > 0;
  const article = useRef<HTMLElement>(null);
  const isFocusDue = useStore(view, (v) => v.focusDue === card.id);
  useLayoutEffect(() => {
    if (!isFocusDue) return;
    view.set({ focusDue: 0 });
    if (canTakeFocus(article.current as HTMLElement)) article.current?.focus({ preventScroll: true });
  }, [isFocusDue]);
  const guess = view.guessAt(card);
  const classes = [
    "ak-entry",
    `ak-is-${kind}`,
    isSelected && "ak-current",
    isEdited && "ak-edited",
    followsEdit && "ak-follows-edit",
  ];
  return (
    <article
      ref={article}
      {...SUPPRESS_SHORTCUTS}
      class={classes.filter(Boolean).join(" ")}
      tabIndex={isSelected ? 0 : -1}
      data-entry={card.id}
      data-n={card.n}
      aria-label={`Entry ${card.n}, ${name}${isEdited ? ", edited" : followsEdit ? ", follows an edit" : ""}`}
      onFocus={() => !isSelected && view.set({ selected: card.id })}
    >
      <span class="ak-gutter">{card.n}</span>
      <div class="ak-entry-body">
        <div class="ak-entry-head">
          <span class="ak-title">{title}</span>
          <Tags card={card} />
          <BranchSwitcher store={store} card={card} />
          <span class="ak-cost">{cost}</span>
          <Actions store={store} view={view} card={card} />
        </div>
        {edit ? <EditForm store={store} view={view} edit={edit} /> : children}
        {!edit && guess !== undefined && <JudgedGuess store={store} entry={card.id} guess={guess} />}
        {!isEdited && !edit && card.reason && <Note>{sentence(card.reason)}</Note>}
        {isEdited && !edit && <Original store={store} card={card} />}
      </div>
      {followsEdit && <span class="ak-stripe" title="Follows a human edit" />}
    </article>
  );
}

function Actions({ store, view, card }: { store: Store; view: ViewState; card: Card }): JSX.Element {
  const hasBreakpoint = useStore(store, (s) => breakpointOn(s, card) !== undefined);
  const canChange = useStore(store, (s) => isEnabled(s, "edit"));
  const mayChange = useStore(store, (s) => isOffered(s, "change"));
  const button = ([action, label, title]: ActionButton): JSX.Element => (
    <Button
      key={action}
      tabIndex={-1}
      class="ak-action"
      title={withShortcut(title, shortcutLabel(action))}
      aria-pressed={action === "break" ? hasBreakpoint : undefined}
      aria-disabled={!canChange && !LOOKING.includes(action)}
      onClick={() => {
        view.set({ selected: card.id });
        view.perform(action, card);
      }}
    >
      {label}
    </Button>
  );
  return (
    <span class="ak-floating" role="group" aria-label={`Entry ${card.n}`}>
      <span class="ak-fitting">
        {mayChange && appliesTo("edit", card) && button(EDIT)}
        {mayChange && <Verbs store={store} view={view} card={card} />}
        {ACTIONS.filter(([action]) => appliesTo(action, card) && (mayChange || LOOKING.includes(action))).map(button)}
      </span>
    </span>
  );
}

function Tags({ card }: { card: Card }): JSX.Element {
  const isByHand = card.author === "human" && !card.repeats && (card.kind === "think" || card.kind === "act");
  return (
    <>
      {card.lane && (
        <span class="ak-tag" title={`Frame ${card.path}`}>
          {card.lane_text}
        </span>
      )}
      {card.original > 0 ? (
        <span class="ak-tag ak-tag-edit">
          edited{card.author && ` by ${card.author === "human" ? "hand" : card.author}`}
        </span>
      ) : (
        isByHand && (
          <span class="ak-tag ak-tag-edit">
            {card.kind === "act" && !card.ok ? "decided by hand" : "entered by hand"}
          </span>
        )
      )}
      {card.repeats && (
        <span class="ak-tag ak-tag-edit" title="The tool was not called again; this is the result that it gave before">
          earlier result
        </span>
      )}
      {card.drifted && (
        <span class="ak-tag ak-tag-warning" title={DRIFTED}>
          prompt has changed
        </span>
      )}
      {card.tags.map(({ text, title }) => (
        <span key={title} class="ak-tag" title={title}>
          {text}
        </span>
      ))}
    </>
  );
}

/** Whether the focus is in the same view and not in a form, or nowhere because its form has just been removed. */
function canTakeFocus(element: HTMLElement): boolean {
  const { activeElement } = element.getRootNode() as Document | ShadowRoot;
  if (!activeElement || activeElement === document.body) return true;
  return !!activeElement.closest(".ak-root")?.contains(element) && !activeElement.closest("form:not(.ak-edit)");
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
