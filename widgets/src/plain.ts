/** Texts as they are: what would turn the order of letters around, or is not seen at all, is written out wherever it is drawn. */

import { options } from "preact";

/** Controls, marks of direction, and what has no width; lines may end, and joiners stay, since letters and signs are made with them. */
const HIDDEN = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function plain(text: string): string {
  return text.replace(HIDDEN, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** What is read of an element beside the texts in it. */
const LABELS = ["aria-label", "aria-valuetext", "title"];

/**
 * Every text node and every label is made here, so that none can be forgotten. A box that is written in holds what it shows,
 * since that goes back: where that is not plain, it is written out below.
 */
export function drawPlainly(): void {
  options.vnode = (node: { props: string | { [name: string]: unknown } }) => {
    const { props } = node;
    if (typeof props === "string") node.props = plain(props);
    else
      for (const name of LABELS) {
        const label = props[name];
        if (typeof label === "string") props[name] = plain(label);
      }
  };
}
