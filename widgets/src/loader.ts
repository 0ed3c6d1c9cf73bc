/**
 * What each widget model carries: it takes the widget from the page, or else asks the kernel for it. So the module is
 * sent and evaluated once per page and version, however many runs are shown.
 *
 * `initialize` must return at once: a host may give up on a model that is not ready within two seconds.
 */

import type { AnyModel } from "@anywidget/types";
import type { FromKernel, ToKernel, Traits } from "./protocol";

type Model = AnyModel<Traits & { [name: string]: unknown }>;

interface Widget {
  initialize: (props: { model: Model }) => () => void;
  render: (props: { model: Model; el: HTMLElement }) => () => void;
}

/** The widget of one version, as soon as it has arrived. */
interface Shared {
  ready: Promise<Widget>;
  receive?: (code: string) => void;
  /** The time of the latest request, and the milliseconds to wait before the next one. */
  asked: number;
  wait: number;
}

/** Between the models of a page, which do not share any module. */
const page = globalThis as { [key: symbol]: unknown };
const KEY = Symbol.for("agentkit.widgets");
const FIRST_WAIT = 1_000;

function shared(version: string): Shared {
  page[KEY] ??= new Map<string, Shared>();
  const all = page[KEY] as Map<string, Shared>;
  const existing = all.get(version);
  if (existing) return existing;
  const made: Shared = { asked: 0, wait: FIRST_WAIT, ready: Promise.resolve() as never };
  made.ready = new Promise((resolve) => {
    made.receive = (code) => {
      delete made.receive; // the answers to later requests are the same
      resolve(load(code));
    };
  });
  all.set(version, made);
  return made;
}

async function load(code: string): Promise<Widget> {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  URL.revokeObjectURL(url);
  return widget();
}

/** Return the widget of this model's version. Any model may ask for it, since the one that asked first may be gone. */
async function widgetOf(model: Model, isClosed: () => boolean): Promise<Widget> {
  const module = shared(String(model.get("module")));
  const onMessage = (message: FromKernel): void => {
    if (message?.t === "module") module.receive?.(message.code);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = (): void => {
    if (!module.receive || isClosed()) return;
    const now = Date.now();
    if (now - module.asked >= module.wait) {
      if (module.asked) module.wait *= 2;
      module.asked = now;
      model.send({ t: "module" } satisfies ToKernel);
    }
    timer = setTimeout(ask, FIRST_WAIT);
  };
  model.on("msg:custom", onMessage);
  ask();
  const widget = await module.ready;
  clearTimeout(timer);
  model.off("msg:custom", onMessage);
  return widget;
}

export default (): object => {
  let isClosed = false;
  let widget: Promise<Widget> | undefined;
  return {
    initialize({ model }: { model: Model }): () => void {
      widget ??= widgetOf(model, () => isClosed);
      const connected = widget.then((it) => (isClosed ? undefined : it.initialize({ model })));
      return () => {
        isClosed = true;
        void connected.then((close) => close?.());
      };
    },
    render({ model, el }: { model: Model; el: HTMLElement }): () => void {
      widget ??= widgetOf(model, () => isClosed);
      let isRemoved = false;
      const drawn = widget.then((it) => (isRemoved ? undefined : it.render({ model, el })));
      return () => {
        isRemoved = true;
        void drawn.then((remove) => remove?.());
      };
    },
  };
};
