/** A widget: one store per model, from which its views are drawn. A module of widgets is evaluated once per page. */

import type { AnyModel } from "@anywidget/types";
import { type JSX, render } from "preact";
import { escapeAllTexts } from "./elements/escape";
import { lookSoon, Places } from "./moments";
import { type HostModel, Notebook } from "./notebook";
import type { FromKernel, Traits } from "./protocol";
import type { Host } from "./state/host";
import { addStyle } from "./styleSheet";

type Model = AnyModel<Traits & { [name: string]: unknown }>;

/** What a page knows of a thing, as far as the widget model is concerned. */
export interface ModelStore {
  /** There is something to draw. */
  ready: boolean;
  hello: () => void;
  receive: (message: FromKernel) => void;
  reopened: () => void;
  checkSequence: (seq: number) => void;
  lose: () => void;
  gone: () => void;
  close: () => void;
}

/** What the widgets of a module are: their style sheet, what a page knows of each, and how that is drawn. */
export interface Kind<S extends ModelStore> {
  css: string;
  store: (host: Host) => S;
  /** `save` saves the notebook, if the host allows it. */
  draw: (store: S, save: (() => void) | undefined) => JSX.Element;
}

interface Connected<S> {
  store: S;
  notebook: Notebook;
  places: Places;
  close: () => void;
}

/** Milliseconds after which a run that is no longer to be seen is given up: its output is gone, or its cell deleted. */
const GIVE_UP = { never: 1_000, soon: 1_000, later: 60_000 };

/** Make the store of a model, and connect it to the kernel and to the notebook. */
function connect<S extends ModelStore>(model: Model, kind: Kind<S>): Connected<S> {
  const notebook = new Notebook(model as HostModel, () => String(model.get("uid")));
  const newest = (): number => Number(model.get("moment"));
  let isVisible = false;
  // a page in the background does not look for moments
  const isShown = (): boolean => isVisible || notebook.has(newest());
  const store: S = kind.store({
    send: (message) => model.send(message),
    can: notebook.can,
    insert: (cells) => countOrZero(() => notebook.insert(cells)),
    setMoment: (moment, data) => countOrZero(() => notebook.setMoment(moment, data)),
    dock: () => {
      void notebook.dock().catch(() => 0);
      return +notebook.can.dock;
    },
    isShown,
    isKernelBusy: () => notebook.isKernelBusy,
  });
  const draw = (el: HTMLElement): (() => void) => {
    render(kind.draw(store, notebook.save), el);
    requestAnimationFrame(() => addStyle(el, kind.css));
    return () => render(null, el);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const giveUp = (): void => {
    clearTimeout(timer);
    if (isVisible || !notebook.can.settle) return;
    const chance = notebook.mayComeBack();
    const next = chance === "soon" ? giveUp : () => isShown() || store.gone();
    timer = setTimeout(next, GIVE_UP[chance]);
  };
  const places = new Places(
    () => String(model.get("uid")),
    newest,
    () => notebook.has(newest()),
    () => store.ready,
    draw,
    (shown) => {
      isVisible = shown;
      giveUp();
    },
  );
  const onMessage = (message: FromKernel): void => {
    const wasReady = store.ready;
    store.receive(message);
    if (store.ready && !wasReady) lookSoon();
  };
  const onOpen = (): void => store.reopened();
  const onSequence = (): void => store.checkSequence(Number(model.get("seq")));
  const onVisible = (): void => void (document.visibilityState === "visible" && store.hello());
  const onMoment = (): void => {
    countOrZero(() => notebook.settle());
    lookSoon();
  };
  model.on("msg:custom", onMessage);
  model.on("comm:open", onOpen);
  model.on("change:seq", onSequence);
  model.on("change:moment", onMoment);
  document.addEventListener("visibilitychange", onVisible);
  const stopWatching = [notebook.onKernelLost(() => store.lose()), notebook.onChange(onMoment)];
  const close = (): void => {
    clearTimeout(timer);
    model.off("msg:custom", onMessage);
    model.off("comm:open", onOpen);
    model.off("change:seq", onSequence);
    model.off("change:moment", onMoment);
    document.removeEventListener("visibilitychange", onVisible);
    for (const stop of stopWatching) stop();
    places.close();
    store.close();
  };
  addStyle(document.body, kind.css);
  onMoment();
  giveUp();
  return { store, notebook, places, close };
}

/** Return 0 if a host differs so much from what we know that the attempt raises. */
function countOrZero(attempt: () => number): number {
  try {
    return attempt();
  } catch {
    return 0;
  }
}

escapeAllTexts();

/**
 * Return what a module exports: a function that is called once per model. Hosts may pass a different object for the same
 * model at each call, so it cannot be the key.
 */
export const widget =
  <S extends ModelStore>(kind: Kind<S>) =>
  () => {
    let connected: Connected<S> | undefined;
    return {
      initialize({ model }: { model: Model }): () => void {
        connected = connect(model, kind);
        connected.store.hello();
        return connected.close;
      },
      render({ model, el }: { model: Model; el: HTMLElement }): () => void {
        connected ??= connect(model, kind);
        const { store, notebook, places } = connected;
        // an output that has just become static is drawn by the page; a view that is part of a layout is not in it
        if (countOrZero(() => notebook.settle())) return () => undefined;
        store.hello();
        return places.render(el);
      },
    };
  };
