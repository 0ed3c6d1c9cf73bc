/**
 * The widget in the frame of another host, loaded the way anywidget loads it: the module's text comes through the model,
 * and is imported from a blob. The tests in tests/browser/test_frames.py serve this script, and both modules as `built`.
 */

import type widget from "../src/index";
import type { ToKernel } from "../src/protocol";
import { ReplayModel } from "./model";
import { state } from "./states";

declare const built: { loader: string; widget: string };

class HostModel extends ReplayModel {
  override send(message: ToKernel): void {
    if (message.t === "module") queueMicrotask(() => this.deliver({ t: "module", v: 1, code: built.widget }));
    else super.send(message);
  }
}

const url = URL.createObjectURL(new Blob([built.loader], { type: "text/javascript" }));
const loader: { default: typeof widget } = await import(url);
URL.revokeObjectURL(url);
const replay = new HostModel(state(new URLSearchParams(location.search).get("state") ?? "paused"));
const { initialize, render } = loader.default();
const { model } = replay;
initialize({ model });
render({ model, el: document.querySelector("#output") as HTMLElement });

// for the tests, which ask what the view has sent
Object.assign(window, { replay });
