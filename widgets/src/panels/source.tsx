/** The engine's own source while it runs: the current line lit, its breakpoints, and the local variables of a frame. */

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Breakpoint, Place, Source } from "../protocol";
import type { Store } from "../store";
import { Button, count, Dim, moved, Note, Panel, QUIET, Refusal, useAsked, useHead, useTold } from "./parts";
import { lines, type Token } from "./python";

/** Lines drawn around the lit one; a file may have thousands. */
const AROUND = 250;

export function SourcePanel({ store }: { store: Store }): JSX.Element {
  const { where, breakpoints } = useHead(store);
  const [picked, setPicked] = useState("");
  const place = where.find((each, index) => keyOf(each, index) === picked) ?? innermost(where);
  // without a frame the engine stands nowhere: its source as it was recorded is still worth reading
  const file = place?.file ?? "";
  const known = useRef(new Map<string, Source>()).current;
  const { value, error } = useAsked<Source>(store, file, known.has(file) ? null : { cmd: "source", file });
  if (value) known.set(value.file, value);
  const source = known.get(file);
  return (
    <Panel name="source" label="Engine source">
      <Frames where={where} place={place} pick={setPicked} />
      <Refusal text={source ? "" : error} />
      {source?.text ? (
        <Lines store={store} source={source} place={place} breakpoints={breakpoints} />
      ) : (
        !error && <Note>{source ? "No source was recorded." : "Asking for the source…"}</Note>
      )}
      {place ? <Locals place={place} /> : <Note>The engine does not run; this is its source as it was recorded.</Note>}
    </Panel>
  );
}

/** Where a step was made: the last frame of the first lane that is the engine's own, no around. */
function innermost(where: Place[]): Place | undefined {
  const lane = where[0]?.lane;
  return where.filter((place) => place.lane === lane && !place.around).pop() ?? where[where.length - 1];
}

function keyOf(place: Place, index: number): string {
  return `${index} ${place.lane} ${place.function}`;
}

function Frames(props: { where: Place[]; place: Place | undefined; pick: (key: string) => void }): JSX.Element {
  const { where, place, pick } = props;
  const lanes = [...new Set(where.map((each) => each.lane))];
  return (
    <nav aria-label="Frames of the engine, outermost first">
      {lanes.map((lane) => (
        <ol key={lane} class="ak-breadcrumbs">
          {lane && <li class="ak-muted">lane {lane}</li>}
          {where.map((each, index) =>
            each.lane === lane ? (
              <li key={index} class={each.around ? "ak-around" : ""}>
                <Button aria-current={each === place ? "true" : undefined} onClick={() => pick(keyOf(each, index))}>
                  {each.around && <Dim>around </Dim>}
                  {each.function}
                  <Dim>:{each.line}</Dim>
                </Button>
              </li>
            ) : null,
          )}
        </ol>
      ))}
    </nav>
  );
}

interface LinesProps {
  store: Store;
  source: Source;
  place: Place | undefined;
  breakpoints: Breakpoint[];
}

function Lines({ store, source, place, breakpoints }: LinesProps): JSX.Element {
  const [tell, refused] = useTold(store);
  const [focus, setFocus] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const all = useMemo(() => lines(source.text.replace(/\n$/, "")), [source]);
  const lit = (place?.line ?? 0) - source.first;
  const from = Math.max(0, Math.min(lit, all.length - AROUND) - AROUND);
  const drawn = all.slice(from, Math.max(lit, 0) + 2 * AROUND);
  const stop = focus >= from && focus < from + drawn.length ? focus : Math.max(lit, from);
  useLayoutEffect(() => {
    setFocus(Math.max(0, lit));
    const row = box.current?.querySelector<HTMLElement>(".ak-current-line");
    if (row) show(box.current as HTMLElement, row);
  }, [source, lit]);

  const toggle = (line: number): void => {
    setFocus(line - source.first);
    const known = pointAt(breakpoints, source.file, line);
    tell(known ? { cmd: "unbreak", id: known.id } : { cmd: "break", kind: "line", value: String(line), file: source.file });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = moved(event.key, stop - from, drawn.length, "ArrowUp", "ArrowDown");
    if (to === undefined) return;
    event.preventDefault();
    setFocus(from + to);
    const row = box.current?.children[to + (from ? 1 : 0)] as HTMLElement;
    row.querySelector("button")?.focus({ preventScroll: true });
    show(box.current as HTMLElement, row);
  };
  return (
    <>
      <Refusal text={refused} />
      <div class="ak-lines" {...QUIET} role="group" aria-label={source.file || "Source"} ref={box} onKeyDown={onKeyDown}>
        {from > 0 && <div class="ak-gap">{count(from, "line")} above</div>}
        {drawn.map((tokens, index) => (
          <Line
            key={from + index}
            tokens={tokens}
            number={source.first + from + index}
            isLit={from + index === lit}
            isStop={from + index === stop}
            point={pointAt(breakpoints, source.file, source.first + from + index)}
            toggle={place && toggle}
          />
        ))}
        {from + drawn.length < all.length && <div class="ak-gap">{count(all.length - from - drawn.length, "line")} below</div>}
      </div>
    </>
  );
}

interface LineProps {
  tokens: Token[];
  number: number;
  isLit: boolean;
  isStop: boolean;
  point: Breakpoint | undefined;
  toggle: ((line: number) => void) | undefined;
}

function Line({ tokens, number, isLit, isStop, point, toggle }: LineProps): JSX.Element {
  // made once: a run that plays draws its head many times a second, and nothing of the text changes
  const code = useMemo(
    () => (
      <code>
        {tokens.map(([kind, text], index) =>
          kind ? (
            <span key={index} class={`ak-${kind}`}>
              {text}
            </span>
          ) : (
            text
          ),
        )}
      </code>
    ),
    [tokens],
  );
  const hits = point ? `, breakpoint${point.enabled ? "" : " switched off"}, ${count(point.hits, "hit")}` : "";
  return (
    <div class={isLit ? "ak-current-line" : undefined} aria-current={isLit ? "step" : undefined}>
      <Button
        class={point ? `ak-breakpoint${point.enabled ? "" : " ak-disabled"}` : undefined}
        aria-label={`Line ${number}${hits}`}
        aria-pressed={point !== undefined}
        title={point ? count(point.hits, "hit") : "Pause here"}
        tabIndex={isStop ? 0 : -1}
        disabled={!toggle}
        onClick={() => toggle?.(number)}
      >
        {point && point.hits > 0 && <span class="ak-hits">{point.hits}</span>}
        {number}
      </Button>
      {code}
    </div>
  );
}

/** Scrolls the box and nothing around it: `scrollIntoView` would move the notebook. */
function show(box: HTMLElement, row: HTMLElement): void {
  const top = row.offsetTop;
  if (top >= box.scrollTop && top + row.offsetHeight <= box.scrollTop + box.clientHeight) return;
  box.scrollTop = top - box.clientHeight / 2;
}

function Locals({ place }: { place: Place }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div class="ak-locals" tabIndex={0} role="region" aria-label="Local variables" {...QUIET}>
      <table>
        <caption>
          Local variables of <code>{place.function}</code>
        </caption>
        <tbody>
          {place.locals.map(([name, repr]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{repr}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!place.locals.length && <Note>None yet.</Note>}
    </div>
  );
}

function pointAt(points: Breakpoint[], file: string, line: number): Breakpoint | undefined {
  return points.find((point) => point.kind === "line" && point.value === String(line) && file.endsWith(point.file ?? ""));
}
