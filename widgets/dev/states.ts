/** Every state that a view can be in: recorded runs, and variations of them. */

import type { ActEntry, Card, FromKernel, Head, Json, PendingStep, ReplyTokens, ThinkEntry } from "../src/protocol";
import type { Recording } from "./model";
import done from "./recorded/done.json";
import edited from "./recorded/edited.json";
import episodes from "./recorded/episodes.json";
import failed from "./recorded/failed.json";
import long from "./recorded/long.json";
import paused from "./recorded/paused.json";
import plan from "./recorded/plan.json";
import running from "./recorded/running.json";
import tree from "./recorded/tree.json";
import waiting from "./recorded/waiting.json";

type Reset = Extract<FromKernel, { t: "reset" }>;

const RECORDED = { done, edited, episodes, failed, long, paused, plan, running, tree, waiting } as unknown as {
  [name: string]: Recording;
};

/** Text that would do damage if it were taken for markup. */
export const HOSTILE = `<img src=x onerror="window.hostile=1"><script>window.hostile=1</script><b class=hostile>b</b> [x](javascript:alert(1)) \u202e${"]]>"}`;

/** An image of one pixel. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Return a recording with a changed head, a changed reset, and more messages after it. */
function variation(
  from: string,
  head: Partial<Head>,
  change: (reset: Reset) => Partial<Reset> = () => ({}),
  after: FromKernel[] = [],
): Recording {
  const { messages, answers } = RECORDED[from] as Recording;
  const reset = messages.find((message) => message.t === "reset") as Reset;
  return { messages: [{ ...reset, ...change(reset), head: { ...reset.head, ...head } }, ...after], answers };
}

function thinking(more: Partial<PendingStep> = {}): PendingStep {
  return { kind: "think", role: "thought", path: "", index: 40, lane: "", busy: true, ...more };
}

const streaming = {
  path: "",
  index: 40,
  reasoning: "Two seats were asked for, so the price is doubled. ",
  text: "The train at 9:02 leaves enough time. I will look",
};

const question: PendingStep = {
  kind: "ask",
  role: "question",
  path: "",
  index: 40,
  lane: "",
  question: "Which day suits you better?",
  choices: ["Saturday", "Sunday"],
  why: "Which day suits you better?",
  which: "a",
};

const repeated: PendingStep = {
  kind: "act",
  role: "action",
  path: "",
  index: 40,
  lane: "",
  call: { name: "book_train", arguments: { origin: "Bern", destination: "Basel" }, id: "b" },
  effect: "irreversible",
  schema: { type: "object", properties: { origin: { type: "string" }, destination: { type: "string" } } },
  why: "book_train(origin='Bern', destination='Basel') was performed at 12:03 (result: seat 41); it would be called again",
  which: "a",
  past: { result: "seat 41", may_have_run: false },
};

const forecast =
  "Not undone: book_train(origin='Bern', destination='Basel'); the run asks before it calls book_train again.";

/** Cards with everything that a card can contain. */
function full(cards: Card[]): Card[] {
  const thought = cards.find((card) => card.kind === "think") as ThinkEntry;
  const act = cards.find((card) => card.kind === "act") as ActEntry;
  const of = (n: number): { id: number; n: number; index: number } => ({ id: 100 + n, n, index: n });
  const call = {
    name: "plot",
    arguments: { kind: "bar", values: [3, 1, 4, 1, 5], options: { grid: true, title: "Rain by day", unit: "mm" } },
    id: "p",
  };
  return [
    cards[0] as Card,
    {
      ...thought,
      ...of(1),
      text: "I will draw it.",
      calls: [call],
      reasoning: "A bar for each day. ".repeat(40),
      heard: ["Use millimetres, please."],
      cut: "Observation: the chart shows that it rains on Sunday.\nThought: so Saturday is better.",
    },
    {
      ...act,
      ...of(2),
      call,
      text: "drawn",
      items: [
        { type: "image", mime: "image/png", data: PIXEL },
        {
          type: "json",
          value: {
            days: [
              { day: "Sat", mm: 0 },
              { day: "Sun", mm: 12.5 },
            ],
            source: "station 7",
            complete: true,
          },
        },
      ],
    },
    {
      ...thought,
      ...of(3),
      role: "critic",
      calls: [],
      answer: null,
      text: "The chart has no axis labels.",
      problems: ["The reply held no action; it was asked again."],
      tags: [
        { text: "step 2 of the plan", title: "plan_step: 2" },
        { text: "score 0.7", title: "score: 0.7" },
      ],
      title: "Critique",
    },
    {
      ...act,
      ...of(4),
      call: { name: "page", arguments: { city: "Chur" }, id: "q" },
      text: "A page",
      lane: "[3.0]",
      lane_text: "in parallel, 1 of 2",
      path: "[3.0]",
      items: [{ type: "page", srcdoc: "<h1 style='font-family:sans-serif'>Chur</h1><p>A page of the tool's.</p>" }],
    },
    {
      ...act,
      ...of(5),
      call: {
        name: "lookup",
        arguments: { query: "trains to Atlantis", limit: "ten" },
        id: "r",
        coerced: ['limit: "ten" to 10'],
      },
      ok: false,
      text: "LookupError: no train goes to Atlantis",
      items: [],
    },
    {
      ...act,
      ...of(6),
      call: { name: "read", arguments: { path: "notes.txt" }, id: "s" },
      text: "A line of the notes.\n".repeat(400),
      long: { text: 40_000 },
      items: [],
    },
    {
      ...act,
      ...of(7),
      call: { name: "book_train", arguments: { origin: "Bern", destination: "Basel" }, id: "b" },
      text: "seat 41",
      items: [],
      author: "human",
      original: 0,
      repeats: true,
      reason:
        "not performed again: book_train(origin='Bern', destination='Basel') was performed at 12:03 (result: seat 41)",
    },
    {
      ...thought,
      ...of(8),
      calls: [],
      answer: null,
      text: "",
      drifted: true,
      siblings: [105, 108, 112],
      beside: ["attempt 1 at step 8", "thought of step 8 edited (too long)"],
      author: "human",
      original: 99,
      reason: "too vague",
    },
  ];
}

