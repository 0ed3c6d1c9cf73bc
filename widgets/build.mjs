// Build the module and the loader that a notebook loads. `--watch` rebuilds them whenever a source changes;
// `--dev` serves the pages in dev/, which run the widget without Jupyter, and rebuilds them whenever one is loaded.
import { mkdirSync, writeFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { build, context } from "esbuild";
import alias from "./aliases.mjs";
import styleSheet from "./styleSheetPlugin.mjs";

// of both together. The module, which contains the style sheet, is sent once to each page; the loader with every run
const MAX_BYTES = 120_000;
// of the module of experiments, which only pages that show one load
const MAX_TABLE_BYTES = 40_000;

const [mode, port = "8123"] = process.argv.slice(2);
process.chdir(import.meta.dirname);

const options = {
  alias,
  plugins: [styleSheet],
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
  entryPoints: [{ in: "src/index.tsx", out: "widget" }],
  outdir: "../agentkit/static",
};
const table = { ...widget, entryPoints: [{ in: "src/tableIndex.tsx", out: "table" }] };
const loader = { ...options, entryPoints: ["src/loader.ts"], inject: [], outdir: widget.outdir };
// the script and the style sheet of the pages of a server, which shows the widget without Jupyter
const web = { ...loader, entryPoints: ["web/page.ts", "web/page.css"] };

if (mode === "--dev") {
  const page = await context({ ...options, entryPoints: ["dev/*.tsx"], outdir: "dev/built", sourcemap: "inline" });
  await page.serve({ servedir: ".", host: "127.0.0.1", port: Number(port) });
} else if (mode === "--watch") {
  for (const each of [widget, table, loader, web]) await (await context({ ...each, sourcemap: "inline" })).watch();
} else {
  const built = await Promise.all(
    [widget, loader, table].map((each) => build({ ...each, minify: true, write: false })),
  );
  const pages = await build({ ...web, minify: true, write: false });
  const outputFiles = built.flatMap((each) => each.outputFiles);
  const files = outputFiles.map(({ path, contents }) => ({
    path,
    contents: path.endsWith("loader.js") ? contents : compress(contents),
  }));
  const check = (name, files, most) => {
    const bytes = files.reduce((sum, { contents }) => sum + contents.length, 0);
    if (bytes > most) throw new Error(`the ${name} has ${bytes} bytes, but must not have more than ${most}`);
  };
  const [widgetFile, loaderFile, tableFile] = files;
  check("widget", [widgetFile, loaderFile], MAX_BYTES);
  check("table", [tableFile], MAX_TABLE_BYTES);
  mkdirSync(widget.outdir, { recursive: true });
  for (const { path, contents } of [...files, ...pages.outputFiles]) writeFileSync(path, contents);
}

/**
 * Return a module that unpacks another one: less than half as long, and without characters that JSON or HTML escapes.
 * Every four bytes become five characters, where base64 would need more than that.
 */
function compress(module) {
  const packed = deflateRawSync(module, { level: 9 });
  return Buffer.from(`const text = "${toBase85(packed)}";
const bytes = [];
for (let at = 0; at < text.length; ) {
  let word = 0;
  for (const end = at + 5; at < end; at++) {
    const code = text.charCodeAt(at);
    word = word * 85 + code - 35 - (code > 60) - (code > 92);
  }
  bytes.push(word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255);
}
const packed = new Uint8Array(bytes).subarray(0, ${packed.length});
const module = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const url = URL.createObjectURL(new Blob([await new Response(module).text()], { type: "text/javascript" }));
const { default: widget } = await import(url);
URL.revokeObjectURL(url);
export default widget;
`);
}

/** Return bytes as text: the digits are the characters from # to y, without < and the backslash. */
function toBase85(bytes) {
  const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  let text = "";
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.readUInt32BE(at);
    for (const place of [85 ** 4, 85 ** 3, 85 ** 2, 85, 1]) {
      const code = 35 + (Math.floor(word / place) % 85);
      const skipped = code + (code > 59);
      text += String.fromCharCode(skipped + (skipped > 91));
    }
  }
  return text;
}
