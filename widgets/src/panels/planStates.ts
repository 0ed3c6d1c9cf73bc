/** How the states of the steps of a plan are shown. */

export const STATE_SIGNS = { todo: "○", doing: "◐", done: "✓", failed: "✗", skipped: "–" };
export const STATE_LABELS = {
  todo: "to do",
  doing: "in progress",
  done: "done",
  failed: "failed",
  skipped: "skipped",
};
