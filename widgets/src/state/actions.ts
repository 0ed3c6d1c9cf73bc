/** What a person can do in a view: which actions there are, and when they are available. */

import type { Breakpoint, Card, Command, PendingStep, Refusable, ThinkEntry } from "../protocol";
import { isRunning } from "./status";
import type { Store } from "./store";

export type RunAction = "step" | "play" | "pause" | "over" | "stop" | "undo" | "redo";
export type VerbAction = "rewind" | "retry" | "fork";
export type EntryAction = VerbAction | "edit" | "break" | "request" | "talkOn" | "luck" | "copy";
export type MoveAction = "next" | "previous" | "first" | "last";
export type Action = RunAction | EntryAction | MoveAction | "inject" | "goBack" | "present" | "sidePanel" | "help";

/** What a person should know before going back. */
export const NOT_UNDONE = "What tools have done is not undone; the run asks before it repeats an irreversible call.";

/** The verbs that go back to an entry, with what they do in general. */
export const VERBS: [action: VerbAction, label: string, title: string][] = [
  ["rewind", "Go back", `Go back to this entry; later entries are kept as a branch. ${NOT_UNDONE}`],
  ["retry", "Try again", `Go back and perform this step again; later entries are kept as a branch. ${NOT_UNDONE}`],
  ["fork", "Try another way", `Start a second run from this entry, which uses the results up to here. ${NOT_UNDONE}`],
];

const RUN_COMMANDS: { [action in RunAction]: Command } = {
  step: { cmd: "step" },
  play: { cmd: "play" },
  pause: { cmd: "pause" },
  over: { cmd: "step_over" },
  stop: { cmd: "stop" },
  undo: { cmd: "undo" },
  redo: { cmd: "redo" },
};

/** Return the command of an action on the run; undefined for any other action. */
export function runCommand(action: Action): Command | undefined {
  return RUN_COMMANDS[action as RunAction];
}

/** Whether the place that shows the run offers something. */
export function isOffered(store: Store, what: Refusable): boolean {
  return !store.head.refused?.includes(what);
}

/** Whether the state of the run allows an action. */
export function isEnabled(store: Store, action: Action): boolean {
  const { head, connectionState, ready } = store;
  if (!ready || connectionState === "lost") return false;
  if (!isOffered(store, "change")) return false;
  const status = head.held?.status ?? head.status; // another process can be asked to pause, to stop and to be told
  const canContinue = head.pending.length > 0 && ["paused", "diverged", "failed", "stopped"].includes(head.status);
  switch (action) {
    case "step":
    case "play":
    case "over":
      return canContinue && !(["step", "play", "step_over"] as const).some((name) => store.isExecuting(name));
    case "pause":
      return status === "running" && !store.isExecuting("pause");
    case "stop":
      return ["running", "pausing", "waiting"].includes(status) && !store.isExecuting("stop");
    case "undo":
      return head.can.undo && !isRunning(store);
    case "redo":
      return head.can.redo && !isRunning(store);
    case "inject":
      return head.answer === null && status !== "readonly";
    default:
      return head.status !== "readonly";
  }
}

/** Whether an entry, or a pending step, of this kind can be edited. */
export function isEditable({ kind }: Card | PendingStep): boolean {
  return kind === "think" || kind === "act" || kind === "ask";
}

/** Whether an action makes sense for an entry of this kind at all. */
export function appliesTo(action: Action, card: Card): boolean {
  if (action === "edit") return isEditable(card);
  if (action === "retry") return card.kind !== "begin" && !card.lane;
  if (action === "break") return card.kind === "act" || (card.kind === "think" && card.role !== "");
  if (action === "request" || action === "luck") return card.kind === "think";
  if (action === "talkOn") return card.kind === "think" && mayTalkOn(card);
  return true;
}

/** Whether the model of a thought was stopped after its action: only the text dialect has a stop sequence. */
function mayTalkOn({ author, dialect, calls }: ThinkEntry): boolean {
  return author === "model" && dialect === "text" && calls.length > 0;
}

/** What breaks on an entry or a step: its tool, or else its role. */
export function breakCondition(step: Card | PendingStep): { kind: "tool" | "role"; value: string } {
  if (step.kind === "act" && step.call) return { kind: "tool", value: step.call.name };
  return { kind: "role", value: step.role };
}

/** Return the breakpoint on the tool or role of an entry or a step, if one is set. */
export function breakpointOn(store: Store, step: Card | PendingStep): Breakpoint | undefined {
  const { kind, value } = breakCondition(step);
  return store.head.breakpoints.find((point) => point.kind === kind && point.value === value);
}

/** Return the command that sets the breakpoint on the tool or role of an entry or a step, or removes it. */
export function toggleBreakpoint(store: Store, step: Card | PendingStep): Command {
  const point = breakpointOn(store, step);
  return point ? { cmd: "unbreak", id: point.id } : { cmd: "break", ...breakCondition(step) };
}
