import { expect, test } from "vitest";
import { SourcePanel } from "../../src/panels/source";
import type { Head, Place, Source } from "../../src/protocol";
import { button, click, draw, HOSTILE, harmless, one, press, record, settled, texts } from "./draw";
import { fake } from "./fake";

const TEXT = Array.from({ length: 40 }, (_, n) => `line_${n + 1} = ${n + 1}`).join("\n");
const SOURCE = { file: "engine.py", first: 1, text: `${TEXT}\n` };

function place(changes: Partial<Place> = {}): Place {
  return { function: "engine", file: "engine.py", line: 12, lane: "", around: false, locals: [["task", "'go'"]], ...changes };
}

function panel(head: Partial<Head>, source: Source = SOURCE) {
  const kernel = fake(record, { source: { ...source } }, { breakpoints: [], ...head });
  return { ...kernel, drawn: draw(<SourcePanel store={kernel.store} />) };
}

test("the current line is lit, and said to be current", async () => {
  const { drawn, told } = panel({ where: [place()] });
  const page = await drawn;
  expect(told).toEqual([{ cmd: "source", file: "engine.py" }]);
  expect(texts(page, ".ak-current-line code")).toEqual(["line_12 = 12"]);
  expect(one(page, ".ak-current-line").getAttribute("aria-current")).toBe("step");
  expect(page.querySelectorAll(".ak-lines code").length).toBe(40);
});

test("a step moves the light without asking for the source again", async () => {
  const { drawn, told, head } = panel({ where: [place()] });
  const page = await drawn;
  head({ where: [place({ line: 14 })] });
  await settled();
  expect(texts(page, ".ak-current-line code")).toEqual(["line_14 = 14"]);
  expect(told.length).toBe(1);
});

test("a click on a line number sets a breakpoint, and another takes it away", async () => {
  const { drawn, told, head } = panel({ where: [place()] });
  const page = await drawn;
  await click(button(page, "Line 20"));
  expect(told.pop()).toEqual({ cmd: "break", kind: "line", value: "20", file: "engine.py" });
  head({ breakpoints: [{ id: 7, kind: "line", value: "20", enabled: true, hits: 3 }] });
  await settled();
  const dot = button(page, "Line 20, breakpoint, 3 hits");
  expect(dot.getAttribute("aria-pressed")).toBe("true");
  await click(dot);
  expect(told.pop()).toEqual({ cmd: "unbreak", id: 7 });
});

test("the numbers are one stop for Tab, and arrow keys go through them", async () => {
  const page = await panel({ where: [place()] }).drawn;
  expect(texts(page, ".ak-lines button[tabindex='0']")).toEqual(["12"]);
  await press(button(page, "Line 12"), "ArrowDown");
  expect(document.activeElement).toBe(button(page, "Line 13"));
  await press(button(page, "Line 13"), "End");
  expect(document.activeElement).toBe(button(page, "Line 40"));
});

test("nested engines are a way of frames for each lane, and each frame can be looked at", async () => {
  const where = [
    place({ function: "plan", line: 3 }),
    place({ function: "react", line: 9, lane: "[1.0]" }),
    place({ function: "nudge", line: 30, lane: "[1.0]", around: true }),
    place({ function: "react", line: 10, lane: "[1.1]", locals: [["turn", "2"]] }),
  ];
  const page = await panel({ where }).drawn;
  expect(texts(page, ".ak-breadcrumbs")).toEqual(["plan:3", "lane [1.0]react:9around nudge:30", "lane [1.1]react:10"]);
  expect(texts(page, ".ak-current-line button")).toEqual(["3"]);
  await click(button(page, "react:10"));
  expect(texts(page, ".ak-current-line button")).toEqual(["10"]);
  expect(texts(page, ".ak-locals tr")).toEqual(["turn2"]);
  expect(texts(page, "[aria-current=true]")).toEqual(["react:10"]);
});

test("an around is not taken for the place of the engine", async () => {
  const page = await panel({ where: [place({ line: 5 }), place({ function: "retry", line: 30, around: true })] }).drawn;
  expect(texts(page, ".ak-current-line button")).toEqual(["5"]);
});

test("a run that is over shows its source as it was recorded, where nothing can be set", async () => {
  const page = await panel({ where: [] }, { ...SOURCE, file: "" }).drawn;
  expect(page.textContent).toContain("as it was recorded");
  expect((button(page, "Line 3") as HTMLButtonElement).disabled).toBe(true);
  expect(page.querySelector(".ak-current-line")).toBeNull();
});

test("of a long file the lines around the light are drawn", async () => {
  const text = Array.from({ length: 5_000 }, (_, n) => `x${n + 1}`).join("\n");
  const page = await panel({ where: [place({ line: 2_500 })] }, { ...SOURCE, text }).drawn;
  expect(page.querySelectorAll(".ak-lines code").length).toBeLessThan(1_000);
  expect(texts(page, ".ak-current-line code")).toEqual(["x2500"]);
  expect(texts(page, ".ak-gap").length).toBe(2);
});

test("a refused breakpoint and a source that is gone say why", async () => {
  const refuse = (why: string) => () => {
    throw new Error(why);
  };
  const set = fake(record, { source: SOURCE, break: refuse("the run is read-only") }, { where: [place()], breakpoints: [] });
  const page = await draw(<SourcePanel store={set.store} />);
  await click(button(page, "Line 4"));
  expect(texts(page, "[role=alert]")).toEqual(["", "the run is read-only"]);
  const gone = fake(record, { source: refuse("the source is not there any more") }, { where: [place()] });
  const other = await draw(<SourcePanel store={gone.store} />);
  expect(other.textContent).toContain("the source is not there any more");
});

test("hostile text in source, names and variables is text", async () => {
  const where = [place({ function: HOSTILE, lane: HOSTILE, line: 1, locals: [[HOSTILE, HOSTILE]] })];
  harmless(await panel({ where }, { ...SOURCE, text: `"${HOSTILE.replaceAll('"', "'")}" # ${HOSTILE}` }).drawn);
});

test("a source that was seen before is not asked for again", async () => {
  const answer = (command: { cmd: string; file?: string }) => ({ ...SOURCE, file: command.file ?? "" });
  const { store, told, head } = fake(record, { source: answer as never }, { where: [place()], breakpoints: [] });
  const page = await draw(<SourcePanel store={store} />);
  for (const file of ["nested.py", "engine.py", "nested.py"]) {
    head({ where: [place({ file })] });
    await settled();
    expect(one(page, ".ak-lines").getAttribute("aria-label")).toBe(file);
  }
  expect(told.map((command) => "file" in command && command.file)).toEqual(["engine.py", "nested.py"]);
});
