import { expect, test, vi } from "vitest";
import { layout } from "../../src/panels/flameLayout";
import { ProfilePanel } from "../../src/panels/profile";
import type { FlameBar, Json, Profile } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, HOSTILE, one, press, recording, settled, texts } from "../support/render";

function bar(name: string, kind: FlameBar["kind"], seconds: number, more: Partial<FlameBar> = {}): FlameBar {
  return { name, kind, seconds, tokens: 0, cost: 0, calls: 1, entry: 0, bars: [], ...more };
}

const look = bar("look", "name", 3, { entry: 7, bars: [bar("tool_call_1_0 look", "step", 3, { entry: 7 })] });
const model = bar("gpt", "name", 6, { tokens: 900, cost: 0.02, entry: 5 });
const flame = bar("run", "run", 10, {
  tokens: 900,
  cost: 0.02,
  bars: [
    bar("think", "phase", 6, { tokens: 900, cost: 0.02, entry: 5, bars: [model] }),
    bar("act", "phase", 3, { entry: 7, bars: [look] }),
    bar("overhead", "overhead", 1, { calls: 0 }),
  ],
});

const figures = { clock: 6, summed: 6, input: 800, output: 100, cost: 0.02, entry: 5, apart: false };
const profile: Profile = {
  clock: { busy: 8, overhead: 1, waiting: 180, paused: 0, away: 0, unknown: 0, total: 189 },
  usage: { input: 800, output: 100, cached: 0, reasoning: 0, cost: 0.02, calls: 1 },
  rows: [
    { by: "phase", name: "think", calls: 1, ...figures },
    { by: "phase", name: "on lines that were left", calls: 2, ...figures, apart: true },
    { by: "model", name: "gpt", calls: 1, ...figures },
  ],
  streaming: [{ model: "gpt", calls: 1, streamed: 1, first: 0.25, per_second: 41.6 }],
  flame,
};

function panel(answer: Profile, status: "done" | "running" = "done") {
  const goTo = vi.fn();
  const kernel = fakeKernel(recording, { profile: answer as unknown as Json }, { status });
  return { goTo, ...kernel, drawn: draw(<ProfilePanel store={kernel.store} goTo={goTo} />) };
}

test("bars are as wide as their share, and lie under the bar that they are in", () => {
  const placed = layout(flame, "seconds");
  expect(placed.map(({ bar, level, left, width }) => [bar.name, level, left, width])).toEqual([
    ["run", 0, 0, 1],
    ["think", 1, 0, 0.6],
    ["gpt", 2, 0, 0.6],
    ["act", 1, 0.6, 0.3],
    ["look", 2, 0.6, 0.3],
    ["tool_call_1_0 look", 3, 0.6, 0.3],
    ["overhead", 1, expect.closeTo(0.9), 0.1],
  ]);
  expect(placed.map(({ place, beside }) => `${place} of ${beside}`)[3]).toBe("2 of 3");
});

test("bars that have nothing of a measure are left out", () => {
  expect(layout(flame, "tokens").map(({ bar }) => bar.name)).toEqual(["run", "think", "gpt"]);
  expect(layout(bar("run", "run", 0), "seconds")).toEqual([]);
});

test("the panel shows the clock, a flame and tables, and a bar leads to its entry", async () => {
  const { drawn, goTo, commands } = panel(profile);
  const page = await drawn;
  expect(commands).toEqual([{ cmd: "profile" }]);
  expect(texts(page, ".ak-legend li")).toEqual([
    "models and tools 8.0 s",
    "overhead 1.0 s",
    "waiting for a person 3.0 min",
  ]);
  expect(texts(page, "[role=treeitem]")).toHaveLength(7);
  expect(texts(page, "caption")).toEqual(["Phases", "Models", "Replies"]);
  expect(texts(page, "tr.ak-muted th")).toEqual(["on lines that were left"]);
  expect(page.textContent).toContain("250 ms");
  await click(button(page, "gpt: 6.0 s, 900 tokens, $0.0200, 1 call"));
  expect(goTo).toHaveBeenCalledWith(5);
  goTo.mockClear();
  await click(button(page, "overhead: 1.0 s"));
  expect(goTo).not.toHaveBeenCalled();
});

test("the flame is one tab stop, and the arrow keys move in it", async () => {
  const page = await panel(profile).drawn;
  document.body.append(page);
  const flameBox = one(page, "[role=tree]");
  const keys = ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowUp"];
  const reached = [];
  for (const key of keys) {
    await press(flameBox, key);
    reached.push(document.activeElement?.textContent);
    expect(page.querySelectorAll("[role=treeitem][tabindex='0']")).toHaveLength(1);
  }
  expect(reached).toEqual(["think", "gpt", "look", "act", "overhead", "act", "overhead", "run", "run"]);
});

test("the width of a bar can stand for tokens or cost", async () => {
  const page = await panel(profile).drawn;
  expect(texts(page, ".ak-measures button")).toEqual(["Time", "Tokens", "Cost"]);
  await click(button(page, "Tokens"));
  expect(button(page, "Tokens").getAttribute("aria-pressed")).toBe("true");
  expect(texts(page, "[role=treeitem]")).toEqual(["run", "think", "gpt"]);
});

test("while the run goes on, the profile is asked for only when a person wants it", async () => {
  const { drawn, commands } = panel(profile, "running");
  const page = await drawn;
  expect(commands).toHaveLength(1);
  await click(button(page, "Update"));
  await settled();
  expect(commands).toHaveLength(2);
});

test("a run without calls says so", async () => {
  const page = await panel({ ...profile, rows: [], flame: bar("run", "run", 0) }).drawn;
  expect(page.textContent).toContain("No calls yet.");
});

test("hostile names are text", async () => {
  const named: FlameBar = bar("run", "run", 1, {
    bars: [bar(HOSTILE, "name", 1, { bars: [bar(HOSTILE, "step", 1)] })],
  });
  const rows = profile.rows.map((row) => ({ ...row, name: HOSTILE }));
  const page = await panel({ ...profile, rows, flame: named }).drawn;
  expectHarmless(page);
});
