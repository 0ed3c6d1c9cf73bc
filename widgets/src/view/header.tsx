/** Which run this is, its status, and its totals. */

import type { JSX } from "preact";
import { count, formatCost, formatNumber } from "../elements/format";
import type { Head } from "../protocol";
import { statusOf } from "../state/status";
import type { Store } from "../state/store";
import { useHead, useStore } from "../state/useStore";

const INFO: [field: "engine" | "model" | "dialect", title: string][] = [
  ["engine", "Engine"],
  ["model", "Model"],
  ["dialect", "Dialect: how the model calls tools"],
];

export function Header({ store }: { store: Store }): JSX.Element {
  const head = useHead(store);
  const total = useStore(store, (s) => s.total);
  const ready = useStore(store, (s) => s.ready);
  useStore(store, (s) => statusOf(s).label);
  const { label, tone, description } = statusOf(store);
  return (
    <div class="ak-header">
      <span class={`ak-status ak-tone-${tone}`} role="status" title={description}>
        <i aria-hidden="true" />
        {label}
      </span>
      <h2 class="ak-task" title={head.task}>
        {head.forked && (
          <span class="ak-tag" title={`Forked from run ${head.forked.run}`}>
            fork from entry {head.forked.n}
          </span>
        )}{" "}
        {head.task || "agentkit"}
      </h2>
      <p class="ak-run-info">
        {head.variable && <code title="The Python variable that holds this run">{head.variable}</code>}
        {INFO.map(([field, title]) => head[field] && <span title={title}>{head[field]}</span>)}
      </p>
      <p class="ak-run-totals">
        {ready && head.branches > 1 && <span title={allBranches(head)}>this branch</span>}
        {ready && totals(head, Math.max(0, total - 1)).map((text) => <span key={text}>{text}</span>)}
      </p>
    </div>
  );
}

/** What the run has done on all branches together, which is what its budget counts. */
function allBranches({ spent, branches }: Head): string {
  const calls = `${count(spent.model_calls, "model call")}, ${count(spent.tool_calls, "tool call")}`;
  return `The counts are those of this branch. On all ${branches} branches, this run made ${calls}.`;
}

function totals({ usage, model_calls, tool_calls }: Head, steps: number): string[] {
  const texts = [count(steps, "step"), count(model_calls, "model call"), count(tool_calls, "tool call")];
  const tokens = usage.input + usage.output;
  if (tokens) texts.push(`${formatNumber(tokens)} tokens`);
  if (usage.cost > 0) texts.push(formatCost(usage.cost));
  return texts;
}
