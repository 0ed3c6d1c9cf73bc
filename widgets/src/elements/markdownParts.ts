/**
 * What the parser of Markdown imports from elsewhere, in a few lines: build.mjs puts this module in the place of
 * `entities`, `linkify-it`, `mdurl`, `punycode.js` and `uc.micro`, which would be three times as long as the parser.
 * Addresses are read by `safeAddress` instead, and an address is a link only if it is written as one.
 */

/** Punctuation and symbols, beside which `*` and `_` begin or end an emphasis. */
export const P = /\p{P}/u;
export const S = /\p{S}/u;

/** Return the character that an entity such as `&amp;` stands for; the entity itself if there is none. */
export function decodeHTMLStrict(entity: string): string {
  if (!/^&(#x?)?[a-z0-9]{1,31};$/i.test(entity)) return entity; // nothing else is given to the reader of HTML
  return new DOMParser().parseFromString(entity, "text/html").documentElement.textContent ?? entity;
}

export class LinkifyIt {}

const unused = (): never => {
  throw new Error("the addresses of links are read by safeAddress");
};
export const parse = unused;
export const format = unused;
export const encode = unused;
export const decode = unused;
export default {};
