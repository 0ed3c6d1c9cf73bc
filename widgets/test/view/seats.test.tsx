import { act, fireEvent } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { state } from "../../dev/states";
import type { PendingStep, ReadReply } from "../../src/protocol";
import { type LiveView, settled, show } from "../support/liveView";
import { expectNoLeaks } from "../support/render";

const FIELD = "Reply, as the model would write it";

function pressed(shown: LiveView): string[] {
  const seats = shown.root.querySelectorAll("[aria-label='Played by'] button[aria-pressed='true']");
  return [...seats].map((seat) => seat.textContent ?? "");
}

async function typed(shown: LiveView, text: string): Promise<void> {
  vi.useFakeTimers();
  await shown.type(FIELD, text);
  await act(async () => {
    vi.advanceTimersByTime(250);
    await settled();
  });
  await act(settled);
  vi.useRealTimers();
}

async function reading(read: ReadReply): Promise<LiveView> {
  const recording = state("paused");
  return show({ ...recording, answers: { ...recording.answers, read: read as never } });
}

function status(shown: LiveView): string {
  return shown.root.querySelector(".ak-read")?.textContent ?? "";
}

test("the model plays a step as usual, and one can take its seat and leave it again", async () => {
  const shown = await show("paused");
  expect(pressed(shown)).toEqual(["Model"]);
  await shown.press("You");
  expect(pressed(shown)).toEqual(["You"]);
  expect(document.activeElement?.getAttribute("aria-label")).toBe(FIELD);
  expectNoLeaks(shown.root);
  await shown.press("Model");
  expect(pressed(shown)).toEqual(["Model"]);
  expect(shown.root.querySelector(".ak-next-steps form")).toBeNull();
});

test("what the kernel reads in a reply is shown while it is typed, and asked for only when the typing pauses", async () => {
  const call = { text: "weather(city=5)", problem: "Error: city must be a text" };
  const shown = await reading({ calls: [call], answer: null, problems: [], readable: true });
  await shown.press("You");
  expect(status(shown)).toContain("Action Input:");
  await typed(shown, "Thought: x\nAction: weather");
  const asked = shown.commands.filter(({ cmd }) => cmd === "read");
  expect(asked).toEqual([{ cmd: "read", step: expect.anything(), text: "Thought: x\nAction: weather" }]);
  expect(status(shown)).toContain("Read as a call: weather(city=5)");
  expect(shown.root.querySelector(".ak-read .ak-problem")?.textContent).toBe("Error: city must be a text");
});

test("a reply that cannot be read is called that, and an answer is shown as one", async () => {
  const shown = await reading({ calls: [], answer: "hm", problems: [], readable: false });
  await shown.press("You");
  await typed(shown, "hm");
  expect(status(shown)).toContain("neither a call nor an answer");
  expect(status(shown)).not.toContain("Read as the answer");
  const other = await reading({ calls: [], answer: "42", problems: [], readable: true });
  await other.press("You");
  await typed(other, "FINAL_ANSWER: 42");
  expect(status(other)).toContain("Read as the answer: 42");
});

test("a recorded result is used instead of performing the step", async () => {
  const shown = await show("paused");
  const step = shown.reset.head.pending[0] as PendingStep;
  expect(() => shown.button("Recording")).toThrow();
  const recordings = [
    { entry: 9, text: "Observation: snow" },
    { entry: 7, text: "Observation: rain" },
  ];
  await shown.head({ pending: [{ ...step, recordings }] });
  await shown.press("Recording");
  const select = shown.root.querySelector("[aria-label='Recorded before']") as HTMLSelectElement;
  expect([...select.options].map(({ text }) => text)).toEqual(["Observation: snow", "Observation: rain"]);
  await act(() => void fireEvent.change(select, { target: { value: "7" } }));
  expect(select.parentElement?.querySelector("p")?.textContent).toBe("Observation: rain Nothing is performed.");
  await shown.press("Use this recording");
  expect(shown.lastCommand).toMatchObject({
    cmd: "edit",
    entry: null,
    step: { path: step.path, index: step.index },
    change: { recording: 7 },
  });
});

test("the newest recording is used if no other one is chosen", async () => {
  const shown = await show("paused");
  const step = shown.reset.head.pending[0] as PendingStep;
  await shown.head({ pending: [{ ...step, recordings: [{ entry: 9, text: "snow" }] }] });
  await shown.press("Recording");
  await shown.press("Use this recording");
  expect(shown.lastCommand).toMatchObject({ cmd: "edit", change: { recording: 9 } });
});

test("nobody can take a seat while the run is running, or while the step waits for a decision", async () => {
  for (const name of ["running", "waiting", "readonly"])
    expect((await show(name)).root.querySelector("[aria-label='Played by']")).toBeNull();
});
