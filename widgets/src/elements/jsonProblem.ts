/** What is wrong with a text that is not JSON, in words: browsers say it in their own ways, and not always where. */

/** Return where a text stops being JSON and what was expected there; "" if it is JSON. */
export function jsonProblem(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch {
    return describe(text);
  }
}

const TOKEN =
  /\s*(?:([{}[\],:])|("(?:[^"\\\n]|\\.)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.]))/y;

/** Read a text token by token, up to the first one that does not fit. */
function describe(text: string): string {
  if (!text.trim()) return "Nothing was entered: a JSON value is expected.";
  const open: string[] = []; // the brackets that are open
  let expected: "value" | "key" | "colon" | "next" = "value";
  let first = false; // directly after an opening bracket, which may be closed at once
  for (let at = 0; ; ) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const begin = at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
    if (begin >= text.length) {
      const last = open[open.length - 1];
      return last ? `The text ends, but a ${last} is not closed.` : `The text ends, but ${WORDS[expected]} is missing.`;
    }
    const [, mark = "", string = ""] = found ?? [];
    const problem = (what: string): string => `${placeOf(text, begin)}: ${what}`;
    if (!found) return problem(unreadable(text, begin));
    at = TOKEN.lastIndex;
    const inside = open[open.length - 1];
    const closes = mark === "}" || mark === "]";
    if (closes) {
      if (inside !== (mark === "}" ? "{" : "[")) return problem(`this ${mark} closes nothing.`);
      if (expected !== "next" && !first)
        return problem(`${WORDS[expected]} is expected, not ${mark}; is there a comma too many?`);
      open.pop();
      expected = "next";
    } else if (expected === "value") {
      if (mark && mark !== "{" && mark !== "[") return problem(`a value is expected, not ${mark}`);
      if (mark) open.push(mark);
      expected = mark === "{" ? "key" : mark === "[" ? "value" : "next";
    } else if (expected === "key") {
      if (!string) return problem(`a name in double quotes is expected, not ${found[0].trim()}`);
      expected = "colon";
    } else if (expected === "colon") {
      if (mark !== ":") return problem("a colon is expected after the name.");
      expected = "value";
    } else {
      if (!inside) return problem("the value has ended, but more text follows.");
      if (mark !== ",") return problem(`a comma or a ${inside === "{" ? "}" : "]"} is expected.`);
      expected = inside === "{" ? "key" : "value";
    }
    first = mark === "{" || mark === "[";
  }
}

const WORDS = { value: "a value", key: "a name in double quotes", colon: "a colon", next: "a comma" };

function unreadable(text: string, at: number): string {
  const rest = text.slice(at);
  if (rest.startsWith("'")) return "strings are written in double quotes.";
  if (rest.startsWith('"')) return "this string is not closed on its line, or has an escape that JSON does not know.";
  const word = /^[\w.+-]+/.exec(rest)?.[0] ?? rest.slice(0, 1);
  const instead = { True: "true", False: "false", None: "null" }[word];
  return instead
    ? `JSON writes ${instead}, not ${word}.`
    : `${word} is not JSON; strings are written in double quotes.`;
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `Line ${lines.length}, character ${(lines[lines.length - 1]?.length ?? 0) + 1}`;
}