/** Markdown of every kind. */
const MARKDOWN = `# Two ways to Chur

The **early** train is *cheaper*; see [the timetable](https://example.org/timetable?from=Bern&to=Chur).
It leaves at 6:32,
and ~~7:32~~ is full.

| train | price | seats |
|-------|------:|-------|
| 6:32  |  34.5 | \`free\` |
| 9:02  |  41   | few   |

1. Book with \`book_train\`.
2. Check the price:
   - twice a day
   - until Friday

> The price is $p = a_1 + b_2$.

\`\`\`python
def price(day: str) -> float:
    return PRICES[day] * 0.5  # half fare
\`\`\`

![A map](https://example.org/map.png)`;

/** A thought, an observation, a question and an answer in Markdown. */
function formatted(cards: Card[]): Card[] {
  const [task, thought, act] = full(cards) as [Card, ThinkEntry, ActEntry];
  const plain = { calls: [], cut: "", reasoning: "", heard: [], problems: [] };
  return [
    task,
    { ...thought, ...plain, text: MARKDOWN, heard: ["Use **millimetres**, please."] },
    { ...act, items: [{ type: "source", mime: "text/markdown", text: "## Found\n\n- **2** trains" }], text: "found" },
    {
      ...act,
      id: 110,
      n: 3,
      items: [
        {
          type: "json",
          value: {
            trains: Array.from({ length: 12 }, (_, n) => ({ train: `${6 + n}:32`, price: 50 - n, free: n % 3 > 0 })),
            source: { station: 7, name: "Bern" },
            note: "long ".repeat(60),
          },
        },
      ],
    },
    { ...thought, ...plain, id: 111, n: 4, text: MARKDOWN.repeat(4), answer: null },
    { ...thought, ...plain, id: 112, n: 5, text: MARKDOWN, answer: "Take the **6:32**.\n\n- one seat\n- 34.50" },
  ];
}

/** A thought of a model that tells how likely each token was. */
const TOKENS: ReplyTokens["tokens"] = [
  ["\nThought: ", 0.999],
  ["I", 0.813, { The: 0.156, No: 0.021 }],
  [" ", 1],
  ["need", 0.759, { should: 0.236 }],
  [" ", 1],
  ["the", 0.997],
  [" ", 0.999],
  ["price", 0.966],
  [".", 0.982, { " ": 0.007 }],
  ["\nAction: ", 0.999],
  ["price", 0.464, { calculate: 0.394, evaluate: 0.03, math: 0.015 }],
  ["\nAction Input: ", 0.998],
  ['{"', 0.999],
  ["Delete", 0, { item: 0.912, thing: 0.042, product: 0.012 }],
  ['": "', 1],
  ["times", 0.123, { c: 0.152, "*": 0.051, f: 0.048 }],
  ['"}', 0.99],
];

function measured(cards: Card[]): Card[] {
  return cards.map((card) => (card.kind === "think" ? { ...card, tokens: TOKENS.length } : card));
}

function hostile(cards: Card[]): Card[] {
  return full(cards).map((card) => poison(card) as Card);
}

/** Replace every text by a hostile one, except names of fields and kinds. */
function poison(value: unknown, name = ""): unknown {
  if (typeof value === "string")
    return ["kind", "type", "path", "lane", "mime", "data", "id"].includes(name) ? value : HOSTILE;
  if (Array.isArray(value)) return value.map((each) => poison(each, name));
  if (value && typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key === "query" ? HOSTILE : key, poison(each, key)]),
    );
  return value;
}

