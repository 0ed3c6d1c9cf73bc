/** How likely each token of a reply was, and what could have stood in its place; loaded when it is opened. */

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Disclosure, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import { indexAfterKey } from "../elements/tabs";
import { ErrorMessage, Note } from "../elements/text";
import type { ReplyTokens, ThinkEntry } from "../protocol";
import type { Store } from "../state/store";
import { useQuery } from "../state/useStore";

type Token = ReplyTokens["tokens"][number];

/** The probabilities below which the colour of a token is stronger by one level each. */
const LEVELS = [0.9, 0.7, 0.4, 0.1];

export function TokenProbabilities({ store, card }: { store: Store; card: ThinkEntry }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <Disclosure summary={`Token probabilities (${count(card.tokens ?? 0, "token")})`} onOpen={() => setOpen(true)}>
      {isOpen && <Loaded store={store} entry={card.id} />}
    </Disclosure>
  );
}

function Loaded({ store, entry }: { store: Store; entry: number }): JSX.Element {
  const { value, error } = useQuery(store, String(entry), { cmd: "tokens", entry });
  if (error) return <ErrorMessage text={error} />;
  if (!value) return <Note>Loading…</Note>;
  return <Tokens {...value} />;
}

/** A list that is a single tab stop: the arrow keys go from token to token, as the pointer does. */
function Tokens({ tokens, total }: ReplyTokens): JSX.Element {
  const [active, setActive] = useState(-1);
  const [pointed, setPointed] = useState(-1);
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = (back: string, forward: string): number | undefined =>
      indexAfterKey(event.key, active, tokens.length, back, forward);
    const next = move("ArrowLeft", "ArrowRight") ?? move("ArrowUp", "ArrowDown");
    if (next === undefined) return;
    event.preventDefault();
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  const shown = tokens[pointed] ?? tokens[active];
  return (
    <>
      <div class="ak-tokens" role="listbox" aria-label="Tokens of the reply" ref={list} onKeyDown={onKeyDown}>
        {tokens.map((token, index) => (
          <span
            key={index}
            {...SUPPRESS_SHORTCUTS}
            role="option"
            aria-selected={index === active}
            aria-label={index === active ? described(token) : token[0].trim() ? undefined : quoted(token[0])}
            tabIndex={index === Math.max(0, active) ? 0 : -1}
            class={`ak-token ak-likely-${LEVELS.filter((level) => token[1] < level).length}`}
            onFocus={() => setActive(index)}
            onPointerEnter={() => setPointed(index)}
            onPointerLeave={() => setPointed(-1)}
          >
            {token[0].replaceAll("\n", "⏎\n")}
          </span>
        ))}
      </div>
      <p class="ak-muted ak-token-detail">
        {shown
          ? described(shown)
          : "The stronger the colour, the less likely the token was. Point at a token, or go to it with the arrow keys, to see what else could have stood there."}
      </p>
      {tokens.length < total && <Note>The first {count(tokens.length, "token")}.</Note>}
    </>
  );
}

function described([text, probability, others = {}]: Token): string {
  const rest = Object.entries(others).map(([other, likely]) => `${quoted(other)} ${percent(likely)}`);
  return `${quoted(text)}: ${percent(probability)}.${rest.length ? ` Instead: ${rest.join(", ")}.` : ""}`;
}

function quoted(text: string): string {
  return `“${text.replaceAll("\n", "⏎").replaceAll(" ", "␣")}”`;
}

function percent(probability: number): string {
  const value = probability * 100;
  if (value < 0.1) return "less than 0.1 %";
  return `${value < 10 || value > 99 ? value.toFixed(1) : Math.round(value)} %`;
}
