// Makes `import css from "./style.css?inline"` the bundled style sheet as a string, as in Vite, which runs the tests.
import { build } from "esbuild";

const SUFFIX = "?inline";

export default {
  name: "style sheet as a string",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /\.css\?inline$/ }, async ({ path, resolveDir, kind }) => ({
      ...(await resolve(path.slice(0, -SUFFIX.length), { resolveDir, kind })),
      namespace: "inline",
    }));
    onLoad({ filter: /./, namespace: "inline" }, async ({ path }) => {
      const { outputFiles, metafile } = await build({
        entryPoints: [path],
        bundle: true,
        minify: true,
        target: "es2022",
        charset: "utf8",
        write: false,
        metafile: true,
      });
      return { contents: outputFiles[0].text, loader: "text", watchFiles: Object.keys(metafile.inputs) };
    });
  },
};
