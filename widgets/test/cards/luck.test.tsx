import { act } from "@testing-library/preact";
import { expect, test } from "vitest";
import { Luck } from "../../src/cards/luck";
import type { Head, Samples, ThinkEntry, Trials } from "../../src/protocol";
import { appliesTo } from "../../src/state/actions";
import { ViewState } from "../../src/state/viewState";
import { type FakeKernel, fakeKernel } from "../support/fakeKernel";
import {
  button,
  click,
  draw,
  expectHarmless,
  expectNoLeaks,
  HOSTILE,
  one,
  press,
  recording,
  settled,
  texts,
  type,
} from "../support/render";

const thought = fakeKernel(recording).store.cards.find((card) => card?.kind === "think") as ThinkEntry;

const none: Samples = {
  question: "q1",
  times: 20,
  replies: 0,
  recorded: 0,
  calls: 20,
  price: "20 calls of tiny: about 900 tokens to read; no price is known. No tool is called.",
  outcomes: [],
  more: 0,
  happened: "",
};
const asked: Samples = {
  ...none,
  replies: 20,
  recorded: 20,
  calls: 0,
  price: "Nothing is left to ask: 20 of 20 replies are recorded.",
  outcomes: [
    { text: "price(item='tea')", count: 15, happened: true, entry: 71 },
    { text: "3.2", count: 5, happened: false, entry: 74 },
  ],
};

interface Opened extends FakeKernel {
  page: HTMLElement;
  view: ViewState;
}

async function opened(samples: Samples, more: { [command: string]: unknown } = {}, head: Partial<Head> = {}) {
  const kernel = fakeKernel(recording, { samples: samples as never, ...(more as object) }, head);
  const view = new ViewState(kernel.store);
  const page = await draw(<Luck store={kernel.store} view={view} card={thought} />);
  expect(page.innerHTML).toBe("");
  view.perform("luck", thought);
  await settled();
  expectNoLeaks(page);
  return { ...kernel, page, view } satisfies Opened;
}

function field(page: HTMLElement): HTMLInputElement {
  return one(page, "input[type=number]") as HTMLInputElement;
}

test("it is about thoughts", () => {
  expect(appliesTo("luck", thought)).toBe(true);
  expect(appliesTo("luck", { ...thought, kind: "conclude" } as never)).toBe(false);
});

test("the calls and their price are shown first, and nothing is asked before the button is pressed", async () => {
  const { page, commands } = await opened(none, { resample: asked });
  expect(document.activeElement).toBe(field(page));
  expect(field(page).value).toBe("20");
  expect(page.textContent).toContain(none.price);
  expect(commands).toEqual([{ cmd: "samples", entry: thought.id, times: null }]);
  await click(button(page, "Make 20 calls"));
  expect(commands).toContainEqual({ cmd: "resample", entry: thought.id, times: 20 });
});

test("another number asks for another price, and what is no number is refused in words", async () => {
  const { page, commands } = await opened(none);
  await type(field(page), "7");
  expect(commands.pop()).toEqual({ cmd: "samples", entry: thought.id, times: 7 });
  for (const text of ["", "0", "-3", "1.5", "10000"]) {
    await type(field(page), text);
    expect(page.textContent).toContain("Enter a number from 1 to 9999.");
    expect(field(page).getAttribute("aria-invalid")).toBe("true");
    await click(button(page, /^Make/));
  }
  expect(commands.every(({ cmd }) => cmd === "samples")).toBe(true);
});

test("each outcome is a bar with its text, its count, and whether the run does the same; it opens a run", async () => {
  const { page, commands } = await opened(asked, { fork: { run: "x", forecast: "" } });
  expect(texts(page, "li")).toEqual(["price(item='tea') as in the run15 of 20", "3.2 5 of 20"]);
  expect([...page.querySelectorAll<HTMLElement>(".ak-meter i")].map((bar) => bar.style.width)).toEqual(["75%", "25%"]);
  expect(button(page, "Ask").getAttribute("aria-disabled")).toBe("true");
  await click(button(page, /^3\.2/));
  expect(commands.pop()).toEqual({ cmd: "fork", entry: 74 });
});

