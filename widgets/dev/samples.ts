/** What the recorded runs lack: a long chat, nested engines, breakpoints of each kind, plans, episodes and trees. */

import type { Breakpoint, EngineFrame, Json, ModelRequest, Pictures } from "../src/protocol";

const system = "You plan trips. Think step by step, use the tools, and answer in one paragraph.";
const call = (id: string, name: string, args: Json) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});

const before: Json[] = [
  { role: "system", content: system },
  { role: "user", content: "Find a dry day for a trip to the mountains and book two seats." },
  {
    role: "assistant",
    content: "I should look at the weather first.",
    tool_calls: [call("1", "weather", { city: "Bern", days: 3 })],
  },
  { role: "tool", tool_call_id: "1", name: "weather", content: "Bern: rain, rain, clear." },
  {
    role: "assistant",
    content: "Wet until the third day. Let me try Chur.",
    tool_calls: [call("2", "weather", { city: "Chur", days: 2 })],
  },
  {
    role: "tool",
    tool_call_id: "2",
    name: "weather",
    content: "Chur: rain on day 0, clear and 19 °C on day 1. No wind.",
  },
  { role: "user", content: "Remember: the answer is one paragraph." },
];
const now: Json[] = [
  ...before.slice(0, 5),
  {
    role: "tool",
    tool_call_id: "2",
    name: "weather",
    content: "Chur: snow on day 0, clear and 12 °C on day 1. No wind.",
  },
  {
    role: "assistant",
    content: "Day 1 in Chur is dry.",
    tool_calls: [call("3", "book_train", { origin: "Bern", destination: "Chur", seats: 2 })],
  },
  { role: "tool", tool_call_id: "3", name: "book_train", content: "Booked 2 seats from Bern to Chur, coach 7." },
  { role: "user", content: "[USER INTERRUPT] We are three now, my sister comes with us.\nBook one more seat, please." },
];
const tools: Json = [
  {
    name: "weather",
    description: "Give the forecast of a city.",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
  },
  {
    name: "book_train",
    description: "Book seats on a train.",
    parameters: { type: "object", properties: { origin: { type: "string" }, destination: { type: "string" } } },
  },
];

const request: ModelRequest = {
  entry: 23,
  previous: 9,
  same: 5,
  body: { model: "some-model", temperature: 0, messages: now, tools, tool_choice: "auto" },
  previous_body: { model: "some-model", temperature: 0, messages: before, tools, tool_choice: "auto" },
  segments: [
    { label: "tools", kind: "tools", tokens: 412, cached: true },
    { label: "system", kind: "system", tokens: 96, cached: true },
    { label: "task", kind: "task", tokens: 54, cached: true },
    { label: "2: assistant", kind: "step", tokens: 88, cached: true },
    { label: "3: tool", kind: "step", tokens: 130, cached: true },
    { label: "4: assistant", kind: "step", tokens: 92, cached: true },
    { label: "5: tool", kind: "step", tokens: 240, cached: false },
    { label: "6: assistant", kind: "step", tokens: 110, cached: false },
    { label: "7: tool", kind: "step", tokens: 74, cached: false },
    { label: "injected", kind: "injected", tokens: 68, cached: false },
  ],
  tokens: 1364,
  estimated: false,
  cached: { tokens: 768, says: "provider" },
  usage: { input: 1364, output: 92, cached: 768, reasoning: 40, cost: 0.0031, calls: 1 },
};

const breakpoints: Breakpoint[] = [
  { id: 0, kind: "tool", value: "book_train", enabled: true, hits: 2 },
  { id: 1, kind: "line", value: "22", enabled: true, hits: 14 },
  { id: 2, kind: "line", value: "25", file: "/agents/react.py", enabled: false, hits: 0 },
  { id: 3, kind: "error", value: "", enabled: true, hits: 1 },
  { id: 4, kind: "when", value: 'entry.kind == "act" and "snow" in entry.result[0].text', enabled: true, hits: 0 },
];

const file = "/agentkit/engines/react.py";
const frame = (name: string, line: number, lane: string, around = false): EngineFrame => ({
  function: name,
  file,
  line,
  lane,
  around,
  locals: [
    ["task", { text: "'Find a dry day for a trip'", kind: "text", size: 0 }, "a"],
    ["n", { text: "3", kind: "scalar", size: 0 }, "b"],
  ],
});
const nested = [
  frame("plan_and_act", 18, "0"),
  frame("react", 22, "0"),
  frame("nudge", 40, "0", true),
  frame("plan_and_act", 18, "1"),
  frame("react", 25, "1"),
];

