// The modules that are built into the place of others, which they replace with less.
import { fileURLToPath } from "node:url";

const parts = fileURLToPath(new URL("src/elements/markdownParts.ts", import.meta.url));

export default Object.fromEntries(
  ["entities", "linkify-it", "mdurl", "punycode.js", "uc.micro"].map((name) => [name, parts]),
);
