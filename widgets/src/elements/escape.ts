/**
 * Invisible characters, and those that reverse the text after them, are shown as escape sequences wherever they are
 * drawn.
 */

import { options } from "preact";

/** Control, format and separator characters; not line breaks and tabs, nor the joiners that words and emoji need. */
const INVISIBLE = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Attributes that are read by people. */
const LABELS = ["aria-label", "aria-valuetext", "title"];

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
