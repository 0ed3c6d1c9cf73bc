import { expect, test, vi } from "vitest";
import { type HostModel, Notebook } from "../src/notebook";
import type { NotebookCell } from "../src/protocol";

const VIEW = "application/vnd.jupyter.widget-view+json";

/** What the kernel writes beside what is asked of it. */
const id = (name: string): object => ({ id: name });

/** A notebook as JupyterLab has it, as far as a widget can see it. */
function notebook(uids: string[][]) {
  const slots: ((sender: unknown, state: string) => void)[] = [];
  const signal = { connect: (slot: (sender: unknown, state: string) => void) => !!slots.push(slot), disconnect: () => true };
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
  const cells = { length: uids.length + 1, get: (place: number) => (place ? { outputs: outputs[place - 1] } : {}) };
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

test("cells go below the one that shows the view, in one step, without names of their own", () => {
  const { model, insertCells } = notebook([["other"], ["mine"]]);
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

test("every output that shows the view is replaced, and no other", () => {
  const { model, outputs } = notebook([["mine", "other"], ["mine"]]);
  expect(new Notebook(model, () => "mine").freeze({ "text/html": "<p>" })).toBe(2);
  expect(outputs[0]?.set).toHaveBeenCalledExactlyOnceWith(0, {
    output_type: "display_data",
    data: { "text/html": "<p>" },
    metadata: {},
  });
});

test("where there is no such notebook, nothing can be done, and that is said", () => {
  for (const host of [
    {},
    { widget_manager: {} },
    { widget_manager: { context: {} } },
    { widget_manager: { context: { model: { cells: {} } } } },
  ] as HostModel[]) {
    const place = new Notebook(host, () => "mine");
    expect(place.can).toEqual({ insert: false, freeze: false });
    expect([place.insert([]), place.freeze({}), place.save]).toEqual([0, 0, undefined]);
  }
});

test("a save that begins, and a kernel that ends, are heard", () => {
  const { model, signal } = notebook([]);
  const heard: string[] = [];
  const place = new Notebook(model, () => "mine");
  place.onSave(() => heard.push("save"));
  place.onGone(() => heard.push("gone"));
  for (const state of ["started", "completed", "busy", "idle", "restarting"]) signal(state);
  expect(heard).toEqual(["save", "gone"]);
});
