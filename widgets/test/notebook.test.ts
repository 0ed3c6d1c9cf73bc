import { expect, test, vi } from "vitest";
import { type HostModel, Notebook } from "../src/notebook";
import type { NotebookCell } from "../src/protocol";

const VIEW = "application/vnd.jupyter.widget-view+json";

/** A field that the kernel adds to cells. */
const id = (name: string): object => ({ id: name });

/** The part of JupyterLab's notebook that a widget can reach. */
function host(uids: string[][]) {
  const slots: ((sender: unknown, state: string) => void)[] = [];
  const signal = {
    connect: (slot: (sender: unknown, state: string) => void) => !!slots.push(slot),
    disconnect: () => true,
  };
  const outputs = uids.map((cell) => {
    const shown: object[] = cell.map((uid) => ({ data: { [VIEW]: { model_id: uid } } }));
    return {
      length: shown.length,
      get: (index: number) => shown[index],
      set: vi.fn((index: number, output: object) => {
        shown[index] = output;
      }),
    };
  });
  const insertCells = vi.fn();
  const cells = { length: uids.length + 1, get: (index: number) => (index ? { outputs: outputs[index - 1] } : {}) };
  const model = {
    widget_manager: {
      context: { saveState: signal, save: vi.fn(), model: { cells, sharedModel: { insertCells } } },
      kernel: { statusChanged: signal },
    },
  };
  return {
    model: model as unknown as HostModel,
    outputs,
    insertCells,
    signal: (state: string) => slots.forEach((slot) => void slot(null, state)),
  };
}

test("cells are inserted below the one that shows the view, in one step and without their ids", () => {
  const { model, insertCells } = host([["other"], ["mine"]]);
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

test("every output that shows the view is replaced, and no other output", () => {
  const { model, outputs } = host([["mine", "other"], ["mine"]]);
  expect(new Notebook(model, () => "mine").freeze({ "text/html": "<p>" })).toBe(2);
  expect(outputs[0]?.set).toHaveBeenCalledExactlyOnceWith(0, {
    output_type: "display_data",
    data: { "text/html": "<p>" },
    metadata: {},
  });
});

test("in an unknown host nothing can be inserted, replaced or saved", () => {
  for (const model of [
    {},
    { widget_manager: {} },
    { widget_manager: { context: {} } },
    { widget_manager: { context: { model: { cells: {} } } } },
  ] as HostModel[]) {
    const notebook = new Notebook(model, () => "mine");
    expect(notebook.can).toEqual({ insert: false, freeze: false });
    expect([notebook.insert([]), notebook.freeze({}), notebook.save]).toEqual([0, 0, undefined]);
  }
});

test("the start of a save and the end of a kernel are reported", () => {
  const { model, signal } = host([]);
  const events: string[] = [];
  const notebook = new Notebook(model, () => "mine");
  notebook.onSave(() => events.push("save"));
  notebook.onKernelLost(() => events.push("lost"));
  for (const state of ["started", "completed", "busy", "idle", "restarting"]) signal(state);
  expect(events).toEqual(["save", "lost"]);
});
