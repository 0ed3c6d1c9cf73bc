/** Where the thoughts of a tree are drawn: a column for each depth, a row for each leaf, a parent in the middle of its children. */

import type { Pictures } from "../protocol";

export type Thought = Pictures["tree"][number];

export interface Placed {
  thought: Thought;
  /** Column and row; a row is a fraction where a parent stands between its children. */
  depth: number;
  row: number;
  parent: Placed | undefined;
  children: Placed[];
}

/** Thoughts in the order of reading, each before its children. A name that comes twice, or a circle, is drawn once. */
export function layout(tree: Thought[]): { placed: Placed[]; rows: number; columns: number } {
  const nodes = new Map<string, Placed>();
  for (const thought of tree) {
    if (!nodes.has(thought.node)) nodes.set(thought.node, { thought, depth: 0, row: 0, parent: undefined, children: [] });
  }
  const roots: Placed[] = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.thought.parent);
    if (!parent || isAbove(node, parent)) roots.push(node);
    else {
      node.parent = parent;
      parent.children.push(node);
    }
  }
  const placed: Placed[] = [];
  // by hand and not by recursion: a chain of thoughts may be deeper than the stack
  const open = roots.reverse();
  for (let node = open.pop(); node; node = open.pop()) {
    node.depth = node.parent ? node.parent.depth + 1 : 0;
    placed.push(node);
    for (let index = node.children.length - 1; index >= 0; index--) open.push(node.children[index] as Placed);
  }
  let rows = 0;
  for (const node of placed) if (!node.children.length) node.row = rows++;
  for (const node of [...placed].reverse()) {
    const { children } = node;
    if (!children.length) continue;
    node.row = ((children[0] as Placed).row + (children[children.length - 1] as Placed).row) / 2;
  }
  return { placed, rows, columns: placed.reduce((most, node) => Math.max(most, node.depth + 1), 0) };
}

function isAbove(node: Placed, at: Placed | undefined): boolean {
  for (; at; at = at.parent) if (at === node) return true;
  return false;
}
