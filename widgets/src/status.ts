/** How a run stands, in words; and which verbs make sense then. */

import type { Verb } from "./keys";
import type { Status } from "./protocol";
import type { Store } from "./store";

export type Tone = "active" | "idle" | "attention" | "success" | "error";

interface Said {
  word: string;
  tone: Tone;
  /** A sentence for who points at the word. */
  why: string;
}

const STATUS: { [status in Status]: Said } = {
  running: { word: "running", tone: "active", why: "It goes on in the background; other cells can be run meanwhile." },
  pausing: { word: "pausing…", tone: "active", why: "A call is still out. It ends first and is recorded, then the run pauses." },
  stopping: { word: "stopping…", tone: "active", why: "What can be cancelled is being cancelled." },
  paused: { word: "paused", tone: "idle", why: "Nothing happens until you step or run." },
  waiting: { word: "waiting for you", tone: "attention", why: "It cannot go on without a decision or an answer." },
  failed: { word: "failed", tone: "error", why: "A step raised an error. It can be tried again, or edited." },
  stopped: { word: "stopped", tone: "idle", why: "Run or Step goes on from here." },
  done: { word: "done", tone: "success", why: "The run has its answer." },
  readonly: { word: "read only", tone: "idle", why: "Something that the run was made of is missing here." },
};

export function said({ link, ready, head }: Store): Said {
  if (link === "gone") return { word: "kernel gone", tone: "error", why: "The kernel was restarted or has died." };
  if (link === "late") return { word: "disconnected", tone: "error", why: "The kernel does not answer: it is busy, or gone." };
  if (link === "silent") return { word: "no answer", tone: "error", why: "The kernel has not answered yet." };
  if (!ready) return { word: "connecting…", tone: "idle", why: "Asking the kernel how the run stands." };
  return STATUS[head.status] ?? { word: String(head.status), tone: "idle", why: "" };
}

export function driving({ head }: Store): boolean {
  return ["running", "pausing", "stopping"].includes(head.status);
}

/** Whether a verb of the whole run can be used now. */
export function able(store: Store, verb: Verb): boolean {
  const { head, link, ready } = store;
  if (!ready || link === "gone") return false;
  const rests = !driving(store) && head.pending.length > 0 && ["paused", "failed", "stopped"].includes(head.status);
  switch (verb) {
    case "step":
    case "play":
    case "over":
      return rests && !store.asked("step") && !store.asked("play") && !store.asked("step_over");
    case "pause":
      return head.status === "running" && !store.asked("pause");
    case "stop":
      return ["running", "pausing", "waiting"].includes(head.status) && !store.asked("stop");
    case "undo":
      return head.can.undo && !driving(store);
    case "redo":
      return head.can.redo && !driving(store);
    case "inject":
      return head.answer === null && head.status !== "readonly";
    default:
      return head.status !== "readonly";
  }
}
