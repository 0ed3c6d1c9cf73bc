// Builds the one module and the one style sheet that a notebook loads. `--watch` builds anew whenever a source changes;
// `--dev` serves the pages in dev/, which run the widget without Jupyter and are built anew whenever one is loaded.
import { mkdirSync, writeFileSync } from "node:fs";
import { build, context } from "esbuild";

const MOST_BYTES = 100_000; // it crosses to the page with every widget, which gives it two seconds to load

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
  // elements in their short form: that of tsconfig.json, which needs no import in each file, is 4 kB longer
  tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment", verbatimModuleSyntax: true } },
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
  mkdirSync(widget.outdir, { recursive: true });
  for (const { path, contents } of outputFiles) {
    if (path.endsWith(".js") && contents.length > MOST_BYTES)
      throw new Error(`widget.js would have ${contents.length} bytes, and may have ${MOST_BYTES}: leave something out`);
    writeFileSync(path, contents);
  }
}
