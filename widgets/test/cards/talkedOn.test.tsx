import { expect, test } from "vitest";
import { TalkedOn } from "../../src/cards/talkedOn";
import type { ThinkEntry } from "../../src/protocol";
import { appliesTo } from "../../src/state/actions";
import { ViewState } from "../../src/state/viewState";
import { fakeKernel } from "../support/fakeKernel";
import { button, click, draw, expectHarmless, HOSTILE, one, recording, settled, texts } from "../support/render";

const known = fakeKernel(recording).store.cards.find((card) => card?.kind === "think") as ThinkEntry;
const call = { name: "price", arguments: {}, id: "c1" };
const thought: ThinkEntry = { ...known, author: "model", dialect: "text", calls: [call] };
const talk_on = {
  written: "Action: price",
  invented: "Observation: 99",
  really_written: "Action: price",
  observations: ["3"],
  sentence: "The model invented what the tool would return.",
};

test("only the model of the text dialect can talk on after an action", () => {
  expect(appliesTo("talkOn", thought)).toBe(true);
  expect(appliesTo("talkOn", { ...thought, dialect: "native" })).toBe(false);
  expect(appliesTo("talkOn", { ...thought, calls: [] })).toBe(false);
  expect(appliesTo("talkOn", { ...thought, author: "human" })).toBe(false);
});

test("the model is asked when a person wants it, and what it invented is beside what is real", async () => {
  const { store, commands } = fakeKernel(recording, { talk_on });
  const view = new ViewState(store);
  const page = await draw(<TalkedOn store={store} view={view} card={thought} />);
  expect(page.innerHTML).toBe("");
  expect(commands).toEqual([]);

  view.perform("talkOn", thought);
  await settled();
  expect(commands).toEqual([{ cmd: "talk_on", entry: thought.id }]);
  expect(texts(page, "h4")).toEqual(["Let it talk on", "Call the tool"]);
  expect(one(page, ".ak-invented").textContent).toBe("InventedObservation: 99");
  expect(one(page, ".ak-real").textContent).toBe("RealObservation: 3");
  expect(one(page, "[role=status]").textContent).toBe(talk_on.sentence);

  await click(button(page, "Close"));
  expect(page.innerHTML).toBe("");
});

test("a refusal is shown, and what a model wrote is only text", async () => {
  const refusing = fakeKernel(recording, {
    talk_on: () => {
      throw new Error("the budget is used up");
    },
  });
  const view = new ViewState(refusing.store);
  view.set({ talkedOn: thought.id });
  const refused = await draw(<TalkedOn store={refusing.store} view={view} card={thought} />);
  expect(one(refused, "[role=alert]").textContent).toBe("the budget is used up");

  const { store } = fakeKernel(recording, { talk_on: { ...talk_on, invented: HOSTILE, observations: [HOSTILE] } });
  const other = new ViewState(store);
  other.set({ talkedOn: thought.id });
  expectHarmless(await draw(<TalkedOn store={store} view={other} card={thought} />));
});
