/**
 * The notebook around a view, as far as it can be reached: JupyterLab 4 and Notebook 7 allow it through the widget
 * manager. None of this is a documented interface, so every step is checked before it is taken.
 */

import type { Abilities, NotebookCell } from "./protocol";

const VIEW_MIME = "application/vnd.jupyter.widget-view+json";

interface Signal<T> {
  connect?: (slot: (sender: unknown, value: T) => void) => boolean;
  disconnect?: (slot: (sender: unknown, value: T) => void) => boolean;
}

type Data = { [mime: string]: unknown };

interface Output {
  data?: Data;
  metadata?: { agentkit?: { view?: unknown; moment?: unknown } };
}

interface OutputModel extends Output {
  toJSON?: () => Output;
}

interface Outputs {
  length: number;
  get: (index: number) => OutputModel;
  set: (index: number, output: object) => void;
}

interface Cell {
  id?: string;
  outputs?: Outputs;
  executionState?: string;
}

/** A widget of JupyterLab's own kind. */
interface Panel {
  id: string;
  title: { label: string; caption: string; closable: boolean };
  node: HTMLElement;
  isDisposed: boolean;
  disposed?: Signal<unknown>;
  dispose: () => void;
}

interface Context {
  save?: () => Promise<void>;
  saveState?: Signal<string>;
  addSibling?: (panel: Panel, options: { ref?: string | undefined; mode: string }) => unknown;
  model?: {
    cells?: { length: number; get: (index: number) => Cell };
    contentChanged?: Signal<unknown>;
    sharedModel?: { insertCells?: (at: number, cells: object[]) => void };
  };
}

interface Kernel {
  status?: string;
  statusChanged?: Signal<string>;
  disposed?: Signal<unknown>;
}

interface Manager {
  context?: Context;
  kernel?: Kernel | null;
  get_model?: (id: string) => Promise<unknown>;
  create_view?: (model: unknown) => Promise<{ luminoWidget?: Panel; pWidget?: Panel }>;
}

/** A widget model with what hosts may offer beyond anywidget's own interface. */
export interface HostModel {
  widget_manager?: unknown;
  comm_live?: boolean;
  on?: (name: string, callback: () => void) => void;
  off?: (name: string, callback: () => void) => void;
}

/** Milliseconds after which changes of the notebook are looked at, all at once. */
const CHANGE_DELAY = 50;

const DEAD = ["dead", "restarting", "autorestarting", "terminating"];

export class Notebook {
  private readonly manager: Manager;
  /** The cell that last contained the newest moment. */
  private cell: Cell | undefined;
  private docked: Panel | undefined;

  constructor(
    private readonly model: HostModel,
    private readonly uid: () => string,
  ) {
    this.manager = (model.widget_manager ?? {}) as Manager;
  }

  get can(): Abilities {
    const { context, create_view } = this.manager;
    const hasCells = typeof context?.model?.cells?.get === "function";
    return {
      insert: hasCells && typeof context?.model?.sharedModel?.insertCells === "function",
      settle: hasCells,
      // other applications show one document at a time
      dock: hasCells && !!context?.addSibling && !!create_view && document.querySelector(".jp-LabShell") !== null,
    };
  }

