import { expect, test } from "vitest";
import samples from "../../dev/samples";
import { RequestPanel } from "../../src/panels/request";
import type { Json, RequestView } from "../../src/protocol";
import { button, click, draw, HOSTILE, harmless, one, press, record, texts, unleaked } from "./draw";
import { fake } from "./fake";

function panel(changes: Partial<RequestView> = {}) {
  const request = { ...samples.request, ...changes } as unknown as Json;
  const { store, told } = fake(record, { request });
  return { told, drawn: draw(<RequestPanel store={store} entry={{ id: samples.request.entry }} />) };
}

test("messages of the request before are folded, and unfold", async () => {
  const { drawn, told } = panel();
  const page = await drawn;
  expect(told).toEqual([{ cmd: "request", entry: 23 }]);
  const fold = button(page, /5 messages as in the request before/);
  expect(fold.getAttribute("aria-expanded")).toBe("false");
  const before = page.querySelectorAll(".ak-message").length;
  await click(fold);
  expect(page.querySelectorAll(".ak-message").length).toBe(before + 5);
});

test("what is new, changed or gone says so, and a change shows its words", async () => {
  const page = await panel().drawn;
  expect(texts(page, ".ak-message .ak-badge")).toEqual(["changed", "new", "new", "new", "gone"]);
  expect(texts(page, ".ak-message-changed del")).toEqual(["rain", "19"]);
  expect(texts(page, ".ak-message-changed ins")).toEqual(["snow", "12"]);
  expect(page.textContent).toContain('→ book_train(origin="Bern", destination="Chur", seats=2)');
});

test("in the first request nothing is new", async () => {
  const page = await panel({ previous: 0, previous_body: null, same: 0 }).drawn;
  expect(page.querySelectorAll(".ak-message").length).toBe(9);
  expect(texts(page, ".ak-badge")).toEqual([]);
  await click(button(page, "Difference"));
  expect(page.textContent).toContain("This is the first request");
});

test("arrow keys go through the tabs", async () => {
  const page = await panel().drawn;
  await press(button(page, "Messages"), "ArrowRight");
  expect(document.activeElement).toBe(button(page, "Difference"));
  expect(one(page, '[role="tab"][aria-selected="true"]').textContent).toBe("Difference");
  await press(button(page, "Difference"), "End");
  expect(one(page, "[role=tabpanel]").getAttribute("aria-label")).toBe("JSON");
  await press(button(page, "JSON"), "ArrowRight");
  expect(document.activeElement).toBe(button(page, "Messages"));
});

test("the difference shows lines with their words, and folds what is as before", async () => {
  const page = await panel().drawn;
  await click(button(page, "Difference"));
  unleaked(page);
  expect(texts(page, ".ak-removed del")).toContain("rain");
  expect(texts(page, ".ak-added ins")).toContain("snow");
  expect(texts(page, ".ak-gap")[0]).toMatch(/^\d+ lines as before$/);
});

test("of thousands of messages and lines a part is drawn", async () => {
  const messages = Array.from({ length: 1_500 }, (_, n) => ({ role: "user", content: `${n}` }));
  const page = await panel({ body: { messages }, previous_body: { messages: [] }, same: 0 }).drawn;
  expect(page.querySelectorAll(".ak-message").length).toBe(200);
  expect(page.textContent).toContain("1,300 messages before these");
  await click(button(page, "Difference"));
  expect(page.querySelectorAll(".ak-added").length).toBeLessThan(1_000);
  expect(page.textContent).toMatch(/… [\d,]+ more lines/);
});

test("the JSON is the whole body, and can be copied", async () => {
  const page = await panel().drawn;
  await click(button(page, "JSON"));
  expect(JSON.parse(one(page, "pre").textContent ?? "")).toEqual(samples.request.body);
  await click(button(page, "Copy JSON"));
  expect(["Copied", "The browser does not allow it"]).toContain(one(page, ".ak-copy [role=status]").textContent);
});

test("tokens are a bar for the eye and a table for the figures", async () => {
  const page = await panel().drawn;
  expect(one(page, ".ak-bar").getAttribute("aria-hidden")).toBe("true");
  expect(texts(page, ".ak-legend li")).toEqual([
    "system 96",
    "tools 412",
    "task 54",
    "steps 734",
    "injected 68",
    "768 read from the cache, says the provider",
  ]);
  expect(texts(page, "tbody tr").length).toBe(10);
  expect(one(page, ".ak-bar .ak-cached").style.width).toMatch(/^56\.3/);
  expect(page.textContent).toContain("$0.0031");
});

test("what is estimated, and a prefix that nobody counted, say so", async () => {
  const page = await panel({ estimated: true, cached: { tokens: 770, says: "prefix" }, usage: null }).drawn;
  expect(page.textContent).toContain("estimated from the length");
  expect(page.textContent).toContain("the same beginning as the request before");
});

test("hostile text in a body is text", async () => {
  const messages: Json = [
    {
      role: HOSTILE,
      content: [
        { type: "text", text: HOSTILE },
        { type: "tool_use", name: HOSTILE, input: { [HOSTILE]: HOSTILE } },
      ],
    },
  ];
  const page = await panel({ body: { messages, system: HOSTILE, tools: [{ name: HOSTILE }] }, previous_body: null, same: 0 }).drawn;
  harmless(page);
  await click(button(page, "JSON"));
  expect(page.querySelectorAll("img, script").length).toBe(0);
});

test.each([
  ["no messages", {}],
  ["messages that are none", { messages: [null, 3, "text", [1], { content: null }, { role: 4, tool_calls: [{}, null] }] }],
  ["messages that are no list", { messages: "all" }],
])("a body with %s is drawn all the same", async (_, body) => {
  const page = await panel({ body: body as RequestView["body"], previous_body: { messages: [{}] }, same: 0, segments: [] }).drawn;
  expect(page.querySelector("[role=tablist]")).toBeTruthy();
});

test("a refusal is shown", async () => {
  const { store } = fake(record, {
    request: () => {
      throw new Error("entry 23 is no model call");
    },
  });
  const page = await draw(<RequestPanel store={store} entry={{ id: 23 }} />);
  expect(one(page, "[role=alert]").textContent).toBe("entry 23 is no model call");
});

test("of a message of a million characters the beginning is drawn", async () => {
  const messages: Json = [{ role: "tool", content: "y".repeat(1_000_000) }];
  const page = await panel({ body: { messages }, previous_body: null, same: 0 }).drawn;
  expect(one(page, ".ak-messages .ak-text").textContent).toMatch(/^y{8000} … 992,000 more characters$/);
});
