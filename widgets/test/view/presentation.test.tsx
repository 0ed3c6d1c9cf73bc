import { act } from "@testing-library/preact";
import { afterEach, expect, test } from "vitest";
import { state } from "../../dev/states";
import { PAGE } from "../../src/state/page";
import { type LiveView, show as open, settled } from "../support/liveView";
import { expectNoLeaks } from "../support/render";

afterEach(() => PAGE.present(false));

async function present(name: string): Promise<LiveView> {
  const shown = await open(state(name));
  await shown.key("m");
  await act(settled);
  return shown;
}

function entries(shown: LiveView): (string | null)[] {
  return [...shown.root.querySelectorAll("[data-n]")].map((entry) => entry.getAttribute("data-n"));
}

test("one key shows only the current entry, the source and the variables, and the same key ends it", async () => {
  const shown = await present("paused");
  const last = shown.reset.total - 1;
  expect(entries(shown)).toEqual([String(last)]);
  expect(shown.root.querySelectorAll(".ak-source .ak-current-line, .ak-locals").length).toBe(2);
  expect(shown.root.querySelector(".ak-header, .ak-side, .ak-trace")).toBeNull();
  expect(shown.root.textContent).toContain(`Step ${last} of ${last}`);
  expectNoLeaks(shown.root);
  await shown.key("m");
  expect(shown.root.querySelector(".ak-presentation")).toBeNull();
});

test("Escape ends it, and so does its button", async () => {
  const shown = await present("paused");
  await shown.key("Escape");
  expect(shown.root.querySelector(".ak-presentation")).toBeNull();
  await shown.press("Presentation mode");
  await shown.press("End presentation");
  expect(shown.root.querySelector(".ak-presentation")).toBeNull();
});

test("j and k move through the entries, and a step goes back to what happens now", async () => {
  const shown = await present("done");
  const last = shown.reset.total - 1;
  await shown.key("k");
  await act(settled);
  expect(entries(shown)).toEqual([String(last - 1)]);
  await shown.key("Home");
  await act(settled);
  expect(entries(shown)).toEqual(["0"]);
  await shown.key("End");
  await act(settled);
  expect(entries(shown)).toEqual([String(last)]);
});

test("a step that waits for a person is presented with its buttons", async () => {
  const shown = await present("waiting");
  expect(entries(shown)).toEqual([]);
  expect(shown.button("Approve")).toBeTruthy();
});

test("it is kept for all views of the page", async () => {
  await present("paused");
  const other = await open(state("done"));
  expect(other.root.querySelector(".ak-presentation")).not.toBeNull();
  expect(sessionStorage.getItem("agentkit-presenting")).toBe("true");
});

test("an entry is presented with the source and the variables of its moment", async () => {
  const shown = await present("done");
  await shown.key("k");
  await act(settled);
  const entry = shown.root.querySelector("[data-entry]")?.getAttribute("data-entry");
  expect(shown.commands).toContainEqual({ cmd: "at", entry: Number(entry) });
});

test("what a key opens is shown, or else the key does nothing", async () => {
  const shown = await present("paused");
  await shown.key("e");
  expect(shown.root.querySelector(".ak-presented form, .ak-presented textarea")).not.toBeNull();
  await shown.key("Escape", shown.root.querySelector(".ak-presented textarea") as Element);
  await shown.key("i");
  expect(shown.root.querySelector('.ak-presented [aria-label="Message to the model"]')).not.toBeNull();
  await shown.key("Escape", shown.root.querySelector('[aria-label="Message to the model"]') as Element);
  for (const key of ["g", "q", "v"]) await shown.key(key);
  await shown.key("m");
  expect(shown.root.querySelector("[role=menu]")).toBeNull();
  expect(shown.root.querySelector("[role=tab][aria-selected=true]")?.textContent).toBe("Source");
});
