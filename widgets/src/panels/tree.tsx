/** A tree of thoughts: scores, pruned thoughts, and the chosen path. */

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, Checkbox, SUPPRESS_SHORTCUTS } from "../elements/controls";
import { count } from "../elements/format";
import { Meter, Muted, Note } from "../elements/text";
import { layout, type Thought, type TreeNode } from "./treeLayout";

/** The most thoughts that are drawn. */
const MAX_THOUGHTS = 1_000;
/** In a tree with more thoughts than this, the pruned ones are hidden at first. */
const HIDE_PRUNED_ABOVE = 80;

/** A tree with more rows than this, or wider than the panel, is drawn as an outline. */
const MAX_ROWS = 14;
const MIN_WIDTH = 118;
const MAX_WIDTH = 210;
const COLUMN_GAP = 30;
const NODE_HEIGHT = 62;
const ROW_HEIGHT = 72;
const OUTLINE_NODE_HEIGHT = 28;
const OUTLINE_ROW_HEIGHT = 32;
const OUTLINE_INDENT = 18;
const MAX_INDENTS = 12;
/** The padding of the panel, left and right. */
const PADDING = 24;

interface TreeProps {
  tree: Thought[];
  goTo: (entry: number) => void;
}

export function Tree({ tree, goTo }: TreeProps): JSX.Element {
  const pruned = tree.filter((thought) => thought.pruned).length;
  const [choice, setChoice] = useState<boolean>();
  const showPruned = choice ?? tree.length <= HIDE_PRUNED_ABOVE;
  const drawn = useMemo(
    () => tree.filter((thought) => showPruned || !thought.pruned).slice(0, MAX_THOUGHTS),
    [tree, showPruned],
  );
  const omitted = tree.length - (showPruned ? 0 : pruned) - drawn.length;
  return (
    <section class="ak-progress-section" aria-label="Tree of thoughts">
      <h3>
        Thoughts <Muted>{`${tree.length}${pruned ? `, ${pruned} pruned` : ""}`}</Muted>
      </h3>
      {pruned > 0 && (
        <Checkbox checked={showPruned} onChange={setChoice}>
          Show pruned thoughts
        </Checkbox>
      )}
      <Drawing tree={drawn} goTo={goTo} />
      {omitted > 0 && <Note>{count(omitted, "more thought")} not shown.</Note>}
    </section>
  );
}

