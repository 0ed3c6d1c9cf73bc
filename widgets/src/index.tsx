/** The widget: one store per model, from which its views are drawn. This module is evaluated once per page. */

import type { AnyModel } from "@anywidget/types";
import { render } from "preact";
import { escapeAllTexts } from "./elements/escape";
import { lookSoon, Places } from "./moments";
import { type HostModel, Notebook } from "./notebook";
import type { FromKernel, Traits } from "./protocol";
import { Store } from "./state/store";
import { addStyle } from "./styleSheet";
import { View } from "./view/view";

type Model = AnyModel<Traits & { [name: string]: unknown }>;

interface Connected {
  store: Store;
  notebook: Notebook;
  places: Places;
  close: () => void;
}

/** Milliseconds after which a run that is no longer to be seen is given up: its output is gone, or its cell deleted. */
const GIVE_UP = { never: 1_000, soon: 1_000, later: 60_000 };

/** Make the store of a model, and connect it to the kernel and to the notebook. */
function connect(model: Model): Connected {
  const notebook = new Notebook(model as HostModel, () => String(model.get("uid")));
  const newest = (): number => Number(model.get("moment"));
  let isVisible = false;
  // a page in the background does not look for moments
  const isShown = (): boolean => isVisible || notebook.has(newest());
  const store: Store = new Store({
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
    render(<View store={store} save={notebook.save} />, el);
    requestAnimationFrame(() => addStyle(el));
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
  addStyle(document.body);
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
 * Called once per model. Hosts may pass a different object for the same model at each call, so it cannot be the key.
 */
export default () => {
  let connected: Connected | undefined;
  return {
    initialize({ model }: { model: Model }): () => void {
      connected = connect(model);
      connected.store.hello();
      return connected.close;
    },
    render({ model, el }: { model: Model; el: HTMLElement }): () => void {
      connected ??= connect(model);
      const { store, notebook, places } = connected;
      // an output that has just become static is drawn by the page; a view that is part of a layout is not in it
      if (countOrZero(() => notebook.settle())) return () => undefined;
      store.hello();
      return places.render(el);
    },
  };
};
