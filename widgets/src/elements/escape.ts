/**
 * Invisible characters, and those that reverse the text after them, are shown as escape sequences wherever they are
 * drawn.
 */

import { options } from "preact";

// The same rule as in agentkit/inert.py, where it is explained; tests/hidden_characters.json checks both.
const HIDDEN = "\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb";
const EMOJI = "\\p{Extended_Pictographic}\\p{Emoji_Modifier}";
const ARABIC = "\\u0620-\\u06ff\\u0750-\\u077f\\u08a0-\\u08ff";
const VIRAMA = "\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca";
const SHAPING = [
  `[${EMOJI}\\ufe0f]\\u200d(?=[${EMOJI}])`,
  `[${EMOJI}][\\ufe0e\\ufe0f]`,
  "[0-9#*]\\ufe0f(?=\\u20e3)",
  `[${ARABIC}][\\u200c\\u200d](?=[${ARABIC}])`,
  `[${VIRAMA}][\\u200c\\u200d]`,
].join("|");
const REPLACED = new RegExp(`[${HIDDEN}](?<![\\t\\n]|${SHAPING})`, "gu");

/** Return a text whose hidden characters are escapes as in Python, such as `\x1b`; line breaks and tabs stay. */
export function escapeInvisible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(REPLACED, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code === 13) return "\\r";
    const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(width, "0")}`;
  });
}

/** Attributes that are read by people. */
const LABELS = ["alt", "aria-label", "aria-valuetext", "placeholder", "title"];

/**
 * Escape every text node and every label at the one place where Preact makes them, so that none is forgotten. The value
 * of a text field is left alone, since it is sent back; `TextArea` shows an escaped copy below it if necessary.
 */
export function escapeAllTexts(): void {
  options.vnode = (node: { props: string | { [name: string]: unknown } }) => {
    const { props } = node;
    if (typeof props === "string") node.props = escapeInvisible(props);
    else
      for (const name of LABELS) {
        const label = props[name];
        if (typeof label === "string") props[name] = escapeInvisible(label);
      }
  };
}
