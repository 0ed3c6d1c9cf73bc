/**
 * The source of the engine while it runs: its frames, the current line, breakpoints, and the local variables of a
 * frame.
 */

import { Component, type JSX } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Tokens } from "../elements/code";
import { type Token, tokenizeLines } from "../elements/codeTokens";
import { Button, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import { indexAfterKey } from "../elements/tabs";
import { ErrorMessage, Muted, Note } from "../elements/text";
import { ValueTree } from "../elements/valueTree";
import type { Breakpoint, EngineFrame, Moment, SourceFile } from "../protocol";
import type { Store } from "../state/store";
import { useCommand, useHead, useQuery, useStore } from "../state/useStore";
import { useKeptInSight } from "./inSight";
import { Panel } from "./panel";

/** How many lines to draw before and after the current one; a file may have thousands. */
const CONTEXT = 250;

interface SourceProps {
  store: Store;
  /** The step of the past that is shown instead of now. */
  moment?: Moment | undefined;
}

export function SourcePanel({ store, moment }: SourceProps): JSX.Element {
  const { where: live, breakpoints } = useHead(store);
  const where: EngineFrame[] = moment?.where ?? live;
  const [selected, setSelected] = useState("");
  const frame =
    where.find((each, index) => frameKey(each, index) === selected) ?? (moment ? stepFrame(where) : innermost(where));
  // an engine that is not running has no frame: the empty name stands for its source as recorded
  const file = frame?.file ?? "";
  const loaded = useRef(new Map<string, SourceFile>()).current;
  const { value, error } = useQuery(store, file, loaded.has(file) ? null : { cmd: "source", file });
  if (value) loaded.set(value.file, value);
  const source = loaded.get(file);
  return (
    <Panel name="source" label="Engine source">
      {moment && <Then store={store} moment={moment} />}
      <Frames frames={where} current={frame} onSelect={setSelected} />
      <ErrorMessage text={source ? "" : error} />
      {source?.text ? (
        <Lines store={store} source={source} frame={frame} breakpoints={breakpoints} isPast={!!moment} />
      ) : (
        !error && <Note>{source ? "No source was recorded." : "Loading the source…"}</Note>
      )}
      {frame ? (
        <Variables store={store} frame={frame} position={where.indexOf(frame)} at={moment?.entry ?? 0} />
      ) : (
        !moment && <Note>The engine is not running. This is its source as recorded.</Note>
      )}
    </Panel>
  );
}

/** Which step of the past is shown, or why it cannot be. */
function Then({ store, moment: { entry, where, problem } }: { store: Store; moment: Moment }): JSX.Element {
  const card = useStore(store, (s) => s.trace.find(entry));
  const step = card?.n ? `step ${card.n}` : "the task";
  if (problem) return <Note>{`The variables at ${step} cannot be shown: ${problem}.`}</Note>;
  if (where.length) return <Note>{`As it was at ${step}, before its result.`}</Note>;
  return <Note>{card?.kind === "begin" ? "The engine had not begun." : `The engine had returned at ${step}.`}</Note>;
}

/** Return the last frame of the first lane that belongs to an engine and not to an around. */
function innermost(frames: EngineFrame[]): EngineFrame | undefined {
  const lane = frames[0]?.lane;
  return frames.filter((frame) => frame.lane === lane && !frame.around).pop() ?? frames[frames.length - 1];
}

/** Return the frame that yielded the step of a moment: the last one, if it is not an around. */
function stepFrame(frames: EngineFrame[]): EngineFrame | undefined {
  return frames.filter((frame) => !frame.around).pop() ?? frames[frames.length - 1];
}

function frameKey(frame: EngineFrame, index: number): string {
  return `${index} ${frame.lane} ${frame.function}`;
}

interface FramesProps {
  frames: EngineFrame[];
  current: EngineFrame | undefined;
  onSelect: (key: string) => void;
}

function Frames({ frames, current, onSelect }: FramesProps): JSX.Element {
  const lanes = [...new Set(frames.map(({ lane }) => lane))];
  return (
    <nav aria-label="Call stack of the engine, outermost frame first">
      {lanes.map((lane) => (
        <ol key={lane} class="ak-breadcrumbs">
          {lane && (
            <li class="ak-muted" title={`Lane ${lane}`}>
              {frames.find((frame) => frame.lane === lane)?.lane_text || lane}
            </li>
          )}
          {frames.map((frame, index) =>
            frame.lane === lane ? (
              <li key={index} class={frame.around ? "ak-around" : ""}>
                <Button
                  aria-current={frame === current ? "true" : undefined}
                  title={`${frame.around ? "Around " : ""}${frame.function}, line ${frame.line}`}
                  onClick={() => onSelect(frameKey(frame, index))}
                >
                  {frame.does || frame.function}
                  {!frame.does && <Muted>, line {frame.line}</Muted>}
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
  source: SourceFile;
  frame: EngineFrame | undefined;
  /** Whether the current line is that of a step of the past. */
  isPast: boolean;
  breakpoints: Breakpoint[];
}

function Lines({ store, source, frame, isPast, breakpoints }: LinesProps): JSX.Element {
  const [execute, error] = useCommand(store);
  const [focused, setFocused] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => tokenizeLines(source.text.replace(/\n$/, "")), [source]);
  const current = (frame?.line ?? 0) - source.first;
  const from = Math.max(0, Math.min(current, lines.length - CONTEXT) - CONTEXT);
  const drawn = lines.slice(from, Math.max(current, 0) + 2 * CONTEXT);
  const below = lines.length - from - drawn.length;
  const tabStop = focused >= from && focused < from + drawn.length ? focused : Math.max(current, from);
  useLayoutEffect(() => setFocused(Math.max(0, current)), [source, current]);
  useKeptInSight(box, ".ak-current-line", `${source.file} ${current}`);

  const latest = useRef({ source, breakpoints });
  latest.current = { source, breakpoints };
  const toggle = useCallback((line: number): void => {
    const { source, breakpoints } = latest.current;
    setFocused(line - source.first);
    const breakpoint = breakpointAt(breakpoints, source.file, line);
    if (breakpoint) void execute({ cmd: "unbreak", id: breakpoint.id });
    else void execute({ cmd: "break", kind: "line", value: String(line), file: source.file });
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = indexAfterKey(event.key, tabStop - from, drawn.length, "ArrowUp", "ArrowDown");
    if (index === undefined) return;
    event.preventDefault();
    setFocused(from + index);
    const row = box.current?.children[index + (from ? 1 : 0)] as HTMLElement;
    row.querySelector("button")?.focus({ preventScroll: true });
    scrollTo(box.current as HTMLElement, row);
  };
  return (
    <>
      <ErrorMessage text={error} />
      <div
        class={isPast ? "ak-lines ak-past" : "ak-lines"}
        {...SUPPRESS_SHORTCUTS}
        role="group"
        aria-label={source.file || "Source"}
        tabIndex={frame ? undefined : 0} // its buttons are disabled then, and it must be reachable to scroll
        ref={box}
        onKeyDown={onKeyDown}
      >
        {from > 0 && <div class="ak-gap">{count(from, "line")} above</div>}
        {drawn.map((tokens, index) => (
          <Line
            key={from + index}
            tokens={tokens}
            number={source.first + from + index}
            isCurrent={from + index === current}
            isTabStop={from + index === tabStop}
            breakpoint={breakpointAt(breakpoints, source.file, source.first + from + index)}
            onToggle={frame && toggle}
          />
        ))}
        {below > 0 && <div class="ak-gap">{count(below, "line")} below</div>}
      </div>
    </>
  );
}

interface LineProps {
  tokens: Token[];
  number: number;
  isCurrent: boolean;
  isTabStop: boolean;
  breakpoint: Breakpoint | undefined;
  onToggle: ((line: number) => void) | undefined;
}

/** Redrawn only when it changes: there are hundreds of lines, and a playing run changes many times a second. */
class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    const now = this.props;
    return (
      next.tokens !== now.tokens ||
      next.number !== now.number ||
      next.isCurrent !== now.isCurrent ||
      next.isTabStop !== now.isTabStop ||
      next.onToggle !== now.onToggle ||
      next.breakpoint?.id !== now.breakpoint?.id ||
      next.breakpoint?.hits !== now.breakpoint?.hits ||
      next.breakpoint?.enabled !== now.breakpoint?.enabled
    );
  }

  override render({ tokens, number, isCurrent, isTabStop, breakpoint, onToggle }: LineProps): JSX.Element {
    return (
      <div class={isCurrent ? "ak-current-line" : undefined} aria-current={isCurrent ? "step" : undefined}>
        <Button
          class={breakpoint && (breakpoint.enabled ? "ak-breakpoint" : "ak-breakpoint ak-disabled")}
          aria-label={lineLabel(number, breakpoint)}
          aria-pressed={breakpoint !== undefined}
          title={breakpoint ? `Remove breakpoint (${count(breakpoint.hits, "hit")})` : "Add breakpoint"}
          tabIndex={isTabStop ? 0 : -1}
          disabled={!onToggle}
          onClick={() => onToggle?.(number)}
        >
          {breakpoint && breakpoint.hits > 0 && <span class="ak-hits">{breakpoint.hits}</span>}
          {number}
        </Button>
        <code>
          <Tokens tokens={tokens} />
        </code>
      </div>
    );
  }
}

function lineLabel(number: number, breakpoint: Breakpoint | undefined): string {
  if (!breakpoint) return `Line ${number}`;
  return `Line ${number}, ${breakpoint.enabled ? "" : "disabled "}breakpoint, ${count(breakpoint.hits, "hit")}`;
}

/** Scroll a row into view within its box only: `scrollIntoView` would scroll the notebook too. */
function scrollTo(box: HTMLElement, row: HTMLElement): void {
  const top = row.offsetTop;
  if (top >= box.scrollTop && top + row.offsetHeight <= box.scrollTop + box.clientHeight) return;
  box.scrollTop = top - box.clientHeight / 2;
}

interface LocalsProps {
  store: Store;
  frame: EngineFrame;
  /** Its position in `where`. */
  position: number;
  /** The entry at whose step it is looked at; 0 for now. */
  at: number;
  /** Return what a variable was before the last step; undefined if it has not changed. */
  changed: (name: string, mark: string) => string | undefined;
}

/** The variables of a frame now, or of one at a moment of the past, which brings what they were before. */
function Variables(props: Omit<LocalsProps, "changed">): JSX.Element {
  const frame: EngineFrame & { before?: { [name: string]: string } } = props.frame;
  const { before } = frame;
  return before ? <Locals {...props} changed={(name) => before[name]} /> : <LiveLocals {...props} />;
}

function LiveLocals(props: Omit<LocalsProps, "changed">): JSX.Element {
  const before = useBefore(props.store, props.frame);
  return <Locals {...props} changed={(name, mark) => changeOf(before, name, mark)} />;
}

function Locals({ store, frame, position, at, changed }: LocalsProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <div class="ak-locals ak-json" tabIndex={0} role="region" aria-label="Local variables" {...SUPPRESS_SHORTCUTS}>
      <p>
        Local variables of <code>{frame.function}</code>
      </p>
      {frame.locals.map(([name, value, mark]) => (
        <ValueTree
          key={`${frame.file} ${frame.function} ${name}`}
          name={name}
          value={value}
          version={`${at} ${mark}`}
          before={changed(name, mark)}
          open={(path, first, order) =>
            store.execute({
              cmd: "value",
              frame: position,
              function: frame.function,
              name,
              path,
              first,
              order: order ?? null,
              ...(at ? { at } : {}),
            })
          }
        />
      ))}
      {!frame.locals.length && <Note>None yet.</Note>}
    </div>
  );
}

type Locals = EngineFrame["locals"];

/** Return the variables of a frame as they were before the last step; undefined if it was not there. */
function useBefore(store: Store, frame: EngineFrame): Locals | undefined {
  const key = `${frame.lane} ${frame.file} ${frame.function}`;
  const last = useStore(store, (s) => `${s.total} ${s.cards[s.total - 1]?.id ?? ""}`);
  const seen = useRef(new Map<string, { step: string; now: Locals; before: Locals | undefined }>()).current;
  const known = seen.get(key);
  if (!known) seen.set(key, { step: last, now: frame.locals, before: undefined });
  else if (known.step !== last) seen.set(key, { step: last, now: frame.locals, before: known.now });
  else known.now = frame.locals;
  return seen.get(key)?.before;
}

/** Return what a variable was before, "" if it is new, or undefined if it has not changed. */
export function changeOf(before: Locals | undefined, name: string, mark: string): string | undefined {
  if (!before) return undefined;
  const old = before.find(([other]) => other === name);
  if (!old) return "";
  return old[2] === mark ? undefined : old[1].text;
}

function breakpointAt(breakpoints: Breakpoint[], file: string, line: number): Breakpoint | undefined {
  return breakpoints.find(
    (point) => point.kind === "line" && point.value === String(line) && file.endsWith(point.file ?? ""),
  );
}
