/**
 * The widget without Jupyter: `?state=waiting&theme=dark&width=400`. `press` clicks what it selects, `type` sends keys to the
 * view, `open` gives the number of views.
 */

import widget from "../src/index";
import { RecordedModel } from "./model";
import { NAMES, state } from "./states";

const asked = new URLSearchParams(location.search);
const name = asked.get("state") ?? "paused";
const unreached = ["connecting", "late", "gone"].includes(name);
const recorded = new RecordedModel(state(unreached ? "paused" : name));
if (name === "connecting") recorded.deaf = true;

document.body.className = asked.get("theme") ?? "light";
if (asked.has("bare")) document.body.className += " bare";
if (!asked.has("shot")) links();

// for the console: what it is said, it draws
Object.assign(window, { recorded });

const { initialize, render } = widget();
const { model } = recorded;
initialize({ model });
for (let view = 0; view < Number(asked.get("open") ?? 1); view++) {
  const el = document.createElement("div");
  el.className = "cell";
  el.style.width = `${asked.get("width") ?? "900"}px`;
  document.body.append(el);
  render({ model, el });
}
// the state is there after the first answer
setTimeout(() => {
  if (name === "gone") recorded.trigger("comm:close");
  if (name === "late") {
    recorded.deaf = true;
    document.querySelector<HTMLElement>("[aria-label=Step]")?.click();
  }
  const view = document.querySelector<HTMLElement>(".ak-root");
  for (const key of (asked.get("type") ?? "").split(",").filter(Boolean)) {
    const at = view?.querySelector(":focus") ?? view;
    at?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  const presses = (asked.get("press") ?? "").split("|").filter(Boolean);
  for (const [index, selector] of presses.entries()) {
    setTimeout(() => document.querySelector<HTMLElement>(selector)?.click(), 60 * (index + 1));
  }
}, 100);

function links(): void {
  const nav = document.createElement("nav");
  for (const each of NAMES) {
    const link = document.createElement("a");
    const query = new URLSearchParams(asked);
    query.set("state", each);
    link.href = `?${query}`;
    link.textContent = each;
    nav.append(link, " ");
  }
  document.body.append(nav);
}
