/**
 * The notebook around a view, as far as it lets itself be reached: JupyterLab 4 and Notebook 7 do, by way of the widget
 * manager. None of this is a documented interface, so every step is looked for before it is taken.
 */

import type { NotebookCell } from "./protocol";

const VIEW = "application/vnd.jupyter.widget-view+json";

interface Signal<T> {
  connect?: (slot: (sender: unknown, value: T) => void) => boolean;
  disconnect?: (slot: (sender: unknown, value: T) => void) => boolean;
}

interface OutputModel {
  toJSON?: () => { data?: { [mime: string]: unknown } };
  data?: { [mime: string]: unknown };
}

interface Outputs {
  length: number;
  get: (index: number) => OutputModel;
  set: (index: number, output: object) => void;
}

interface Context {
  save?: () => Promise<void>;
  saveState?: Signal<string>;
  model?: {
    cells?: { length: number; get: (index: number) => { outputs?: Outputs } };
    sharedModel?: { insertCells?: (at: number, cells: object[]) => void };
  };
}

interface Kernel {
  statusChanged?: Signal<string>;
  connectionStatusChanged?: Signal<string>;
  disposed?: Signal<unknown>;
}

interface Manager {
  context?: Context;
  kernel?: Kernel | null;
}

/** A widget model as it may be: everything past anywidget's own interface is looked for. */
export interface HostModel {
  widget_manager?: unknown;
  comm_live?: boolean;
  on?: (name: string, callback: () => void) => void;
  off?: (name: string, callback: () => void) => void;
}

const DEAD = ["dead", "restarting", "autorestarting", "terminating"];

export class Notebook {
  private readonly manager: Manager;

  constructor(
    private readonly model: HostModel,
    private readonly uid: () => string,
  ) {
    this.manager = (model.widget_manager ?? {}) as Manager;
  }

  get can(): { insert: boolean; freeze: boolean } {
    const model = this.manager.context?.model;
    const cells = typeof model?.cells?.get === "function";
    return { insert: cells && typeof model?.sharedModel?.insertCells === "function", freeze: cells };
  }

  /** Put cells below the one that shows the view, as one step of undo. Gives how many there are now. */
  insert(cells: NotebookCell[]): number {
    const model = this.manager.context?.model;
    const [place] = this.outputs()[0] ?? [];
    if (place === undefined || !model?.sharedModel?.insertCells) return 0;
    // the notebook names its cells: the same ones may be put in twice
    const fresh = cells.map(({ cell_type, source, metadata, outputs }) =>
      cell_type === "code"
        ? { cell_type, source, metadata, outputs: outputs ?? [], execution_count: null }
        : { cell_type, source, metadata },
    );
    model.sharedModel.insertCells(place + 1, fresh);
    return fresh.length;
  }

  /** Put a picture in the place of each output that shows the view. Gives how many were replaced. */
  freeze(data: { [mime: string]: string }): number {
    const found = this.outputs();
    for (const [, outputs, index] of found) outputs.set(index, { output_type: "display_data", data, metadata: {} });
    return found.length;
  }

  get save(): (() => void) | undefined {
    const { context } = this.manager;
    return typeof context?.save === "function" ? () => void context.save?.() : undefined;
  }

  /** Call `saving` when the notebook is about to be written. Gives what undoes that. */
  onSave(saving: () => void): () => void {
    return connect(this.manager.context?.saveState, (state) => state === "started" && saving());
  }

  /** Call `gone` when the kernel has ended, or this model's line to it. Gives what undoes that. */
  onGone(gone: () => void): () => void {
    const { kernel } = this.manager;
    const { model } = this;
    const undo = [connect(kernel?.statusChanged, (status) => DEAD.includes(status) && gone()), connect(kernel?.disposed, gone)];
    const closed = (): void => gone();
    const names = ["comm:close", "comm_live_update"];
    const live = (): void => void (model.comm_live === false && gone());
    model.on?.(names[0] as string, closed);
    model.on?.(names[1] as string, live);
    return () => {
      for (const each of undo) each();
      model.off?.(names[0] as string, closed);
      model.off?.(names[1] as string, live);
    };
  }

  /** Where the view is shown: the place of the cell, its outputs, and which of them. */
  private outputs(): [cell: number, outputs: Outputs, index: number][] {
    const cells = this.manager.context?.model?.cells;
    const found: [number, Outputs, number][] = [];
    for (let place = 0; place < (cells?.length ?? 0); place++) {
      const outputs = cells?.get(place).outputs;
      for (let index = 0; index < (outputs?.length ?? 0); index++) {
        if (outputs && this.shows(outputs.get(index))) found.push([place, outputs, index]);
      }
    }
    return found;
  }

  private shows(output: OutputModel): boolean {
    const data = output.data ?? output.toJSON?.().data;
    return (data?.[VIEW] as { model_id?: unknown } | undefined)?.model_id === this.uid();
  }
}

function connect<T>(signal: Signal<T> | undefined, slot: (value: T) => unknown): () => void {
  const called = (_: unknown, value: T): void => void slot(value);
  if (typeof signal?.connect !== "function") return () => undefined;
  signal.connect(called);
  return () => void signal.disconnect?.(called);
}
