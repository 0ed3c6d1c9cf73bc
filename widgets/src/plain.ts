/** Texts as they are: what would turn the order of letters around, or is not seen at all, is written out wherever it is drawn. */

import { options } from "preact";

/** Controls, marks of direction, and what has no width; lines may end, and joiners stay, since letters and signs are made with them. */
const HIDDEN = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function plain(text: string): string {
  return text.replace(HIDDEN, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** Every text node is made here, so that none can be forgotten. A box that is written in shows what it holds: that goes back. */
export function drawPlainly(): void {
  options.vnode = (node: { props: unknown }) => {
    if (typeof node.props === "string") node.props = plain(node.props);
  };
}