/** Change the cards of a reset. */
function withCards(make: (cards: Card[]) => Card[]): (reset: Reset) => Partial<Reset> {
  return (reset) => {
    const cards = make(reset.cards);
    return {
      cards,
      total: cards.length,
      map: cards.map((card) => ({ begin: "b", think: "t", act: "a", ask: "q", conclude: "c" })[card.kind]).join(""),
    };
  };
}

export function state(name: string): Recording {
  const recording = RECORDED[name] ?? VARIATIONS[name]?.();
  if (!recording) throw new Error(`there is no state ${name}, only ${NAMES.join(", ")}`);
  return recording;
}

const VARIATIONS: { [name: string]: () => Recording } = {
  empty: () =>
    variation(
      "paused",
      {
        pending: [thinking({ busy: false })],
        usage: { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0, calls: 0 },
        model_calls: 0,
        tool_calls: 0,
        can: { undo: false, redo: false },
      },
      withCards((all) => all.slice(0, 1)),
    ),
  streaming: () =>
    variation("paused", { status: "running", pending: [thinking()] }, () => ({ streaming: [streaming] })),
  pausing: () => variation("running", { status: "pausing" }),
  stopping: () => variation("running", { status: "stopping" }),
  stopped: () => variation("paused", { status: "stopped", forecast }),
  held: () =>
    variation("paused", {
      hold: "breakpoint on tool weather",
      breakpoints: [{ id: 0, kind: "tool", value: "weather", enabled: true, hits: 2 }],
    }),
  question: () => variation("paused", { status: "waiting", pending: [question] }),
  repeated: () => variation("paused", { status: "waiting", pending: [repeated] }),
  uncertain: () =>
    variation("paused", {
      status: "waiting",
      pending: [
        {
          ...repeated,
          effect: "undeclared",
          why: "book_train(origin='Bern', destination='Basel') began at 12:03 and may have run: its result is not known; it would be called again",
          past: { result: null, may_have_run: true },
        },
      ],
    }),
  readonly: () =>
    variation("done", {
      status: "readonly",
      read_only: "it was opened without tool 'book_train'",
      can: { undo: false, redo: false },
    }),
  injected: () =>
    variation("paused", {
      injections: [
        { id: "a", text: "Prefer the morning.", to: "", seen: true },
        { id: "b", text: "No buses, please.", to: "[3.1]", to_text: "in parallel, 2 of 2", seen: false },
      ],
    }),
  full: () => variation("edited", {}, withCards(full)),
  markdown: () => variation("edited", {}, withCards(formatted)),
  tokens: () => {
    const { messages, answers } = variation("paused", {}, withCards(measured));
    return { messages, answers: { ...answers, tokens: { tokens: TOKENS, total: TOKENS.length } as unknown as Json } };
  },
  // written so far: a table that has begun
  writing: () =>
    variation("paused", { status: "running", pending: [thinking()] }, () => ({
      streaming: [{ ...streaming, reasoning: "", text: MARKDOWN.slice(0, MARKDOWN.indexOf("| 9:02") + 8) }],
    })),
  values: () =>
    variation("paused", {
      where: [
        {
          function: "react",
          file: "/agentkit/engines/react.py",
          line: 26,
          lane: "",
          around: false,
          locals: [
            ["chat", { text: "2 messages", kind: "chat", size: 2 }, "a"],
            ["prices", { text: "list of 12 records", kind: "list", size: 12 }, "b"],
            ["turn", { text: "3", kind: "scalar", size: 0 }, "c"],
            ["plan", { text: "Plan(steps=[2 items], title='Trip')", kind: "object", size: 2 }, "d"],
          ],
        },
      ],
    }),
  hostile: () =>
    variation(
      "edited",
      {
        ...(poison({
          task: "",
          hold: "",
          forecast: "",
          engine: "",
          model: "",
          variable: "",
          dialect: "",
        }) as Partial<Head>),
        read_only: HOSTILE,
        injections: [{ id: "a", text: HOSTILE, to: HOSTILE, seen: false }],
        breakpoints: [{ id: 0, kind: "when", value: HOSTILE, enabled: true, hits: 1 }],
        tools: [HOSTILE],
        pending: [
          { ...question, question: HOSTILE, choices: [HOSTILE], why: HOSTILE },
          {
            ...question,
            kind: "act",
            index: 41,
            call: { name: HOSTILE, arguments: { [HOSTILE]: HOSTILE }, id: HOSTILE },
            effect: HOSTILE,
            why: HOSTILE,
            which: "b",
          },
        ],
        where: [
          {
            function: HOSTILE,
            file: HOSTILE,
            line: 3,
            lane: "",
            around: false,
            locals: [[HOSTILE, { text: HOSTILE, kind: "list", size: 3 }, ""]],
          },
        ],
      },
      withCards(hostile),
    ),
};

/** States without a working connection to the kernel. */
export const UNREACHABLE = ["unanswered", "unresponsive", "lost"];

export const NAMES = [...Object.keys(RECORDED), ...Object.keys(VARIATIONS), ...UNREACHABLE];
