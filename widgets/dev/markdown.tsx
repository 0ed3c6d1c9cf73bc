/** Draws texts as Markdown when a test asks for it, and returns what a reader gets. */

import { render } from "preact";
import { escapeAllTexts } from "../src/elements/escape";
import { Blocks, useBlocks } from "../src/elements/markdownView";
import { skeletonOf } from "../test/support/skeleton";

declare global {
  interface Window {
    skeletonsOf(texts: string[]): string[];
  }
}

escapeAllTexts();

function Text({ text }: { text: string }) {
  return <Blocks blocks={useBlocks(text)} />;
}

window.skeletonsOf = (texts) =>
  texts.map((text) => {
    const root = document.createElement("div");
    render(<Text text={text} />, root);
    return skeletonOf(root);
  });
