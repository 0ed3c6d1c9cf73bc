import { expect, test } from "vitest";
import samples from "../../dev/samples";
import { RequestPanel } from "../../src/panels/request";
import type { Json, ModelRequest } from "../../src/protocol";
import { fakeKernel } from "../support/fakeKernel";
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
  texts,
} from "../support/render";

function panel(changes: Partial<ModelRequest> = {}) {
  const request = { ...samples.request, ...changes } as unknown as Json;
  const { store, commands } = fakeKernel(recording, { request });
  return { commands, drawn: draw(<RequestPanel store={store} entry={samples.request.entry} />) };
}

test("unchanged messages are folded, and unfold", async () => {
  const { drawn, commands } = panel();
  const page = await drawn;
  expect(commands).toEqual([{ cmd: "request", entry: 23 }]);
  const expander = button(page, "5 unchanged messages");
  expect(expander.getAttribute("aria-expanded")).toBe("false");
  const before = page.querySelectorAll(".ak-message").length;
  await click(expander);
  expect(page.querySelectorAll(".ak-message").length).toBe(before + 5);
});

test("new, changed and removed messages are marked, and changes are compared by words", async () => {
  const page = await panel().drawn;
  expect(texts(page, ".ak-message .ak-badge")).toEqual(["changed", "new", "new", "new", "removed"]);
  expect(texts(page, ".ak-message-changed del")).toEqual(["rain", "19"]);
  expect(texts(page, ".ak-message-changed ins")).toEqual(["snow", "12"]);
  expect(page.textContent).toContain('→ book_train(origin="Bern", destination="Chur", seats=2)');
});

test("in the first request nothing is marked", async () => {
  const page = await panel({ previous: 0, previous_body: null, same: 0 }).drawn;
  expect(page.querySelectorAll(".ak-message").length).toBe(9);
  expect(texts(page, ".ak-badge")).toEqual([]);
  await click(button(page, "Diff"));
  expect(page.textContent).toContain("This is the first request");
});

test("the arrow keys move between the tabs", async () => {
  const page = await panel().drawn;
  await press(button(page, "Messages"), "ArrowRight");
  expect(document.activeElement).toBe(button(page, "Diff"));
  expect(one(page, '[role="tab"][aria-selected="true"]').textContent).toBe("Diff");
  await press(button(page, "Diff"), "End");
  expect(one(page, "[role=tabpanel]").getAttribute("aria-label")).toBe("JSON");
  await press(button(page, "JSON"), "ArrowRight");
  expect(document.activeElement).toBe(button(page, "Messages"));
});

test("the diff compares lines by words, and folds unchanged lines", async () => {
  const page = await panel().drawn;
  await click(button(page, "Diff"));
  expectNoLeaks(page);
  expect(texts(page, ".ak-removed del")).toContain("rain");
  expect(texts(page, ".ak-added ins")).toContain("snow");
  expect(texts(page, ".ak-gap")[0]).toMatch(/^\d+ unchanged lines$/);
});

test("of thousands of messages and lines, only a part is drawn", async () => {
  const messages = Array.from({ length: 1_500 }, (_, n) => ({ role: "user", content: `${n}` }));
  const page = await panel({ body: { messages }, previous_body: { messages: [] }, same: 0 }).drawn;
  expect(page.querySelectorAll(".ak-message").length).toBe(200);
  expect(page.textContent).toContain("1,300 earlier messages not shown");
  await click(button(page, "Diff"));
  expect(page.querySelectorAll(".ak-added").length).toBeLessThan(1_000);
  expect(page.textContent).toMatch(/… [\d,]+ more lines/);
});

test("the JSON tab shows the whole body, which can be copied", async () => {
  const page = await panel().drawn;
  await click(button(page, "JSON"));
  expect(JSON.parse(one(page, "pre").textContent ?? "")).toEqual(samples.request.body);
  await click(button(page, "Copy JSON"));
  expect(one(page, ".ak-copy [role=status]").textContent).toMatch(/^Copied$|^The browser blocked copying\. /);
});

test("tokens are shown as a bar and as a table", async () => {
  const page = await panel().drawn;
  expect(one(page, ".ak-bar").getAttribute("aria-hidden")).toBe("true");
  expect(texts(page, ".ak-legend li")).toEqual([
    "system 96",
    "tools 412",
    "task 54",
    "steps 734",
    "injected 68",
    "768 cached, as reported by the provider",
  ]);
  expect(texts(page, "tbody tr").length).toBe(10);
  expect(one(page, ".ak-bar .ak-cached").style.width).toMatch(/^56\.3/);
  expect(page.textContent).toContain("$0.0031");
});

