/** Python source in coloured pieces, line by line. A lexer for reading: it names what it sees and rejects nothing. */

export type Kind = "keyword" | "string" | "comment" | "number" | "";
export type Token = [kind: Kind, text: string];

const KEYWORDS =
  "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield";

/** Each alternative eats at least one character and none is tried twice from one place, so that the time is linear. */
const LEXEME = new RegExp(
  [
    /([rbfut]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?))/,
    /(#.*)/,
    /(\d[\w.]*)/,
    /([^\W\d]\w*)/,
    /([\s\S])/,
  ]
    .map((each) => each.source)
    .join("|"),
  "gi",
);
const IS_KEYWORD = new Set(KEYWORDS.split(" "));

export function lines(source: string): Token[][] {
  const found: Token[][] = [[]];
  for (const [text, string, comment, number, name] of source.matchAll(LEXEME)) {
    const kind: Kind = string ? "string" : comment ? "comment" : number ? "number" : name && IS_KEYWORD.has(name) ? "keyword" : "";
    text.split("\n").forEach((part, index) => {
      if (index) found.push([]);
      const line = found[found.length - 1] as Token[];
      const last = line[line.length - 1];
      if (last && last[0] === kind) last[1] += part;
      else if (part) line.push([kind, part]);
    });
  }
  return found;
}
