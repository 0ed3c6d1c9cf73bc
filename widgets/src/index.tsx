/** The widget: one store for each model, from which its views are drawn. */

import type { AnyModel } from "@anywidget/types";
import { render } from "preact";
import { type HostModel, Notebook } from "./notebook";
import { drawPlainly } from "./plain";
import type { FromKernel, Traits } from "./protocol";
import { Store } from "./store";
import { View } from "./view";

type Model = AnyModel<Traits & { [name: string]: unknown }>;

interface Held {
  store: Store;
  notebook: Notebook;
  close: () => void;
}

/** Make the store of a model. Everything that may be missing in a host is looked for in `Notebook`. */
function hold(model: Model): Held {
  const notebook = new Notebook(model as HostModel, () => String(model.get("uid")));
  const store = new Store({
    send: (message) => model.send(message),
    can: notebook.can,
    insert: (cells) => attempt(() => notebook.insert(cells)),
    freeze: (data) => attempt(() => notebook.freeze(data)),
  });
  const taken = (message: FromKernel): void => store.take(message);
  const sent = (): void => store.sent(Number(model.get("seq")));
  const seen = (): void => void (document.visibilityState === "visible" && store.hello());
  model.on("msg:custom", taken);
  model.on("change:seq", sent);
  document.addEventListener("visibilitychange", seen);
  const undo = [notebook.onGone(() => store.gone()), notebook.onSave(() => store.settle(true))];
  const close = (): void => {
    model.off("msg:custom", taken);
    model.off("change:seq", sent);
    document.removeEventListener("visibilitychange", seen);
    for (const each of undo) each();
    store.close();
  };
  return { store, notebook, close };
}

/** A host that has another shape than was expected can do nothing, which is an answer too. */
function attempt(act: () => number): number {
  try {
    return act();
  } catch {
    return 0;
  }
}

drawPlainly();

/** Called once for each model; the objects that a host passes as its model differ from call to call. */
export default () => {
  let held: Held | undefined;
  return {
    initialize({ model }: { model: Model }): () => void {
      held = hold(model);
      held.store.hello();
      return held.close;
    },
    render({ model, el }: { model: Model; el: HTMLElement }): () => void {
      held ??= hold(model);
      held.store.hello();
      render(<View store={held.store} save={held.notebook.save} />, el);
      return () => render(null, el);
    },
  };
};
