import { expect, test, vi } from "vitest";
import { type HostModel, Notebook } from "../src/notebook";
import type { NotebookCell } from "../src/protocol";

const VIEW = "application/vnd.jupyter.widget-view+json";

/** A field that the kernel adds to cells. */
const id = (name: string): object => ({ id: name });

/** What an output shows: a moment of a run, live or static, as `mine 2 live`. */
function output(what: string): object {
  const [view, moment, isLive] = what.split(" ");
  const data = { "text/html": "<p>", ...(isLive && { [VIEW]: { model_id: view } }) };
  return { data, metadata: { agentkit: { view, moment: Number(moment) } } };
}

/** The part of JupyterLab's notebook that a widget can reach: a cell without outputs, and then one for each list. */
function host(shown: string[][]) {
  const slots: ((sender: unknown, state: string) => void)[] = [];
  const signal = {
    connect: (slot: (sender: unknown, state: string) => void) => !!slots.push(slot),
    disconnect: () => true,
  };
  const outputs = shown.map((cell) => {
    const models = cell.map(output);
    const set = vi.fn((index: number, output: object) => {
      models[index] = output;
    });
    return { length: models.length, get: (index: number) => models[index], set };
  });
  const insertCells = vi.fn();
  const list: object[] = [{ id: "first" }, ...outputs.map((outputs, n) => ({ id: `cell ${n}`, outputs }))];
  const cells = {
    get length() {
      return list.length;
    },
    get: (index: number) => list[index],
  };
  const model = {
    widget_manager: {
      context: { save: vi.fn(), model: { cells, sharedModel: { insertCells } } },
      kernel: { statusChanged: signal },
    },
  };
  return {
    model: model as unknown as HostModel,
    outputs,
    list,
    insertCells,
    signal: (state: string) => slots.forEach((slot) => void slot(null, state)),
  };
}

test("cells are inserted below the one that shows the view, in one step and without their ids", () => {
  const { model, insertCells } = host([["other 1"], ["mine 1"]]);
  const cells: NotebookCell[] = [
    { ...id("x"), cell_type: "markdown", source: "a", metadata: { tags: ["t"] } },
    { ...id("y"), cell_type: "code", source: "b", metadata: {} },
  ];
  expect(new Notebook(model, () => "mine").insert(cells)).toBe(2);
  expect(insertCells).toHaveBeenCalledOnce();
  expect(insertCells).toHaveBeenCalledWith(3, [
    { cell_type: "markdown", source: "a", metadata: { tags: ["t"] } },
    { cell_type: "code", source: "b", metadata: {}, outputs: [], execution_count: null },
  ]);
});

test("live outputs of the run become static ones that keep their marks, and no other output is touched", () => {
  const { model, outputs } = host([["mine 1", "other 1 live"], ["mine 2 live"]]);
  const notebook = new Notebook(model, () => "mine");
  expect(notebook.settle()).toBe(1);
  expect(notebook.settle()).toBe(0);
  expect(outputs[0]?.set).not.toHaveBeenCalled();
  expect(outputs[1]?.set).toHaveBeenCalledExactlyOnceWith(0, {
    output_type: "display_data",
    data: { "text/html": "<p>" },
    metadata: { agentkit: { view: "mine", moment: 2 } },
  });
});

test("every copy of a moment is replaced, and no other moment", () => {
  const { model, outputs } = host([["mine 1", "mine 2"], ["mine 2"]]);
  expect(new Notebook(model, () => "mine").setMoment(2, { "text/plain": "new" })).toBe(2);
  expect(outputs[0]?.set).toHaveBeenCalledExactlyOnceWith(1, {
    output_type: "display_data",
    data: { "text/plain": "new" },
    metadata: { agentkit: { view: "mine", moment: 2 } },
  });
});

test("a moment may come back if its cell is running or was deleted, but not if only its output is gone", () => {
  const { model, list } = host([["mine 1"], ["other 1"]]);
  const notebook = new Notebook(model, () => "mine");
  expect([notebook.has(1), notebook.has(2)]).toEqual([true, false]);
  const running = { id: "cell 0", executionState: "running" };
  list[1] = running;
  expect([notebook.has(1), notebook.mayComeBack()]).toEqual([false, "soon"]);
  running.executionState = "idle";
  expect(notebook.mayComeBack()).toBe("never");
  list.splice(1, 1);
  expect(notebook.mayComeBack()).toBe("later");
});

test("in an unknown host nothing can be inserted, changed or saved", () => {
  for (const model of [
    {},
    { widget_manager: {} },
    { widget_manager: { context: {} } },
    { widget_manager: { context: { model: { cells: {} } } } },
  ] as HostModel[]) {
    const notebook = new Notebook(model, () => "mine");
    expect(notebook.can).toEqual({ insert: false, settle: false, dock: false });
    expect([notebook.insert([]), notebook.settle(), notebook.setMoment(1, {}), notebook.save]).toEqual([
      0,
      0,
      0,
      undefined,
    ]);
  }
});

test("the end of a kernel is reported", () => {
  const { model, signal } = host([]);
  const events: string[] = [];
  new Notebook(model, () => "mine").onKernelLost(() => events.push("lost"));
  for (const state of ["busy", "idle", "restarting"]) signal(state);
  expect(events).toEqual(["lost"]);
});
