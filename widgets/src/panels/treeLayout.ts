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

/** Lay out thoughts, which the kernel has put in reading order: a parent that does not come before is ignored. */
export function layout(tree: Thought[]): { nodes: TreeNode[]; rows: number; columns: number } {
  const byName = new Map<string, TreeNode>();
  let rows = 0;
  for (const thought of tree) {
    const parent = byName.get(thought.parent);
    const node: TreeNode = { thought, depth: parent ? parent.depth + 1 : 0, row: 0, parent, children: [] };
    parent?.children.push(node);
    byName.set(thought.node, node);
  }
  const nodes = [...byName.values()];
  for (const node of nodes) if (!node.children.length) node.row = rows++;
  for (const node of [...nodes].reverse()) {
    const { children } = node;
    if (!children.length) continue;
    node.row = ((children[0] as TreeNode).row + (children[children.length - 1] as TreeNode).row) / 2;
  }
  return { nodes, rows, columns: nodes.reduce((max, node) => Math.max(max, node.depth + 1), 0) };
}