const pictures: Pictures = {
  plan: [
    { text: "Look up the weather in Bern and Chur", state: "done", entry: 3 },
    { text: "Compare fares for two", state: "skipped", entry: 5 },
    { text: "Reserve a table at the summit", state: "failed", entry: 7 },
    {
      text: "Book the train that arrives before noon, window seats if there are any left, and tell my sister about it",
      state: "doing",
      entry: 9,
    },
    { text: "Write one paragraph", state: "todo", entry: 0 },
  ],
  episodes: [
    {
      number: 1,
      label: "Episode 1",
      score: 0.2,
      ok: false,
      lesson: "I went through every drawer twice. Next time: list the places first, and tick them off.",
      entry: 4,
      entries: 14,
    },
    {
      number: 2,
      label: "Episode 2",
      score: 0.6,
      ok: false,
      lesson: "The lamp has to be on before the desk can be examined.",
      entry: 18,
      entries: 11,
    },
    { number: 3, label: "Episode 3", score: 1, ok: true, lesson: "", entry: 29, entries: 7 },
    { number: 4, label: "Episode 4", score: null, ok: null, lesson: "", entry: 36, entries: 2 },
  ],
  tree: [
    { node: "0", parent: "", text: "4 9 10 13", score: null, pruned: false, chosen: true, entry: 1 },
    { node: "0.1", parent: "0", text: "10 − 4 = 6 (left: 6 9 13)", score: 8, pruned: false, chosen: true, entry: 2 },
    { node: "0.1.1", parent: "0.1", text: "13 − 9 = 4 (left: 4 6)", score: 9.5, pruned: false, chosen: true, entry: 5 },
    { node: "0.1.1.1", parent: "0.1.1", text: "4 × 6 = 24", score: 10, pruned: false, chosen: true, entry: 8 },
    { node: "0.1.2", parent: "0.1", text: "6 + 9 = 15 (left: 13 15)", score: 1, pruned: true, chosen: false, entry: 6 },
    { node: "0.2", parent: "0", text: "4 + 9 = 13 (left: 10 13 13)", score: 3, pruned: false, chosen: false, entry: 3 },
    {
      node: "0.2.1",
      parent: "0.2",
      text: "13 − 10 = 3 (left: 3 13)",
      score: 1.5,
      pruned: true,
      chosen: false,
      entry: 7,
    },
    {
      node: "0.3",
      parent: "0",
      text: "13 × 10 = 130 (left: 4 9 130)",
      score: 0.4,
      pruned: true,
      chosen: false,
      entry: 4,
    },
  ],
};

function map(length: number): string {
  return Array.from({ length }, (_, n) =>
    n === 0
      ? "b"
      : n === length - 1
        ? "c"
        : n % 37 === 20 && (n < 100 || n % 11 === 3 || (n > 6000 && n < 6600))
          ? "x"
          : n % 53 === 30
            ? "T"
            : n % 2
              ? "t"
              : "a",
  ).join("");
}

function forest(size: number): Pictures["tree"] {
  const below = (n: number): number[] =>
    n < size ? [n, ...[1, 2, 3, 4, 5].flatMap((child) => below(5 * n + child))] : [];
  return below(0).map((n) => {
    const parent = n ? Math.floor((n - 1) / 5) : -1;
    return {
      node: String(n),
      parent: parent < 0 ? "" : String(parent),
      text: `thought ${n}`,
      score: (n * 7) % 11,
      pruned: n % 3 === 2,
      chosen: [0, 1, 6, 31, 156].includes(n),
      entry: n + 1,
    };
  });
}

const source = {
  file: "",
  first: 1,
  text: 'def engine(task):\n    """Think once."""\n    thought = yield Think(task, stop=["\\n"], n=3)  # once\n    return thought\n',
};

export default {
  source,
  request,
  head: {
    breakpoints,
    tools: ["weather", "book_train"],
    roles: ["thought", "action", "reflect"],
    answer: "Take the train to Chur on day 1.",
  },
  nested,
  pictures,
  map,
  forest,
  answers: {
    value: { total: 1, first: 0, members: [["0", { text: "user: go", kind: "message", size: 2 }]] } as Json,
    request: request as unknown as Json,
    export: { name: "run-a9c5.md", mime: "text/markdown", text: "# Trip", inserted: 12 } as Json,
  },
};
