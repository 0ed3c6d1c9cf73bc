/** Code with plain syntax colours. */

import type { JSX } from "preact";
import { OTHER_KEYWORDS, type Token, tokenizeLines } from "./codeTokens";

/** Languages whose strings, comments and numbers look like those of Python, or nearly so. */
const COLOURED = /^(python[23]?|py|pycon|ipython|json[c5l]?|bash|sh|shell|zsh|console|toml|ya?ml)\b/i;
/** Longer code is drawn without colours: each token is an element. */
const MAX_COLOURED = 20_000;

export function Code({ text, language }: { text: string; language: string }): JSX.Element {
  if (!COLOURED.test(language) || text.length > MAX_COLOURED) return <code>{text}</code>;
  const keywords = /^i?py/i.test(language) ? undefined : OTHER_KEYWORDS;
  const lines = tokenizeLines(text, keywords).map((line, index): Token[] => (index ? [["", "\n"], ...line] : line));
  return (
    <code>
      <Tokens tokens={lines.flat()} />
    </code>
  );
}

export function Tokens({ tokens }: { tokens: Token[] }): JSX.Element {
  return (
    <>
      {tokens.map(([kind, text], index) =>
        kind ? (
          <span key={index} class={`ak-${kind}`}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </>
  );
}
