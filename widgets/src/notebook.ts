/**
 * The notebook around a view, as far as it can be reached: JupyterLab 4 and Notebook 7 allow it through the widget
 * manager. None of this is a documented interface, so every step is checked before it is taken.
 */

import type { NotebookCell } from "./protocol";

const VIEW_MIME = "application/vnd.jupyter.widget-view+json";

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
  disposed?: Signal<unknown>;
}

interface Manager {
  context?: Context;
  kernel?: Kernel | null;
}

/** A widget model with what hosts may offer beyond anywidget's own interface. */
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
    const hasCells = typeof model?.cells?.get === "function";
    return { insert: hasCells && typeof model?.sharedModel?.insertCells === "function", freeze: hasCells };
  }

  /** Insert cells below the one that shows the view, as a single undo step. Return how many were inserted. */
  insert(cells: NotebookCell[]): number {
    const model = this.manager.context?.model;
    const [position] = this.viewOutputs()[0] ?? [];
    if (position === undefined || !model?.sharedModel?.insertCells) return 0;
    // without their ids, since the same cells may be inserted twice: the notebook assigns new ones
    const copies = cells.map(({ cell_type, source, metadata, outputs }) =>
      cell_type === "code"
        ? { cell_type, source, metadata, outputs: outputs ?? [], execution_count: null }
        : { cell_type, source, metadata },
    );
    model.sharedModel.insertCells(position + 1, copies);
    return copies.length;
  }

  /** Replace each output that shows the view. Return how many were replaced. */
  freeze(data: { [mime: string]: string }): number {
    const found = this.viewOutputs();
    for (const [, outputs, index] of found) outputs.set(index, { output_type: "display_data", data, metadata: {} });
    return found.length;
  }

  get save(): (() => void) | undefined {
    const { context } = this.manager;
    return typeof context?.save === "function" ? () => void context.save?.() : undefined;
  }

  /** Call `onSave` when the notebook is about to be saved. Return the function that ends this. */
  onSave(onSave: () => void): () => void {
    return connect(this.manager.context?.saveState, (state) => state === "started" && onSave());
  }

  /** Call `onLost` when the kernel, or this model's channel to it, is gone. Return the function that ends this. */
  onKernelLost(onLost: () => void): () => void {
    const { kernel } = this.manager;
    const { model } = this;
    const disconnect = [
      connect(kernel?.statusChanged, (status) => DEAD.includes(status) && onLost()),
      connect(kernel?.disposed, onLost),
    ];
    const onClose = (): void => onLost();
    const onLiveChange = (): void => void (model.comm_live === false && onLost());
    model.on?.("comm:close", onClose);
    model.on?.("comm_live_update", onLiveChange);
    return () => {
      for (const each of disconnect) each();
      model.off?.("comm:close", onClose);
      model.off?.("comm_live_update", onLiveChange);
    };
  }

  /**
   * Return every output that shows the view: the position of its cell, the outputs of that cell, and the index in them.
   */
  private viewOutputs(): [cell: number, outputs: Outputs, index: number][] {
    const cells = this.manager.context?.model?.cells;
    const found: [number, Outputs, number][] = [];
    for (let position = 0; position < (cells?.length ?? 0); position++) {
      const outputs = cells?.get(position).outputs;
      for (let index = 0; index < (outputs?.length ?? 0); index++) {
        if (outputs && this.isView(outputs.get(index))) found.push([position, outputs, index]);
      }
    }
    return found;
  }

  private isView(output: OutputModel): boolean {
    const data = output.data ?? output.toJSON?.().data;
    return (data?.[VIEW_MIME] as { model_id?: unknown } | undefined)?.model_id === this.uid();
  }
}

function connect<T>(signal: Signal<T> | undefined, listener: (value: T) => unknown): () => void {
  const slot = (_: unknown, value: T): void => void listener(value);
  if (typeof signal?.connect !== "function") return () => undefined;
  signal.connect(slot);
  return () => void signal.disconnect?.(slot);
}
