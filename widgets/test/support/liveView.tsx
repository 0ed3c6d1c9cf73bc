/** A live view in a test: the widget, drawn from a model that replays a recording. */

import { act, cleanup, fireEvent } from "@testing-library/preact";
import { afterEach, vi } from "vitest";
import { type Recording, ReplayModel } from "../../dev/model";
import { state } from "../../dev/states";
import widget from "../../src/index";
import type { Command, FromKernel, Head, ToKernel } from "../../src/protocol";

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
  cleanup();
  document.body.replaceChildren();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

export class LiveView {
  readonly model: ReplayModel;
  readonly views: HTMLElement[] = [];

  constructor(recording: Recording) {
    this.model = new ReplayModel(recording);
  }

  get root(): HTMLElement {
    return this.views[0] as HTMLElement;
  }

  /** The commands that were sent, without their envelopes. */
  get commands(): Command[] {
    return this.model.sent
      .filter((message) => message.t === "cmd")
      .map(({ t: _t, v: _v, cid: _cid, ...command }) => command as Command);
  }

  get lastCommand(): Command | undefined {
    return this.commands.pop();
  }

  sent(kind: ToKernel["t"]): ToKernel[] {
    return this.model.sent.filter((message) => message.t === kind);
  }

  async receive(...messages: FromKernel[]): Promise<void> {
    await act(() => {
      for (const message of messages) this.model.deliver(message);
    });
  }

  /** Change the head by one more event. */
  async head(change: Partial<Head>): Promise<void> {
    const { run, seq, head } = this.reset;
    await this.receive({ t: "events", v: 1, run, seq: seq + 1, ev: [{ k: "head", head: { ...head, ...change } }] });
  }

  get reset(): Extract<FromKernel, { t: "reset" }> {
    const { messages } = this.model.recording;
    return messages.find((message) => message.t === "reset") as Extract<FromKernel, { t: "reset" }>;
  }

  button(name: string, within: ParentNode = this.root): HTMLElement {
    const found = [...within.querySelectorAll<HTMLElement>("button")].find(
      (button) => (button.getAttribute("aria-label") ?? button.textContent) === name,
    );
    if (!found) throw new Error(`there is no button ${name}`);
    return found;
  }

  entry(id: number): HTMLElement {
    const found = this.root.querySelector<HTMLElement>(`[data-entry="${id}"]`);
    if (!found) throw new Error(`there is no entry ${id}`);
    return found;
  }

  async press(name: string, within?: ParentNode): Promise<void> {
    await act(async () => {
      fireEvent.click(this.button(name, within));
      await settled();
    });
  }

  async key(
    key: string,
    target: Element = this.root.querySelector(".ak-root") as Element,
    more: object = {},
  ): Promise<void> {
    await act(async () => {
      fireEvent.keyDown(target, { key, bubbles: true, ...more });
      await settled();
    });
  }

  async unfold(details: HTMLDetailsElement): Promise<void> {
    await act(async () => {
      details.open = true;
      fireEvent(details, new Event("toggle"));
      await settled();
    });
    await act(settled);
  }

  async type(label: string, text: string, within: ParentNode = this.root): Promise<void> {
    const field = within.querySelector<HTMLTextAreaElement>(`:is(textarea,input)[aria-label="${label}"]`);
    if (!field) throw new Error(`there is no field ${label}`);
    await act(() => {
      fireEvent.input(field, { target: { value: text } });
    });
  }
}

export async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await Promise.resolve();
}

/** Return a new object for the same model, as hosts do at every call. */
function wrap(model: ReplayModel): ReplayModel["model"] {
  return new Proxy(model.model, { get: (target, name) => bind(Reflect.get(target, name), target) });
}

function bind(value: unknown, target: object): unknown {
  return typeof value === "function" ? value.bind(target) : value;
}

/** Show a state of the dev page, or a recording, in one or more views. */
export async function show(
  what: string | Recording,
  views = 1,
  prepare: (model: ReplayModel) => void = () => undefined,
): Promise<LiveView> {
  const shown = new LiveView(typeof what === "string" ? state(what) : what);
  prepare(shown.model);
  const { initialize, render } = widget();
  await act(async () => {
    closing.push(initialize({ model: wrap(shown.model) }));
    for (let view = 0; view < views; view++) {
      const el = document.createElement("div");
      document.body.append(el);
      shown.views.push(el);
      closing.push(render({ model: wrap(shown.model), el }));
    }
    await settled();
  });
  return shown;
}
