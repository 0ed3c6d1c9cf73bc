/** What run this is and how it stands, in words. */

import type { JSX } from "preact";
import { count, thousands } from "./panels/parts";
import { said } from "./status";
import type { Store } from "./store";
import { useOf } from "./use";

const NAMED: [field: "engine" | "model" | "dialect", title: string][] = [
  ["engine", "Engine: the loop"],
  ["model", "Model"],
  ["dialect", "How the model asks for tools"],
];

export function Header({ store }: { store: Store }): JSX.Element {
  const head = useOf(store, (s) => s.head);
  const total = useOf(store, (s) => s.total);
  useOf(store, (s) => s.link);
  useOf(store, (s) => s.ready);
  const { word, tone, why } = said(store);
  return (
    <div class="ak-header">
      <span class={`ak-status ak-tone-${tone}`} role="status" title={why}>
        <i aria-hidden="true" />
        {word}
      </span>
      <h2 class="ak-task" title={head.task}>
        {head.task || "agentkit"}
      </h2>
      <p class="ak-run-info">
        {head.variable && <code title="The variable that holds this run in Python">{head.variable}</code>}
        {NAMED.map(([field, title]) => head[field] && <span title={title}>{head[field]}</span>)}
      </p>
      <p class="ak-run-totals">
        {totals(store, Math.max(0, total - 1)).map((text) => (
          <span key={text}>{text}</span>
        ))}
      </p>
    </div>
  );
}

function totals({ head, ready }: Store, steps: number): string[] {
  if (!ready) return [];
  const { usage } = head;
  const found = [count(steps, "step"), count(head.model_calls, "model call"), count(head.tool_calls, "tool call")];
  const tokens = usage.input + usage.output;
  if (tokens) found.push(`${thousands(tokens)} tokens`);
  if (usage.cost > 0) found.push(`$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`);
  return found;
}
