// Build the module and the style sheet that a notebook loads. `--watch` rebuilds them whenever a source changes;
// `--dev` serves the pages in dev/, which run the widget without Jupyter, and rebuilds them whenever one is loaded.
import { mkdirSync, writeFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { build, context } from "esbuild";

// of both together: they are sent to the page with every view, and saved in every notebook that saves its widgets
const MAX_BYTES = 90_000;

const [mode, port = "8123"] = process.argv.slice(2);
process.chdir(import.meta.dirname);

const options = {
  absWorkingDir: import.meta.dirname,
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "info",
  // the classic form of JSX, with its factory injected, is 4 kB smaller than the automatic one in tsconfig.json
  tsconfigRaw: {
    compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment", verbatimModuleSyntax: true },
  },
  inject: ["src/jsx.ts"],
};
const widget = {
  ...options,
  entryPoints: [
    { in: "src/index.tsx", out: "widget" },
    { in: "src/style.css", out: "widget" },
  ],
  outdir: "../agentkit/static",
};

if (mode === "--dev") {
  const page = await context({ ...options, entryPoints: ["dev/*.tsx"], outdir: "dev/built", sourcemap: "inline" });
  await page.serve({ servedir: ".", host: "127.0.0.1", port: Number(port) });
} else if (mode === "--watch") {
  await (await context({ ...widget, sourcemap: "inline" })).watch();
} else {
  const { outputFiles } = await build({ ...widget, minify: true, write: false });
  const files = outputFiles.map(({ path, contents }) => ({
    path,
    contents: path.endsWith(".js") ? compress(contents) : contents,
  }));
  const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0);
  if (bytes > MAX_BYTES) throw new Error(`the widget has ${bytes} bytes, but must not have more than ${MAX_BYTES}`);
  mkdirSync(widget.outdir, { recursive: true });
  for (const { path, contents } of files) writeFileSync(path, contents);
}

/** Return a module that unpacks another one: half as long, and without characters that JSON has to escape. */
function compress(module) {
  const text = deflateRawSync(module, { level: 9 }).toString("base64");
  return Buffer.from(`const packed = Uint8Array.from(atob("${text}"), (c) => c.charCodeAt(0));
const module = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const url = URL.createObjectURL(new Blob([await new Response(module).text()], { type: "text/javascript" }));
const { default: widget } = await import(url);
URL.revokeObjectURL(url);
export default widget;
`);
}
