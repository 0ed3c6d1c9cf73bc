/**
 * The widget without Jupyter: `?state=waiting&theme=dark&width=400`. `press` clicks what a selector matches, `type`
 * sends keys to the view, `views` is the number of views.
 */

import widget from "../src/index";
import { ReplayModel } from "./model";
import { NAMES, state, UNREACHABLE } from "./states";

const query = new URLSearchParams(location.search);
const name = query.get("state") ?? "paused";
const replay = new ReplayModel(state(UNREACHABLE.includes(name) ? "paused" : name));
if (name === "unanswered") replay.isDeaf = true;

document.body.className = query.get("theme") ?? "light";
if (query.has("bare")) document.body.className += " bare";
if (!query.has("shot")) addLinks();

// for the console: `replay.deliver(…)` sends a message to the views
Object.assign(window, { replay });

const { initialize, render } = widget();
const { model } = replay;
initialize({ model });
for (let view = 0; view < Number(query.get("views") ?? 1); view++) {
  const el = document.createElement("div");
  el.className = "cell";
  el.style.width = `${query.get("width") ?? "900"}px`;
  document.body.append(el);
  render({ model, el });
}
// after the first answer
setTimeout(() => {
  if (name === "lost") replay.trigger("comm:close");
  if (name === "unresponsive") {
    replay.isDeaf = true;
    document.querySelector<HTMLElement>("[aria-label=Step]")?.click();
  }
  const view = document.querySelector<HTMLElement>(".ak-root");
  for (const key of (query.get("type") ?? "").split(",").filter(Boolean)) {
    const target = view?.querySelector(":focus") ?? view;
    target?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  const selectors = (query.get("press") ?? "").split("|").filter(Boolean);
  for (const [index, selector] of selectors.entries()) {
    setTimeout(() => document.querySelector<HTMLElement>(selector)?.click(), 60 * (index + 1));
  }
}, 100);

function addLinks(): void {
  const nav = document.createElement("nav");
  for (const name of NAMES) {
    const link = document.createElement("a");
    const target = new URLSearchParams(query);
    target.set("state", name);
    link.href = `?${target}`;
    link.textContent = name;
    nav.append(link, " ");
  }
  document.body.append(nav);
}
