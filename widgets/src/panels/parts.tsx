/** What several panels are made of. Texts reach the page as text nodes, whatever is in them. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Card, Command, Head, Json, Usage } from "../protocol";
import type { Store } from "../store";
import { useOf } from "../use";
import { diff, words } from "./diff";

/** JupyterLab takes its shortcuts from every focusable element that does not wear this. */
export const QUIET = { "data-lm-suppress-shortcuts": "true" } as const;

/** What scrolls can have the focus in most browsers, asked for or not. */
export function Scrolled(props: { class: string; children: ComponentChildren }): JSX.Element {
  return <div {...QUIET} {...props} />;
}

export function Button(props: JSX.IntrinsicElements["button"]): JSX.Element {
  return <button type="button" {...QUIET} {...props} />;
}

export function useHead(store: Store): Head {
  return useOf(store, ({ head }) => head);
}

export interface Asked<T> {
  value?: T;
  error?: string;
}

/** The answer to a question, asked anew whenever `key` changes; null asks nothing. The last answer stays until the next comes. */
export function useAsked<T>(store: Store, key: string, question: Command | null): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  useEffect(() => {
    if (!question) return;
    let current = true;
    store.ask(question).then(
      (value) => current && setAsked({ value: value as unknown as T }),
      (error) => current && setAsked({ error: said(error) }),
    );
    return () => {
      current = false;
    };
  }, [store, key]);
  return asked;
}

/** A function that sends a command, and what was refused last. */
export function useTold(store: Store): [tell: (command: Command) => Promise<Json | undefined>, refused: string] {
  const [refused, setRefused] = useState("");
  const tell = (command: Command): Promise<Json | undefined> =>
    store.ask(command).then(
      (result) => {
        setRefused("");
        return result;
      },
      (error) => {
        setRefused(said(error));
        return undefined;
      },
    );
  return [tell, refused];
}

export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function Panel(props: { name: string; label: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class={`ak-panel ak-${props.name}`} aria-label={props.label}>
      {props.children}
    </section>
  );
}

/** What is said beside something else. */
export function Dim({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="ak-muted">{children}</span>;
}

/** A sentence in the place of what is not there. */
export function Note({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="ak-muted">{children}</p>;
}

export function Refusal({ text }: { text?: string | undefined }): JSX.Element {
  return (
    <p class="ak-error-message" role="alert">
      {text}
    </p>
  );
}

/** Keys of a widget with one tab stop: the index to go to, or undefined for a key that means nothing here. */
export function moved(key: string, index: number, count: number, back: string, forth: string): number | undefined {
  if (key === back) return (index + count - 1) % count;
  if (key === forth) return (index + 1) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return undefined;
}

export function Tabs(props: { label: string; names: string[]; children: (index: number) => ComponentChildren }): JSX.Element {
  const { label, names, children } = props;
  const [open, setOpen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = moved(event.key, open, names.length, "ArrowLeft", "ArrowRight");
    if (to === undefined) return;
    event.preventDefault();
    setOpen(to);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  return (
    <>
      <div class="ak-tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {names.map((name, index) => (
          <Button
            key={name}
            role="tab"
            aria-selected={index === open}
            tabIndex={index === open ? 0 : -1}
            onClick={() => setOpen(index)}
          >
            {name}
          </Button>
        ))}
      </div>
      <div role="tabpanel" aria-label={names[open]}>
        {children(open)}
      </div>
    </>
  );
}

/**
 * Words of two texts: `side` "-" shows the first with what was deleted, "+" the second with what was inserted, "" both in
 * one. Where neither came first, `mark` says only that they differ.
 */
export function WordDiff(props: { from: string; to: string; side?: "" | "-" | "+"; mark?: boolean }): JSX.Element {
  const { from, to, side = "", mark = false } = props;
  return (
    <>
      {diff(words(from), words(to)).map(({ op, items }, index) => {
        if (op === "=") return items.join("");
        if (side && op !== side) return null;
        const Tag = mark ? "mark" : op === "-" ? "del" : "ins";
        return <Tag key={index}>{items.join("")}</Tag>;
      })}
    </>
  );
}

/** Copy a text; gives what came of it. */
export async function copied(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) return "The browser does not allow it";
  }
  return "Copied";
}

/** Pages that are not served securely have no clipboard object; the old way still works there. */
function copyBySelection(text: string): boolean {
  const focused = document.activeElement as HTMLElement | null;
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("data-lm-suppress-shortcuts", "true");
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    focused?.focus();
  }
}

export function Copy({ text, label = "Copy" }: { text: () => string; label?: string }): JSX.Element {
  const [done, setDone] = useState("");
  const onClick = async (): Promise<void> => setDone(await copied(text()));
  return (
    <span class="ak-copy">
      <Button onClick={onClick}>{label}</Button> <span role="status">{done}</span>
    </span>
  );
}

const NAMES = { begin: "task", think: "thought", act: "action", ask: "question", conclude: "conclusion" } as const;

/** What an entry is, in a word or two. */
export function titleOf(card: Card): string {
  return card.kind === "act"
    ? `${card.call.name}${card.ok ? "" : ", failed"}`
    : card.kind === "think" && card.role
      ? card.role
      : NAMES[card.kind];
}

/** What an entry says, as one text. */
export function textOf(card: Card): string {
  if (card.kind === "begin") return card.messages.map((message) => message.text).join("\n");
  if (card.kind === "think") return [card.text || (card.answer ?? ""), ...card.calls.map(callText)].filter(Boolean).join("\n");
  if (card.kind === "act") return `${callText(card.call)}\n→ ${card.text}`;
  return card.kind === "ask" ? `${card.question}\n→ ${card.text}` : card.answer;
}

/** Characters of one text in a panel: it is there to be compared, and the card has the whole. */
const CHARACTERS = 8_000;

export function cut(text: string): string {
  const left = text.length - CHARACTERS;
  return left > 0 ? `${text.slice(0, CHARACTERS)} … ${count(left, "more character")}` : text;
}

export function callText(call: { name: string; arguments: Json }): string {
  const { name, arguments: given } = call;
  if (!given || typeof given !== "object" || Array.isArray(given)) return `${name}(${JSON.stringify(given)})`;
  return `${name}(${Object.entries(given)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(", ")})`;
}

/** A part of a whole for the eye; the figure is written beside it. */
export function Meter({ part }: { part: number }): JSX.Element {
  return (
    <span class="ak-meter" aria-hidden="true">
      <i style={{ width: `${Math.max(0, Math.min(1, part)) * 100}%` }} />
    </span>
  );
}

export function thousands(number: number): string {
  return number.toLocaleString("en");
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

export function spent(usage: Usage | null): string {
  if (!usage) return "";
  const parts = [`${count(usage.input, "token")} in`, `${thousands(usage.output)} out`];
  if (usage.cached) parts.push(`${thousands(usage.cached)} cached`);
  if (usage.reasoning) parts.push(`${thousands(usage.reasoning)} reasoning`);
  if (usage.cost) parts.push(`$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`);
  return parts.join(" · ");
}
