import { expect, test } from "vitest";
import { joinSentences } from "../../src/view/announcer";

test("sentences are joined with one full stop, whatever they end with", () => {
  expect(joinSentences(["Answer: It made 17 calls.", "done"])).toBe("Answer: It made 17 calls. done");
  expect(joinSentences(["2 new entries", "Thought: Really?", "a text…", "paused"])).toBe(
    "2 new entries. Thought: Really? a text… paused",
  );
  expect(joinSentences(["Thought: **It is done.**\n", "", "paused"])).toBe("Thought: **It is done.** paused");
  expect(joinSentences([])).toBe("");
});
