/** What every entry has around it: its place, its marks, its verbs, and the edit that is being written. */

import type { ComponentChildren, JSX } from "preact";
import { Button, QUIET } from "../controls";
import { hint, type Verb } from "../keys";
import { BranchChips } from "../panels/branches";
import type { Card, Json } from "../protocol";
import { able } from "../status";
import type { Store } from "../store";
import { offered, pointOf, type Ui } from "../ui";
import { useOf } from "../use";
import { EditForm, Original } from "./edit";

const VERBS: [verb: Verb, label: string, title: string][] = [
  ["edit", "edit", "Put something else in its place; the original is kept"],
  ["retry", "retry", "Go back to before this entry and perform it again"],
  ["rewind", "rewind", "Make this the last entry; what follows is kept as a branch"],
  ["fork", "fork", "Begin a second run after this entry"],
  ["break", "break", "Pause before the next step of this tool or role"],
  ["request", "request", "The request as it was sent, with its tokens"],
  ["copy", "copy", "Copy as text"],
];

interface FrameProps {
  store: Store;
  ui: Ui;
  card: Card;
  /** It follows a human edit. */
  after: boolean;
  title: ComponentChildren;
  kind: string;
  /** What it took: beside the title, until its verbs are wanted. */
  spent: string;
  children: ComponentChildren;
}

export function Frame({ store, ui, card, after, title, kind, spent, children }: FrameProps): JSX.Element {
  const current = useOf(ui, (u) => u.current === card.id);
  const editing = useOf(ui, (u) => (u.editing?.card?.id === card.id ? u.editing : null));
  const edited = card.original > 0;
  const classes = ["ak-entry", `ak-is-${kind}`, current && "ak-current", edited && "ak-edited", after && "ak-follows-edit"];
  return (
    <article
      {...QUIET}
      class={classes.filter(Boolean).join(" ")}
      tabIndex={current ? 0 : -1}
      data-entry={card.id}
      data-n={card.n}
      aria-label={`Entry ${card.n}, ${kind}${edited ? ", edited" : after ? ", follows an edit" : ""}`}
      onFocus={() => !current && ui.set({ current: card.id })}
    >
      <span class="ak-gutter">{card.n}</span>
      <div class="ak-entry-body">
        <div class="ak-entry-head">
          <span class="ak-title">{title}</span>
          <Marks card={card} />
          <BranchChips store={store} entry={card} />
          <span class="ak-cost">{spent}</span>
          <Verbs store={store} ui={ui} card={card} />
        </div>
        {editing ? <EditForm store={store} ui={ui} editing={editing} /> : children}
        {edited && !editing && <Original store={store} card={card} />}
      </div>
      {after && <span class="ak-stripe" title="This follows a human edit" />}
    </article>
  );
}

function Verbs({ store, ui, card }: { store: Store; ui: Ui; card: Card }): JSX.Element {
  const { kind, value } = pointOf(card);
  const broken = useOf(store, (s) => s.head.breakpoints.some((point) => point.kind === kind && point.value === value));
  const can = useOf(store, (s) => able(s, "edit"));
  return (
    <span class="ak-actions ak-floating" role="group" aria-label={`Entry ${card.n}`}>
      {VERBS.filter(([verb]) => offered(verb, card)).map(([verb, label, title]) => (
        <Button
          key={verb}
          tabIndex={-1}
          class="ak-action"
          title={`${title}  (${hint(verb)})`}
          aria-pressed={verb === "break" ? broken : undefined}
          aria-disabled={!can && verb !== "copy" && verb !== "request"}
          onClick={() => {
            ui.set({ current: card.id });
            ui.perform(verb, card);
          }}
        >
          {label}
        </Button>
      ))}
    </span>
  );
}

function Marks({ card }: { card: Card }): JSX.Element {
  const tags = Object.entries(card.tags);
  const human = card.author === "human" && (card.kind === "think" || card.kind === "act");
  return (
    <>
      {card.lane && <span class="ak-tag" title={`Frame ${card.path}`}>{`lane ${card.lane}`}</span>}
      {card.original > 0 ? (
        <span class="ak-tag ak-tag-edit">edited{card.author ? ` by ${card.author}` : ""}</span>
      ) : (
        human && <span class="ak-tag ak-tag-edit">written by hand</span>
      )}
      {card.drifted && (
        <span
          class="ak-tag ak-tag-warning"
          title="The engine asks for something else here now: a prompt or a docstring has changed. This is the recorded result."
        >
          drifted
        </span>
      )}
      {tags.map(([name, value]) => (
        <span key={name} class="ak-tag" title={`${name}: ${shown(value)}`}>
          {(typeof value === "object" ? name : `${name} ${value}`).slice(0, 40)}
        </span>
      ))}
    </>
  );
}

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function seconds(time: number): string {
  if (time >= 1) return `${time.toFixed(1)} s`;
  return `${Math.round(time * 1_000)} ms`;
}