test("what the run says is shown if no reply says it, and the rest of very many outcomes is counted", async () => {
  const { page } = await opened({ ...asked, happened: "No.", more: 3 });
  expect(page.textContent).toContain("In the run: No. (not among these replies)");
  expect(page.textContent).toContain("and 3 other outcomes");
});

test("while the model is asked, wherever that was begun, there is progress and a button that stops it", async () => {
  let now: Samples = none;
  const { page, commands, head } = await opened(none, { samples: () => now as never, stop_resample: null });
  expect(page.querySelector("progress")).toBeNull();
  now = { ...asked, replies: 5, recorded: 5, calls: 15 };
  await act(() => head({ asking: { other: 3 } }));
  await settled();
  expect(page.querySelector("progress")).toBeNull();
  await act(() => head({ asking: { q1: 7 } }));
  await settled();
  const progress = one(page, "progress") as HTMLProgressElement;
  expect([progress.value, progress.max]).toEqual([5, 12]);
  expect(one(page, "section").getAttribute("aria-busy")).toBe("true");
  expect(button(page, /^Make/).getAttribute("aria-disabled")).toBe("true");
  await click(button(page, "Stop"));
  expect(commands.pop()).toEqual({ cmd: "stop_resample", entry: thought.id });
  await act(() => head({ asking: {} }));
  await settled();
  expect(page.querySelector("progress")).toBeNull();
  expect(one(page, "[role=status]").textContent).toBe("5 replies so far.");
});

test("a refusal is shown beside the replies so far", async () => {
  const { page } = await opened(
    { ...asked, calls: 3 },
    {
      resample: () => {
        throw new Error("the budget is used up");
      },
    },
  );
  await click(button(page, "Make 3 calls"));
  expect(one(page, "[role=alert]").textContent).toBe("the budget is used up");
  expect(page.querySelectorAll("li").length).toBe(2);
});

test("of a run that is only read, the replies are shown, and nothing can be asked", async () => {
  const { page, commands } = await opened({ ...asked, calls: 3 }, {}, { status: "readonly" });
  await click(button(page, "Make 3 calls"));
  await click(button(page, /^3\.2/));
  expect(commands.map(({ cmd }) => cmd)).toEqual(["samples"]);
});

test("Escape closes it and gives the focus back to the entry", async () => {
  const { page, view } = await opened(asked);
  await press(field(page), "Escape");
  expect(page.innerHTML).toBe("");
  expect(view.focusDue).toBe(thought.id);
});

const untried: Trials = {
  question: "q2",
  times: 20,
  ended: 0,
  recorded: 0,
  left: 20,
  price: "20 trials to the end, together about 40 calls of tiny; no price is known.",
  asks: "",
  score: "",
  outcomes: [],
  more: 0,
  happened: "",
};
const tried: Trials = {
  ...untried,
  ended: 20,
  recorded: 20,
  left: 0,
  price: "Nothing is left to try: 20 of 20 trials have ended.",
  score: "Score 0.750 [0.531, 0.888], 95 % (Wilson), of 20 trials.",
  outcomes: [
    { text: "4.5", count: 15, low: 0.531, high: 0.888, happened: true, trial: 2 },
    { text: "4.5", count: 5, low: 0.112, high: 0.469, happened: false, trial: 7 },
  ],
};

