/** What a reader and a click get of some elements, in one line: tags, texts, and where links lead. */
export function skeletonOf(node: Node): string {
  if (node.nodeType === 3) return node.nodeValue ?? "";
  const element = node as HTMLElement;
  const inside = [...element.childNodes].map(skeletonOf).join("");
  const tag = element.tagName?.toLowerCase();
  if (!tag || tag === "div" || tag === "span") return inside;
  const attribute = element.getAttribute("href") ?? element.getAttribute("start");
  return `${tag}${attribute ? `[${attribute}]` : ""}(${inside})`;
}