function Drawing({ tree, goTo }: TreeProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [focused, setFocused] = useState("");
  const { nodes, rows, columns } = useMemo(() => layout(tree), [tree]);
  useLayoutEffect(() => {
    // measure with the scroll bar: its presence depends on the layout, which depends on this width
    const measure = (): void => setWidth(box.current?.offsetWidth ?? 0);
    measure();
    const observer = new ResizeObserver(() => requestAnimationFrame(measure));
    observer.observe(box.current as HTMLElement);
    return () => observer.disconnect();
  }, []);
  const geometry = geometryOf(nodes, rows, columns, width - PADDING);
  const bestScore = Math.max(...tree.map(({ score }) => score ?? 0), 1e-9);
  const focusedIndex = nodes.findIndex((node) => node.thought.node === focused);
  const tabStop = Math.max(0, focusedIndex);
  const chosenLeaf = nodes.findIndex((node) => isChosen(node) && node.parent && !node.children.some(isChosen));
  const focus = (index: number): void => {
    setFocused((nodes[index] as TreeNode).thought.node);
    box.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[index]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const node = nodes[tabStop] as TreeNode;
    const target = {
      ArrowDown: nodes[tabStop + 1],
      ArrowUp: nodes[tabStop - 1],
      ArrowLeft: node.parent,
      ArrowRight: node.children[0],
      Home: nodes[0],
      End: nodes[nodes.length - 1],
    }[event.key];
    if (!target) return;
    event.preventDefault();
    focus(nodes.indexOf(target));
  };
  // the chosen path is drawn last, on top
  const children = nodes.filter((node) => node.parent).sort((a, b) => Number(isChosen(a)) - Number(isChosen(b)));
  return (
    <>
      {chosenLeaf > MAX_ROWS && <Button onClick={() => focus(chosenLeaf)}>Go to chosen thought</Button>}
      <div class={`ak-tree ${geometry.isOutline ? "ak-outline" : ""}`} {...SUPPRESS_SHORTCUTS} ref={box}>
        <div role="tree" aria-label="Thoughts" style={geometry.size} onKeyDown={onKeyDown}>
          <svg aria-hidden="true" width="100%" height="100%">
            {children.map((node) => (
              <path
                key={node.thought.node}
                class={stateClass(node.thought)}
                d={edgePath(geometry, node.parent as TreeNode, node)}
              />
            ))}
          </svg>
          {nodes.map((node, index) => (
            <Node
              key={node.thought.node}
              node={node}
              geometry={geometry}
              bestScore={bestScore}
              isTabStop={index === tabStop}
              onClick={() => {
                setFocused(node.thought.node);
                goTo(node.thought.entry);
              }}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** Where nodes are drawn, in pixels. */
interface Geometry {
  isOutline: boolean;
  left: (node: TreeNode) => number;
  top: (node: TreeNode) => number;
  /** The width of a node; 0 if it extends to the right edge. */
  nodeWidth: number;
  nodeHeight: number;
  /** The size of the whole drawing, as CSS. */
  size: string;
}

/** Choose columns as wide as fit; or an outline with a line per thought, if the tree is too wide or too long. */
function geometryOf(nodes: TreeNode[], rows: number, columns: number, available: number): Geometry {
  const nodeWidth = Math.floor(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, available / columns - COLUMN_GAP)));
  const width = columns * (nodeWidth + COLUMN_GAP) - COLUMN_GAP;
  if (rows <= MAX_ROWS && (available <= 0 || width <= available)) {
    return {
      isOutline: false,
      left: (node) => node.depth * (nodeWidth + COLUMN_GAP),
      top: (node) => node.row * ROW_HEIGHT,
      nodeWidth,
      nodeHeight: NODE_HEIGHT,
      size: `width:${width}px;height:${rows * ROW_HEIGHT}px`,
    };
  }
  const tops = new Map(nodes.map((node, index) => [node, index * OUTLINE_ROW_HEIGHT]));
  return {
    isOutline: true,
    left: (node) => Math.min(node.depth, MAX_INDENTS) * OUTLINE_INDENT,
    top: (node) => tops.get(node) ?? 0,
    nodeWidth: 0,
    nodeHeight: OUTLINE_NODE_HEIGHT,
    size: `min-width:300px;height:${nodes.length * OUTLINE_ROW_HEIGHT}px`,
  };
}

/** Return the line from a parent to its child: a curve between columns, an elbow in an outline. */
function edgePath({ isOutline, left, top, nodeWidth, nodeHeight }: Geometry, from: TreeNode, to: TreeNode): string {
  const y = top(to) + nodeHeight / 2;
  if (isOutline) return `M${left(from) + OUTLINE_INDENT / 2} ${top(from) + nodeHeight}V${y}H${left(to)}`;
  const [x1, y1, x2] = [left(from) + nodeWidth, top(from) + nodeHeight / 2, left(to)];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y} ${x2} ${y}`;
}

function isChosen(node: TreeNode): boolean {
  return node.thought.chosen;
}

function stateClass(thought: Thought): string {
  return thought.chosen ? "ak-chosen" : thought.pruned ? "ak-pruned" : "";
}

interface NodeProps {
  node: TreeNode;
  geometry: Geometry;
  bestScore: number;
  isTabStop: boolean;
  onClick: () => void;
}

function Node({ node, geometry, bestScore, isTabStop, onClick }: NodeProps): JSX.Element {
  const { thought, parent } = node;
  const siblings = parent?.children ?? [node];
  const text = thought.text || thought.node;
  const state = thought.chosen ? "chosen" : thought.pruned ? "pruned" : "";
  const score = thought.score === null ? "" : String(+thought.score.toFixed(2));
  const [left, top] = [geometry.left(node), geometry.top(node)];
  const width = geometry.nodeWidth ? `${geometry.nodeWidth}px` : `calc(100% - ${left}px)`;
  return (
    <Button
      role="treeitem"
      class={`ak-node ${stateClass(thought)}`}
      aria-level={node.depth + 1}
      aria-posinset={siblings.indexOf(node) + 1}
      aria-setsize={siblings.length}
      aria-selected={thought.chosen}
      title={text}
      tabIndex={isTabStop ? 0 : -1}
      style={`left:${left}px;top:${top}px;width:${width};height:${geometry.nodeHeight}px`}
      onClick={onClick}
    >
      <span class="ak-node-text">{text}</span>
      <span class="ak-node-foot">
        {score && <span class="ak-sr-only">, score </span>}
        {score && <Meter value={(thought.score ?? 0) / bestScore} />}
        <b>{score}</b>
        {state && <span class="ak-sr-only">, </span>}
        {state && (
          <em>
            {thought.chosen && <span aria-hidden="true">✓ </span>}
            {state}
          </em>
        )}
      </span>
    </Button>
  );
}
