/** The layout of a tree of thoughts: a column per depth, a row per leaf, and each parent centered on its children. */

import type { Pictures } from "../protocol";

export type Thought = Pictures["tree"][number];

export interface TreeNode {
  thought: Thought;
  /** The column. */
  depth: number;
  /** The row: a fraction where a parent is centered on its children. */
  row: number;
  parent: TreeNode | undefined;
  children: TreeNode[];
}

/** Return the nodes in reading order, each before its children. Duplicate names and cycles are drawn once. */
export function layout(tree: Thought[]): { nodes: TreeNode[]; rows: number; columns: number } {
  const byName = new Map<string, TreeNode>();
  for (const thought of tree) {
    if (!byName.has(thought.node))
      byName.set(thought.node, { thought, depth: 0, row: 0, parent: undefined, children: [] });
  }
  const roots: TreeNode[] = [];
  for (const node of byName.values()) {
    const parent = byName.get(node.thought.parent);
    if (!parent || isAncestor(node, parent)) roots.push(node);
    else {
      node.parent = parent;
      parent.children.push(node);
    }
  }
  const nodes: TreeNode[] = [];
  // a stack instead of recursion: a chain of thoughts may be deeper than the call stack
  const stack = roots.reverse();
  for (let node = stack.pop(); node; node = stack.pop()) {
    node.depth = node.parent ? node.parent.depth + 1 : 0;
    nodes.push(node);
    for (const child of [...node.children].reverse()) stack.push(child);
  }
  let rows = 0;
  for (const node of nodes) if (!node.children.length) node.row = rows++;
  for (const node of [...nodes].reverse()) {
    const { children } = node;
    if (!children.length) continue;
    node.row = ((children[0] as TreeNode).row + (children[children.length - 1] as TreeNode).row) / 2;
  }
  return { nodes, rows, columns: nodes.reduce((max, node) => Math.max(max, node.depth + 1), 0) };
}

/** Whether a node is another one, or above it. */
function isAncestor(node: TreeNode, other: TreeNode | undefined): boolean {
  for (let at = other; at; at = at.parent) if (at === node) return true;
  return false;
}
