/**
 * A lexer that splits code into tokens for highlighting, line by line: Python, and what looks like it, such as JSON and
 * the commands of a shell. It accepts any text.
 */

export type TokenKind = "keyword" | "string" | "comment" | "number" | "";
export type Token = [kind: TokenKind, text: string];

const KEYWORDS = new Set(
  [
    "False None True and as assert async await break case class continue def del elif else except finally for from",
    "global if import in is lambda match nonlocal not or pass raise return try while with yield",
  ].flatMap((line) => line.split(" ")),
);

/** Those of JSON and of a shell, some of which are good names in Python. */
export const OTHER_KEYWORDS = new Set(
  "true false null if then elif else fi for in do done while until case esac function return export local".split(" "),
);

/** Each alternative consumes at least one character, and none is tried twice at a position, so the time is linear. */
const LEXEME = new RegExp(
  [
    /([rbfut]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?))/,
    /(#.*)/,
    /(\d[\w.]*)/,
    /([^\W\d]\w*)/,
    /([\s\S])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

export function tokenizeLines(source: string, keywords: Set<string> = KEYWORDS): Token[][] {
  const lines: Token[][] = [[]];
  for (const [text, string, comment, number, name] of source.matchAll(LEXEME)) {
    const kind = string
      ? "string"
      : comment
        ? "comment"
        : number
          ? "number"
          : name && keywords.has(name)
            ? "keyword"
            : "";
    text.split("\n").forEach((part, index) => {
      if (index) lines.push([]);
      const line = lines[lines.length - 1] as Token[];
      const last = line[line.length - 1];
      if (last && last[0] === kind) last[1] += part;
      else if (part) line.push([kind, part]);
    });
  }
  return lines;
}
