/** The widget: one store per model, from which its views are drawn. */

import type { AnyModel } from "@anywidget/types";
import { render } from "preact";
import { escapeAllTexts } from "./elements/escape";
import { type HostModel, Notebook } from "./notebook";
import type { FromKernel, Traits } from "./protocol";
import { Store } from "./state/store";
import { View } from "./view/view";

type Model = AnyModel<Traits & { [name: string]: unknown }>;

interface Connected {
  store: Store;
  notebook: Notebook;
  close: () => void;
}

/** Make the store of a model, and connect it to the kernel and to the notebook. */
function connect(model: Model): Connected {
  const notebook = new Notebook(model as HostModel, () => String(model.get("uid")));
  const store = new Store({
    send: (message) => model.send(message),
    can: notebook.can,
    insert: (cells) => countOrZero(() => notebook.insert(cells)),
    freeze: (data) => countOrZero(() => notebook.freeze(data)),
  });
  const onMessage = (message: FromKernel): void => store.receive(message);
  const onSequence = (): void => store.checkSequence(Number(model.get("seq")));
  const onVisible = (): void => void (document.visibilityState === "visible" && store.hello());
  model.on("msg:custom", onMessage);
  model.on("change:seq", onSequence);
  document.addEventListener("visibilitychange", onVisible);
  const stopWatching = [notebook.onKernelLost(() => store.lose()), notebook.onSave(() => store.freeze(true))];
  const close = (): void => {
    model.off("msg:custom", onMessage);
    model.off("change:seq", onSequence);
    document.removeEventListener("visibilitychange", onVisible);
    for (const stop of stopWatching) stop();
    store.close();
  };
  return { store, notebook, close };
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
      connected.store.hello();
      render(<View store={connected.store} save={connected.notebook.save} />, el);
      return () => render(null, el);
    },
  };
};