async function toTheEnd(trials: Trials | (() => Trials), more: { [command: string]: unknown } = {}) {
  const found = await opened(none, { trials: trials as never, ...more });
  const select = one(found.page, "select") as HTMLSelectElement;
  select.focus();
  await act(() => {
    select.value = "end";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settled();
  return found;
}

test("to the end, the price comes first, and nothing is done before the button is pressed", async () => {
  const { page, commands } = await toTheEnd(untried, { make_trials: tried });
  expect(page.textContent).toContain(untried.price);
  expect(page.textContent).not.toContain(none.price);
  expect(document.activeElement).toBe(one(page, "select"));
  expect(commands.pop()).toEqual({ cmd: "trials", entry: thought.id, times: null });
  await click(button(page, "Make 20 trials"));
  expect(commands).toContainEqual({ cmd: "make_trials", entry: thought.id, times: 20, approved: null });
});

test("if tools may act on the world, a person says whether they may, and Enter does not choose", async () => {
  const asks = "20 runs may call pay (irreversible), at most 40 times in all.";
  const { page, commands } = await toTheEnd({ ...untried, asks }, { make_trials: tried });
  expect(page.textContent).toContain(asks);
  one(page, "form").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await settled();
  expect(commands.some(({ cmd }) => cmd === "make_trials")).toBe(false);
  await click(button(page, "Make 20 trials without these calls"));
  expect(commands).toContainEqual({ cmd: "make_trials", entry: thought.id, times: 20, approved: false });
  await click(button(page, "Make 20 trials, allow these calls"));
  expect(commands).toContainEqual({ cmd: "make_trials", entry: thought.id, times: 20, approved: true });
});

test("each ending is a bar with its share and the bounds of it, and opens the run of a trial", async () => {
  const { page, commands } = await toTheEnd(tried, { open_trial: { run: "x", forecast: "" } });
  expect(texts(page, "li")).toEqual(["4.5 as in the run15 of 2053–89 %", "4.5 5 of 2011–47 %"]);
  expect(page.textContent).toContain(tried.score);
  await click(button(page, /5 of 2011/));
  expect(commands.pop()).toEqual({ cmd: "open_trial", entry: thought.id, trial: 7 });
});

test("while trials are made, there is progress and a button that stops them", async () => {
  const now = { ...tried, ended: 5, recorded: 9, left: 15 };
  const { page, commands, head } = await toTheEnd(now, { stop_trials: null });
  await act(() => head({ asking: { q2: 7 } }));
  await settled();
  const progress = one(page, "progress") as HTMLProgressElement;
  expect([progress.value, progress.max]).toEqual([5, 12]);
  expect(button(page, "Make 15 trials").getAttribute("aria-disabled")).toBe("true");
  await click(button(page, "Stop"));
  expect(commands.pop()).toEqual({ cmd: "stop_trials", entry: thought.id });
});

test("how a trial ended is only text", async () => {
  const outcomes = [{ text: HOSTILE, count: 20, low: 0.8, high: 1, happened: false, trial: 0 }];
  const { page } = await toTheEnd({ ...tried, outcomes, happened: HOSTILE, asks: HOSTILE, score: HOSTILE });
  expectHarmless(page);
});

test("what a model wrote is only text", async () => {
  const { page } = await opened({
    ...asked,
    outcomes: [{ text: HOSTILE, count: 20, happened: false, entry: 71 }],
    happened: HOSTILE,
  });
  expectHarmless(page);
});

const slider = (page: Element): HTMLInputElement => one(page, "input[type=range]") as HTMLInputElement;

test("the temperature can be set for models that take one, and be left to the model again", async () => {
  const { page, commands, head } = await opened({ ...none, own_temperature: 0.4 }, { temperature: null });
  expect([slider(page).value, slider(page).getAttribute("aria-valuetext")]).toEqual(["0.4", "0.4, the model's own"]);
  expect(() => button(page, "Reset")).toThrow();
  await type(slider(page), "1.2");
  expect(commands).toContainEqual({ cmd: "temperature", value: 1.2 });
  await act(() => head({ temperature: 1.2 }));
  await settled();
  expect(slider(page).getAttribute("aria-valuetext")).toBe("1.2");
  await click(button(page, "Reset"));
  expect(commands).toContainEqual({ cmd: "temperature", value: null });
});

test("an answer to an earlier move does not take the handle back", async () => {
  const { page, commands } = await opened({ ...none, own_temperature: 0.4 }, { temperature: null });
  const input = slider(page);
  await act(() => {
    input.value = "0.1";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
    input.value = "0.2";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settled();
  expect(commands).toContainEqual({ cmd: "temperature", value: 0.1 });
  expect(slider(page).value).toBe("0.2");
});

test("there is no slider for other models, nor while the run is running", async () => {
  expect((await opened(none)).page.querySelector("input[type=range]")).toBeNull();
  const { page } = await opened({ ...none, own_temperature: null }, {}, { status: "running" });
  expect(page.querySelector("input[type=range]")).toBeNull();
});
