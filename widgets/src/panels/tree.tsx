/** A tree of thoughts: scores, what was pruned, and the path that was chosen. */

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { layout, type Placed, type Thought } from "./layout";
import { Button, count, Dim, Meter, Note, QUIET } from "./parts";

/** How places become pixels. */
interface Shape {
  isOutline: boolean;
  left: (node: Placed) => number;
  top: (node: Placed) => number;
  width: string;
  height: number;
  whole: string;
}

/** Thoughts drawn at most, and from how many on the pruned ones begin hidden. */
const MOST = 1_000;
const MANY = 80;

/** What is wider or longer than this is an outline: a drawing is for what one sees at a glance. */
const ROWS = 14;
const NARROWEST = 118;
const WIDEST = 210;
const GAP = 30;

export function Tree({ tree, go }: { tree: Thought[]; go: (entry: number) => void }): JSX.Element {
  const pruned = tree.filter((thought) => thought.pruned).length;
  const [chosen, setShown] = useState<boolean>();
  const shown = chosen ?? tree.length <= MANY;
  const kept = useMemo(() => (shown ? tree : tree.filter((thought) => !thought.pruned)).slice(0, MOST), [tree, shown]);
  const left = tree.length - (shown ? 0 : pruned) - MOST;
  return (
    <section class="ak-progress-section" aria-label="Tree of thoughts">
      <h3>
        Thoughts <Dim>{`${tree.length}${pruned ? `, ${pruned} pruned` : ""}`}</Dim>
      </h3>
      {pruned > 0 && (
        <label class="ak-muted">
          <input type="checkbox" {...QUIET} checked={shown} onChange={() => setShown(!shown)} /> show the pruned ones
        </label>
      )}
      <Drawing tree={kept} go={go} />
      {left > 0 && <Note>{count(left, "more thought")} not drawn.</Note>}
    </section>
  );
}

function Drawing({ tree, go }: { tree: Thought[]; go: (entry: number) => void }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  const [at, setAt] = useState("");
  const { placed, rows, columns } = useMemo(() => layout(tree), [tree]);
  useLayoutEffect(() => {
    // the whole width and not what a scroll bar leaves of it: that would change with the shape, and the shape with it
    const measure = (): void => setRoom(box.current?.offsetWidth ?? 0);
    measure();
    const observer = new ResizeObserver(() => requestAnimationFrame(measure));
    observer.observe(box.current as HTMLElement);
    return () => observer.disconnect();
  }, []);
  const shape = shapeOf(placed, rows, columns, room - 24);
  const best = Math.max(...tree.map((thought) => thought.score ?? 0), 1e-9);
  const stop = Math.max(
    0,
    placed.findIndex((node) => node.thought.node === at),
  );
  const last = placed.findIndex((node) => isChosen(node) && node.parent && !node.children.some(isChosen));
  const focus = (index: number): void => {
    setAt((placed[index] as Placed).thought.node);
    box.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[index]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const node = placed[stop] as Placed;
    const to = {
      ArrowDown: placed[stop + 1],
      ArrowUp: placed[stop - 1],
      ArrowLeft: node.parent,
      ArrowRight: node.children[0],
      Home: placed[0],
      End: placed[placed.length - 1],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    focus(placed.indexOf(to));
  };
  const edges = placed.filter((node) => node.parent).sort((a, b) => Number(isChosen(a)) - Number(isChosen(b)));
  return (
    <>
      {last > ROWS && <Button onClick={() => focus(last)}>Go to the chosen one</Button>}
      <div class={`ak-tree ${shape.isOutline ? "ak-outline" : ""}`} {...QUIET} ref={box}>
        <div role="tree" aria-label="Thoughts" style={shape.whole} onKeyDown={onKeyDown}>
          <svg aria-hidden="true" width="100%" height="100%">
            {edges.map((node) => (
              <path key={node.thought.node} class={markOf(node.thought)} d={edge(shape, node.parent as Placed, node)} />
            ))}
          </svg>
          {placed.map((node, index) => (
            <Node
              key={node.thought.node}
              node={node}
              shape={shape}
              best={best}
              isStop={index === stop}
              go={() => {
                setAt(node.thought.node);
                go(node.thought.entry);
              }}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** Columns as wide as there is room for; one line a thought where that is too little, or the tree too long. */
function shapeOf(placed: Placed[], rows: number, columns: number, room: number): Shape {
  const width = Math.floor(Math.min(WIDEST, Math.max(NARROWEST, room / columns - GAP)));
  const wide = columns * (width + GAP) - GAP;
  if (rows <= ROWS && (room <= 0 || wide <= room)) {
    const top = (node: Placed): number => node.row * 72;
    const left = (node: Placed): number => node.depth * (width + GAP);
    return { isOutline: false, left, top, width: `${width}px`, height: 62, whole: `width:${wide}px;height:${rows * 72}px` };
  }
  const line = new Map(placed.map((node, index) => [node, index * 32]));
  const left = (node: Placed): number => Math.min(node.depth, 12) * 18;
  const top = (node: Placed): number => line.get(node) ?? 0;
  return { isOutline: true, left, top, width: "", height: 28, whole: `min-width:300px;height:${placed.length * 32}px` };
}

function edge({ isOutline, left, top, width, height }: Shape, from: Placed, to: Placed): string {
  const y = top(to) + height / 2;
  if (isOutline) return `M${left(from) + 9} ${top(from) + height}V${y}H${left(to)}`;
  const [x1, y1, x2] = [left(from) + Number.parseInt(width, 10), top(from) + height / 2, left(to)];
  const half = (x1 + x2) / 2;
  return `M${x1} ${y1}C${half} ${y1} ${half} ${y} ${x2} ${y}`;
}

function isChosen(node: Placed): boolean {
  return node.thought.chosen;
}

function markOf(thought: Thought): string {
  return thought.chosen ? "ak-chosen" : thought.pruned ? "ak-pruned" : "";
}

function Node(props: { node: Placed; shape: Shape; best: number; isStop: boolean; go: () => void }): JSX.Element {
  const { node, shape, best, isStop, go } = props;
  const { thought, parent } = node;
  const family = parent?.children ?? [node];
  const text = thought.text || thought.node;
  const state = thought.chosen ? "chosen" : thought.pruned ? "pruned" : "";
  const score = thought.score === null ? "" : String(+thought.score.toFixed(2));
  const [left, top] = [shape.left(node), shape.top(node)];
  return (
    <Button
      role="treeitem"
      class={`ak-node ${markOf(thought)}`}
      aria-level={node.depth + 1}
      aria-posinset={family.indexOf(node) + 1}
      aria-setsize={family.length}
      aria-selected={thought.chosen}
      aria-label={[text, score && `score ${score}`, state].filter(Boolean).join(", ")}
      title={text}
      tabIndex={isStop ? 0 : -1}
      style={`left:${left}px;top:${top}px;width:${shape.width || `calc(100% - ${left}px)`};height:${shape.height}px`}
      onClick={go}
    >
      <span class="ak-node-text">{text}</span>
      <span class="ak-node-foot">
        {score && <Meter part={(thought.score ?? 0) / best} />}
        <b>{score}</b> {state && <em>{thought.chosen ? "✓ chosen" : "pruned"}</em>}
      </span>
    </Button>
  );
}
