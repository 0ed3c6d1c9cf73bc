/** The style sheet, once in each document or shadow tree that contains a view. */

import css from "./style.css?inline";

const sheets = new WeakMap<Document, CSSStyleSheet>();

/** Apply the style sheet to the tree that an element is in. */
export function addStyle(el: Element): void {
  const root = el.getRootNode() as Document | ShadowRoot;
  if (!root.adoptedStyleSheets) return;
  const { ownerDocument } = el;
  let sheet = sheets.get(ownerDocument);
  if (!sheet) {
    sheet = new (ownerDocument.defaultView ?? window).CSSStyleSheet();
    sheet.replaceSync(css);
    sheets.set(ownerDocument, sheet);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
