/** The style sheet, once in each document or shadow tree that contains a view. */

const sheets = new WeakMap<Document, CSSStyleSheet>();

/** Apply the style sheet of this module to the tree that an element is in. */
export function addStyle(el: Element, css: string): void {
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
