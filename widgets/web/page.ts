/** The script of a server's pages: it keeps the list of runs up to date, starts runs, and shows a run with the widget. */

import type { AnyModel } from "@anywidget/types";
import type { Head, Traits } from "../src/protocol";
import { SocketModel } from "./socketModel";

interface Widget {
  initialize: (props: { model: AnyModel<Traits & { [name: string]: unknown }> }) => () => void;
  render: (props: { model: AnyModel<Traits & { [name: string]: unknown }>; el: HTMLElement }) => () => void;
}

const models: SocketModel[] = [];

function find<E extends HTMLElement>(selector: string): E | null {
  return document.querySelector<E>(selector);
}

function say(selector: string, text: string): void {
  const place = find(selector);
  if (place && place.textContent !== text) place.textContent = text;
}

/** The address of a socket of this server. */
function socketUrl(path: string): string {
  return new URL(path, location.href.replace(/^http/, "ws")).href;
}

/** Send a request to this server. Return its response; if it is refused, or cannot be sent, say why. */
async function post(path: string, data?: object): Promise<Response | undefined> {
  say("#problem", "");
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(data ?? {}) });
    if (response.ok) return response;
    say("#problem", errorIn(await response.text()) || response.statusText);
  } catch {
    say("#problem", "The server does not answer. Is it still running?");
  }
  return undefined;
}

/** Return the message of an error in JSON, or else its text. */
function errorIn(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { error?: string | { message?: string }; message?: string };
    return message ?? (typeof error === "object" ? error.message : error) ?? text;
  } catch {
    return text;
  }
}

// -- the list of runs -------------------------------------------------------------------------------------------------

function keepList(wait = 500): void {
  const socket = new WebSocket(socketUrl("/socket"));
  let next = wait;
  socket.onmessage = ({ data }) => {
    next = 500;
    const focused = document.activeElement?.id;
    // written by the server, which has escaped all texts
    const list = new DOMParser().parseFromString(String(data), "text/html").getElementById("runs");
    if (list) find("#runs")?.replaceWith(list);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  socket.onclose = () => setTimeout(() => keepList(Math.min(15_000, 2 * next)), next);
}

async function start(form: HTMLFormElement, button: HTMLElement | null): Promise<void> {
  const fields = new FormData(form);
  const task = String(fields.get("task")).trim();
  const session = String(fields.get("session")).trim();
  if (!task) return;
  const response = await post("/runs", {
    task,
    ...(session && { session }),
    ...(button?.getAttribute("name") === "paused" && { paused: true }),
  });
  const id = response?.headers.get("X-Run-Id");
  if (id) location.assign(`/runs/${encodeURIComponent(id)}/view`);
}

// -- a run ------------------------------------------------------------------------------------------------------------

async function showRun(views: HTMLElement): Promise<void> {
  const address = new URL("widget.js", import.meta.url).href;
  const { default: make } = (await import(address)) as { default: () => Widget };
  const show = (run: string): HTMLElement => {
    const el = document.createElement("section");
    views.append(el);
    const url = socketUrl(`/runs/${encodeURIComponent(run)}/socket`);
    const model = new SocketModel(url, run, {
      onLine: sayLine,
      onHead: run === views.dataset.run ? offerHold : undefined,
      onFork: (fork) => show(fork).scrollIntoView({ block: "nearest" }),
    });
    models.push(model);
    const widget = make();
    const props = { model: model as unknown as AnyModel<Traits & { [name: string]: unknown }>, el };
    widget.initialize(props);
    widget.render(props);
    return el;
  };
  show(views.dataset.run as string);
}

function sayLine(isOpen: boolean): void {
  say("#line", isOpen ? "" : "The connection to the server is interrupted; trying again…");
}

/** Offer to go on with the run here while it is only looked at, has not ended, and no other process holds it. */
function offerHold({ status, held, answer }: Head): void {
  const button = find("#hold");
  if (button) button.hidden = status !== "readonly" || Boolean(held) || answer !== null;
}

async function hold(run: string): Promise<void> {
  const button = find<HTMLButtonElement>("#hold");
  if (button && (await post(`/runs/${encodeURIComponent(run)}/hold`))) button.hidden = true;
}

// ---------------------------------------------------------------------------------------------------------------------

const form = find<HTMLFormElement>("#start");
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void start(form, event.submitter);
});
if (find("#runs")) keepList();
const views = find("#views");
if (views) {
  void showRun(views);
  const run = views.dataset.run as string;
  find("#hold")?.addEventListener("click", () => void hold(run));
  const retry = (): void => {
    for (const model of models) model.retry();
  };
  window.addEventListener("online", retry);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && retry());
}
