import { expect, test } from "vitest";
import { SourcePanel } from "../../src/panels/source";
import type { EngineFrame, Head, SourceFile, ValuePreview } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, HOSTILE, one, press, recording, settled, texts } from "../support/render";

const TEXT = Array.from({ length: 40 }, (_, n) => `line_${n + 1} = ${n + 1}`).join("\n");
const SOURCE = { file: "engine.py", first: 1, text: `${TEXT}\n` };

function scalar(text: string): ValuePreview {
  return { text, kind: "scalar", size: 0 };
}

function frame(changes: Partial<EngineFrame> = {}): EngineFrame {
  return {
    function: "engine",
    file: "engine.py",
    line: 12,
    lane: "",
    around: false,
    locals: [["task", scalar("'go'"), "1"]],
    ...changes,
  };
}

function panel(head: Partial<Head>, source: SourceFile = SOURCE) {
  const kernel = fakeKernel(recording, { source: { ...source } }, { breakpoints: [], ...head });
  return { ...kernel, drawn: draw(<SourcePanel store={kernel.store} />) };
}

test("the current line is highlighted, and labelled as current", async () => {
  const { drawn, commands } = panel({ where: [frame()] });
  const page = await drawn;
  expect(commands).toEqual([{ cmd: "source", file: "engine.py" }]);
  expect(texts(page, ".ak-current-line code")).toEqual(["line_12 = 12"]);
  expect(one(page, ".ak-current-line").getAttribute("aria-current")).toBe("step");
  expect(page.querySelectorAll(".ak-lines code").length).toBe(40);
});

test("a step moves the highlight without loading the source again", async () => {
  const { drawn, commands, head } = panel({ where: [frame()] });
  const page = await drawn;
  head({ where: [frame({ line: 14 })] });
  await settled();
  expect(texts(page, ".ak-current-line code")).toEqual(["line_14 = 14"]);
  expect(commands.length).toBe(1);
});

test("a click on a line number adds a breakpoint, and another removes it", async () => {
  const { drawn, commands, head } = panel({ where: [frame()] });
  const page = await drawn;
  await click(button(page, "Line 20"));
  expect(commands.pop()).toEqual({ cmd: "break", kind: "line", value: "20", file: "engine.py" });
  head({ breakpoints: [{ id: 7, kind: "line", value: "20", enabled: true, hits: 3 }] });
  await settled();
  const line = button(page, "Line 20, breakpoint, 3 hits");
  expect(line.getAttribute("aria-pressed")).toBe("true");
  await click(line);
  expect(commands.pop()).toEqual({ cmd: "unbreak", id: 7 });
});

test("the line numbers are a single tab stop, and the arrow keys move between them", async () => {
  const page = await panel({ where: [frame()] }).drawn;
  expect(texts(page, ".ak-lines button[tabindex='0']")).toEqual(["12"]);
  await press(button(page, "Line 12"), "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Line 13"));
  await press(button(page, "Line 13"), "End");
  expect(document.activeElement).toBe(button(page, "Line 40"));
});

test("nested engines show a call stack per lane, and each frame can be selected", async () => {
  const where = [
    frame({ function: "plan", line: 3 }),
    frame({ function: "react", line: 9, lane: "[1.0]", lane_text: "in parallel, 1 of 2" }),
    frame({ function: "nudge", line: 30, lane: "[1.0]", around: true, does: "asks again if the reply is empty" }),
    frame({
      function: "react",
      line: 10,
      lane: "[1.1]",
      lane_text: "in parallel, 2 of 2",
      locals: [["turn", scalar("2"), "1"]],
    }),
  ];
  const page = await panel({ where }).drawn;
  expect(texts(page, ".ak-breadcrumbs")).toEqual([
    "plan, line 3",
    "in parallel, 1 of 2react, line 9asks again if the reply is empty",
    "in parallel, 2 of 2react, line 10",
  ]);
  expect(texts(page, ".ak-current-line button")).toEqual(["3"]);
  await click(button(page, "react, line 10"));
  expect(texts(page, ".ak-current-line button")).toEqual(["10"]);
  expect(texts(page, ".ak-locals .ak-json-leaf")).toEqual(["turn: 2"]);
  expect(texts(page, "[aria-current=true]")).toEqual(["react, line 10"]);
});

test("an around is not the current frame of the engine", async () => {
  const page = await panel({ where: [frame({ line: 5 }), frame({ function: "retry", line: 30, around: true })] }).drawn;
  expect(texts(page, ".ak-current-line button")).toEqual(["5"]);
});

test("a finished run shows its source as recorded, without breakpoints", async () => {
  const page = await panel({ where: [] }, { ...SOURCE, file: "" }).drawn;
  expect(page.textContent).toContain("its source as recorded");
  expect((button(page, "Line 3") as HTMLButtonElement).disabled).toBe(true);
  expect(page.querySelector(".ak-current-line")).toBeNull();
});

test("of a long file, only the lines around the current one are drawn", async () => {
  const text = Array.from({ length: 5_000 }, (_, n) => `x${n + 1}`).join("\n");
  const page = await panel({ where: [frame({ line: 2_500 })] }, { ...SOURCE, text }).drawn;
  expect(page.querySelectorAll(".ak-lines code").length).toBeLessThan(1_000);
  expect(texts(page, ".ak-current-line code")).toEqual(["x2500"]);
  expect(texts(page, ".ak-gap").length).toBe(2);
});

test("a refused breakpoint and a missing source show the error", async () => {
  const refuse = (why: string) => () => {
    throw new Error(why);
  };
  const set = fakeKernel(
    recording,
    { source: SOURCE, break: refuse("the run is read-only") },
    { where: [frame()], breakpoints: [] },
  );
  const page = await draw(<SourcePanel store={set.store} />);
  await click(button(page, "Line 4"));
  expect(texts(page, "[role=alert]")).toEqual(["", "the run is read-only"]);
  const gone = fakeKernel(recording, { source: refuse("the source no longer exists") }, { where: [frame()] });
  const other = await draw(<SourcePanel store={gone.store} />);
  expect(other.textContent).toContain("the source no longer exists");
});

test("hostile text in source, names and variables is drawn as text", async () => {
  const where = [frame({ function: HOSTILE, lane: HOSTILE, line: 1, locals: [[HOSTILE, scalar(HOSTILE), "1"]] })];
  expectHarmless(await panel({ where }, { ...SOURCE, text: `"${HOSTILE.replaceAll('"', "'")}" # ${HOSTILE}` }).drawn);
});

test("a source is loaded only once", async () => {
  const answer = (command: { cmd: string; file?: string }) => ({ ...SOURCE, file: command.file ?? "" });
  const { store, commands, head } = fakeKernel(
    recording,
    { source: answer as never },
    { where: [frame()], breakpoints: [] },
  );
  const page = await draw(<SourcePanel store={store} />);
  for (const file of ["nested.py", "engine.py", "nested.py"]) {
    head({ where: [frame({ file })] });
    await settled();
    expect(one(page, ".ak-lines").getAttribute("aria-label")).toBe(file);
  }
  expect(commands.map((command) => "file" in command && command.file)).toEqual(["engine.py", "nested.py"]);
});
