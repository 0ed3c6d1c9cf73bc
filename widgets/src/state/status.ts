/** The status of a run in words. */

import type { Head, Status } from "../protocol";
import type { Store } from "./store";

export type Tone = "active" | "idle" | "attention" | "success" | "error";

interface StatusText {
  label: string;
  tone: Tone;
  /** A sentence for the tooltip. */
  description: string;
}

const STATUSES: { [status in Status]: StatusText } = {
  running: {
    label: "running",
    tone: "active",
    description: "Running in the background. You can run other cells in the meantime.",
  },
  pausing: {
    label: "pausing…",
    tone: "active",
    description: "The run will pause when the call in progress has finished.",
  },
  stopping: { label: "stopping…", tone: "active", description: "Cancelling the calls in progress." },
  paused: { label: "paused", tone: "idle", description: "Click Step or Run to continue." },
  diverged: {
    label: "differs",
    tone: "attention",
    description: "The engine does something else than was recorded. Step or Run makes a branch; the recording stays.",
  },
  waiting: { label: "waiting for you", tone: "attention", description: "The run needs your decision or answer." },
  failed: { label: "failed", tone: "error", description: "A step raised an error. Retry it, or edit an entry." },
  stopped: { label: "stopped", tone: "idle", description: "Click Step or Run to continue from here." },
  done: { label: "done", tone: "success", description: "The run has finished with an answer." },
  readonly: { label: "read-only", tone: "idle", description: "Nothing about this run can be changed." },
};

export function statusOf(store: Store): StatusText {
  const { connectionState, ready, head } = store;
  if (connectionState === "lost")
    return { label: "kernel gone", tone: "error", description: "The kernel was restarted or has died." };
  if (connectionState === "unresponsive")
    return { label: "not responding", tone: "error", description: "The kernel is busy or has died." };
  if (connectionState === "unanswered")
    return { label: "no response", tone: "error", description: "The kernel has not responded yet." };
  if (!ready) return { label: "connecting…", tone: "idle", description: "Loading the run from the kernel." };
  if (head.status === "running" && store.isExecuting("pause")) return STATUSES.pausing;
  if (head.held) return elsewhere(head.held);
  return STATUSES[head.status] ?? { label: String(head.status), tone: "idle", description: "" };
}

/** The status of a run that another process holds. */
function elsewhere({ by, status }: NonNullable<Head["held"]>): StatusText {
  const { label, tone } = STATUSES[status] ?? { label: String(status), tone: "idle" };
  const words = status === "waiting" ? "waiting for a person" : label;
  return { label: `${words}, elsewhere`, tone, description: `Held by another process: ${by}.` };
}

/** Whether somebody drives the run at the moment, or a call is still in progress. */
export function isRunning({ head }: Store): boolean {
  return ["running", "pausing", "stopping"].includes(head.status);
}