test("estimates are labelled as such", async () => {
  const page = await panel({ estimated: true, cached: { tokens: 770, says: "prefix" }, usage: null }).drawn;
  expect(page.textContent).toContain("estimated from text length");
  expect(page.textContent).toContain("in the same prefix as the previous request");
});

const TABLE = `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(40)}`;

test("messages are drawn as Markdown, their raw text is one click away, and no table is folded in its middle", async () => {
  const messages: Json = [
    { role: "system", content: `Be **brief**.\n\n${TABLE}` },
    { role: "user", content: "**as typed**" },
    { role: "assistant", content: `So:\n\n${TABLE}\nDone.`, tool_calls: [{ name: "look", arguments: '{"at": 1}' }] },
    { role: "tool", content: "**as returned**" },
  ];
  const page = await panel({ body: { messages }, previous_body: null, same: 0 }).drawn;
  const [system, user, assistant, tool] = page.querySelectorAll<HTMLElement>(".ak-message");
  expect(one(system as HTMLElement, "strong").textContent).toBe("brief");
  expect((system as HTMLElement).querySelectorAll("table").length).toBe(0);
  expect([user, tool].map((message) => one(message as HTMLElement, ".ak-text").textContent)).toEqual([
    "**as typed**",
    "**as returned**",
  ]);
  expect((assistant as HTMLElement).textContent).toContain("→ look(at=1)");
  await click(button(assistant as HTMLElement, /^Show all/));
  expect((assistant as HTMLElement).querySelectorAll("tbody tr").length).toBe(40);
  await click(button(assistant as HTMLElement, "Raw text"));
  expect((assistant as HTMLElement).textContent).toContain("|---|---|");
});

test("a changed message is shown with its changes or as it reads", async () => {
  const versions = ["It is **dry** in all of Chur", "It is **wet** in all of Chur"];
  const [previous, now] = versions.map((content) => ({ messages: [{ role: "assistant", content }] }));
  const page = await panel({ body: now, previous_body: previous, same: 0 } as Partial<ModelRequest>).drawn;
  expect(texts(page, ".ak-message ins")).toEqual(["wet"]);
  await click(button(page, "Changes"));
  expect(texts(page, ".ak-message strong")).toEqual(["wet"]);
  expect(page.querySelector(".ak-message ins")).toBeNull();
});

test("hostile text in a body is drawn as text", async () => {
  const messages: Json = [
    {
      role: HOSTILE,
      content: [
        { type: "text", text: HOSTILE },
        { type: "tool_use", name: HOSTILE, input: { [HOSTILE]: HOSTILE } },
      ],
    },
  ];
  const page = await panel({
    body: { messages, system: HOSTILE, tools: [{ name: HOSTILE }] },
    previous_body: null,
    same: 0,
  }).drawn;
  expectHarmless(page);
  await click(button(page, "JSON"));
  expect(page.querySelectorAll("img, script").length).toBe(0);
});

test.each([
  ["no messages", {}],
  [
    "items that are not messages",
    { messages: [null, 3, "text", [1], { content: null }, { role: 4, tool_calls: [{}, null] }] },
  ],
  ["messages that are not a list", { messages: "all" }],
])("a body with %s is drawn nevertheless", async (_, body) => {
  const page = await panel({
    body: body as ModelRequest["body"],
    previous_body: { messages: [{}] },
    same: 0,
    segments: [],
  }).drawn;
  expect(page.querySelector("[role=tablist]")).toBeTruthy();
});

test("a refusal is shown", async () => {
  const { store } = fakeKernel(recording, {
    request: () => {
      throw new Error("entry 23 is not a model call");
    },
  });
  const page = await draw(<RequestPanel store={store} entry={23} />);
  expect(one(page, "[role=alert]").textContent).toBe("entry 23 is not a model call");
});

test("of a message of a million characters, only the beginning is drawn", async () => {
  const messages: Json = [{ role: "tool", content: "y".repeat(1_000_000) }];
  const page = await panel({ body: { messages }, previous_body: null, same: 0 }).drawn;
  expect(one(page, ".ak-messages .ak-text").textContent).toMatch(/^y{900} …Show all 1,000,000 characters$/);
  await click(button(page, "Show all 1,000,000 characters"));
  expect(one(page, ".ak-messages .ak-text").textContent).toMatch(/^y{400000}Show less$/);
});
