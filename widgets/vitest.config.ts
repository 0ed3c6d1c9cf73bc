import { defineConfig } from "vitest/config";
// @ts-expect-error: plain JavaScript, which the build reads too
import alias from "./aliases.mjs";

export default defineConfig({
  resolve: { alias },
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.{ts,tsx}"],
    setupFiles: ["test/support/frames.ts"],
    testTimeout: 300_000, // the limit of pytest: a busy machine is not a failure
    server: { deps: { inline: ["markdown-it"] } }, // or the aliases would not reach it
  },
});