  /** Insert cells below the one that shows the view, as a single undo step. Return how many were inserted. */
  insert(cells: NotebookCell[]): number {
    const model = this.manager.context?.model;
    const { position } = this.outputs().at(-1) ?? {};
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

  /** Replace each live output of the run by its static form. Return how many were replaced. */
  settle(): number {
    const found = this.outputs().filter(({ data }) => VIEW_MIME in data);
    for (const { outputs, index, data, metadata } of found) {
      const { [VIEW_MIME]: _, ...rest } = data;
      outputs.set(index, { output_type: "display_data", data: rest, metadata });
    }
    return found.length;
  }

  /** Replace each output of a moment. Return how many were replaced. */
  setMoment(moment: number, data: Data): number {
    const found = this.outputs().filter((output) => output.moment === moment);
    for (const { outputs, index, metadata } of found)
      outputs.set(index, { output_type: "display_data", data, metadata });
    return found.length;
  }

  /** Whether the notebook contains a moment. */
  has(moment: number): boolean {
    const found = this.outputs().find((output) => output.moment === moment);
    if (found) this.cell = found.cell;
    return found !== undefined;
  }

  /**
   * Whether a moment that the notebook does not contain may come back: its cell is still running, or it was deleted,
   * which can be undone.
   */
  mayComeBack(): "soon" | "later" | "never" {
    const cells = this.cells();
    const cell = cells.find(({ id }) => id === this.cell?.id);
    if (!cell) return "later";
    return cell.executionState === "running" ? "soon" : "never";
  }

  /** Open a view beside the notebook, unless one is open. Return 0 if that is impossible here. */
  async dock(): Promise<number> {
    const { context, get_model, create_view } = this.manager;
    if (!this.can.dock || !context?.addSibling || !get_model || !create_view) return 0;
    if (this.docked && !this.docked.isDisposed && this.docked.node.isConnected) return 1;
    const view = await create_view.call(this.manager, await get_model.call(this.manager, this.uid()));
    const inner = view.luminoWidget ?? view.pWidget;
    if (!inner) return 0;
    // in a panel of its own, since both the dock and the layout of the widget set the position of their element
    const Widget = Object.getPrototypeOf(inner.constructor) as new () => Panel;
    const panel = new Widget();
    panel.node.append(inner.node);
    connect(panel.disposed, () => inner.dispose());
    panel.id = `agentkit-${this.uid()}`;
    Object.assign(panel.title, { label: "Agent run", caption: "A run of this notebook", closable: true });
    panel.node.style.overflow = "auto";
    this.docked = panel;
    const notebook = document.querySelector(`.ak-moment[class*="${this.uid()}"]`)?.closest(".jp-NotebookPanel");
    context.addSibling(panel, { ref: notebook?.id, mode: "split-right" });
    return 1;
  }

  /** Whether the kernel is known to be busy, for example with a cell. */
  get isKernelBusy(): boolean {
    return this.manager.kernel?.status === "busy";
  }

  get save(): (() => void) | undefined {
    const { context } = this.manager;
    return typeof context?.save === "function" ? () => void context.save?.() : undefined;
  }

  /** Call `onChange` soon after the notebook has changed. Return the function that ends this. */
  onChange(onChange: () => void): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        onChange();
      }, CHANGE_DELAY);
    };
    const disconnect = connect(this.manager.context?.model?.contentChanged, later);
    return () => {
      disconnect();
      clearTimeout(timer);
    };
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

  private cells(): Cell[] {
    const cells = this.manager.context?.model?.cells;
    return Array.from({ length: cells?.length ?? 0 }, (_, index) => cells?.get(index) ?? {});
  }

  /** Return every output of the run, with its place. */
  private outputs(): MomentOutput[] {
    const found: MomentOutput[] = [];
    for (const [position, cell] of this.cells().entries()) {
      const { outputs } = cell;
      for (let index = 0; outputs && index < outputs.length; index++) {
        const model = outputs.get(index);
        const { data = {}, metadata = {} } = model.metadata && model.data ? model : (model.toJSON?.() ?? model);
        if (metadata.agentkit?.view !== this.uid()) continue;
        found.push({ position, cell, outputs, index, data, metadata, moment: metadata.agentkit.moment });
      }
    }
    return found;
  }
}

interface MomentOutput {
  position: number;
  cell: Cell;
  outputs: Outputs;
  index: number;
  data: Data;
  metadata: object;
  moment: unknown;
}

function connect<T>(signal: Signal<T> | undefined, listener: (value: T) => unknown): () => void {
  const slot = (_: unknown, value: T): void => void listener(value);
  if (typeof signal?.connect !== "function") return () => undefined;
  signal.connect(slot);
  return () => void signal.disconnect?.(slot);
}
