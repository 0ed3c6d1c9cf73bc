/** How far an experiment is, and the buttons that make it go on or stop. */

import type { JSX } from "preact";
import { ToolButton } from "../elements/controls";
import { count, formatNumber } from "../elements/format";
import { ErrorMessage, Note } from "../elements/text";
import { useStore } from "../state/useStore";
import type { TableProgress, TableStatus } from "../tableProtocol";
import type { TableStore } from "./tableStore";

const STATUS: { [status in TableStatus]: string } = {
  asks: "waits for your yes",
  running: "running",
  stopping: "stopping",
  stopped: "stopped",
  done: "done",
  broken: "broken",
};

export function Status({ store }: { store: TableStore }): JSX.Element {
  const progress = useStore(store, (s) => s.progress);
  const { name, cases, variants, repeats } = useStore(store, (s) => s.head);
  const isConnected = useStore(store, (s) => s.connectionState === "connected");
  const { status, done, all, question, problem } = progress;
  const begins = useStore(store, (s) => s.isExecuting("begin"));
  const stops = useStore(store, (s) => s.isExecuting("stop"));
  const sizes = [count(cases, "case"), count(variants.length, "variant"), count(repeats, "repeat")].join(" × ");
  const begin = (): void => void store.execute({ cmd: "begin", question });
  const label = beginLabel(progress);
  return (
    <div class="ak-e-table-head">
      <h2>
        <span class="ak-e-table-name">{name}</span>
        <span class={`ak-e-table-status ak-e-table-${status}`}>{STATUS[status]}</span>
      </h2>
      <p class="ak-muted">{sizes}</p>
      <div class="ak-e-table-bar">
        <progress max={all || 1} value={done} aria-label="Runs that are over" />
        <span>{progressText(progress)}</span>
        {status === "running" || status === "stopping" ? (
          <ToolButton
            label={status === "stopping" || stops ? "Stopping…" : "Stop"}
            title="Begin no more runs, and stop those that are being made; Go on continues them"
            disabled={status === "stopping" || stops || !isConnected}
            onClick={() => void store.execute({ cmd: "stop" })}
          />
        ) : (
          !question && label && <ToolButton label={label} disabled={begins || !isConnected} onClick={begin} />
        )}
      </div>
      {question && (
        <div class="ak-e-table-question" role="group" aria-label="Question">
          <p>{question}</p>
          <ToolButton label="Approve, and begin" class="ak-primary" disabled={begins || !isConnected} onClick={begin} />
        </div>
      )}
      {status === "stopped" && progress.rest_cost > 0 && (
        <Note>The rest will cost about {money(progress.rest_cost)}.</Note>
      )}
      {problem && <ErrorMessage text={problem} />}
    </div>
  );
}

/** Return what the button does that makes an experiment go on; "" if there is nothing to do. */
function beginLabel({ status, done, all, again, edited }: TableProgress): string {
  const missing = all - done;
  if (["running", "stopping", "broken"].includes(status)) return "";
  const parts = [
    missing && `Go on: ${count(missing, "run")} missing`,
    again && `Try again: ${formatNumber(again)} failed`,
    edited && `Score again: ${formatNumber(edited)} changed`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function progressText({ status, done, all, cached, running, cost, left }: TableProgress): string {
  const parts = [`${formatNumber(done)} of ${count(all, "run")}`];
  if (cached) parts.push(`${formatNumber(cached)} known before`);
  if (running && status !== "done") parts.push(`${formatNumber(running)} under way`);
  if (cost) parts.push(`${money(cost)} so far`);
  if (left !== null && status === "running") parts.push(`about ${duration(left)} left`);
  return parts.join(" · ");
}

export function money(cost: number): string {
  return `$${cost >= 0.1 ? cost.toFixed(2) : String(Number(cost.toPrecision(2)))}`;
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
