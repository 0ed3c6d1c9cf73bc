/** A live view in a test: the widget on a model that plays what was recorded. */

import { act, cleanup, fireEvent } from "@testing-library/preact";
import { afterEach, vi } from "vitest";
import { type Recorded, RecordedModel } from "../dev/model";
import { state } from "../dev/states";
import widget from "../src/index";
import type { Command, FromKernel, Head, ToKernel } from "../src/protocol";

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
  cleanup();
  document.body.replaceChildren();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

export class Shown {
  readonly model: RecordedModel;
  readonly views: HTMLElement[] = [];

  constructor(recorded: Recorded) {
    this.model = new RecordedModel(recorded);
  }

  get root(): HTMLElement {
    return this.views[0] as HTMLElement;
  }

  /** The commands that were sent, without what only the envelope needs. */
  get told(): Command[] {
    return this.model.told
      .filter((message) => message.t === "cmd")
      .map(({ t: _t, v: _v, cid: _cid, ...command }) => command as Command);
  }

  said(kind: ToKernel["t"]): ToKernel[] {
    return this.model.told.filter((message) => message.t === kind);
  }

  async say(...messages: FromKernel[]): Promise<void> {
    await act(() => {
      for (const message of messages) this.model.say(message);
    });
  }

  /** Change the head by one more event. */
  async head(change: Partial<Head>): Promise<void> {
    const reset = this.reset;
    await this.say({
      t: "events",
      v: 1,
      run: reset.run,
      seq: reset.seq + 1,
      ev: [{ k: "head", head: { ...reset.head, ...change } }],
    });
  }

  get reset(): Extract<FromKernel, { t: "reset" }> {
    return this.model.recorded.messages.find((message) => message.t === "reset") as Extract<FromKernel, { t: "reset" }>;
  }

  button(name: string, within: ParentNode = this.root): HTMLElement {
    const found = [...within.querySelectorAll<HTMLElement>("button")].find(
      (each) => (each.getAttribute("aria-label") ?? each.textContent) === name,
    );
    if (!found) throw new Error(`no button ${name}`);
    return found;
  }

  entry(id: number): HTMLElement {
    const found = this.root.querySelector<HTMLElement>(`[data-entry="${id}"]`);
    if (!found) throw new Error(`no entry ${id}`);
    return found;
  }

  async press(name: string, within?: ParentNode): Promise<void> {
    await act(async () => {
      fireEvent.click(this.button(name, within));
      await settled();
    });
  }

  async key(key: string, at: Element = this.root.querySelector(".ak-root") as Element, more: object = {}): Promise<void> {
    await act(async () => {
      fireEvent.keyDown(at, { key, bubbles: true, ...more });
      await settled();
    });
  }

  async unfold(fold: HTMLDetailsElement): Promise<void> {
    await act(async () => {
      fold.open = true;
      fireEvent(fold, new Event("toggle"));
      await settled();
    });
    await act(settled);
  }

  async type(label: string, text: string, within: ParentNode = this.root): Promise<void> {
    const box = within.querySelector<HTMLTextAreaElement>(`:is(textarea,input)[aria-label="${label}"]`);
    if (!box) throw new Error(`no box ${label}`);
    await act(() => {
      fireEvent.input(box, { target: { value: text } });
    });
  }
}

export async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
}

/** A host gives another object for the same model at every call. */
function another(model: RecordedModel): RecordedModel["model"] {
  return new Proxy(model.model, { get: (target, name) => bound(Reflect.get(target, name), target) });
}

function bound(value: unknown, target: object): unknown {
  return typeof value === "function" ? value.bind(target) : value;
}

/** Show a state, or a recording, in so many views. */
export async function show(
  what: string | Recorded,
  views = 1,
  prepare: (model: RecordedModel) => void = () => undefined,
): Promise<Shown> {
  const shown = new Shown(typeof what === "string" ? state(what) : what);
  prepare(shown.model);
  const { initialize, render } = widget();
  await act(async () => {
    closing.push(initialize({ model: another(shown.model) }));
    for (let view = 0; view < views; view++) {
      const el = document.createElement("div");
      document.body.append(el);
      shown.views.push(el);
      closing.push(render({ model: another(shown.model), el }));
    }
    await settled();
  });
  return shown;
}
