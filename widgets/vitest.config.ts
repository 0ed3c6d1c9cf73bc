import { defineConfig } from "vitest/config";

export default defineConfig({
  // the limit of pytest: a busy machine is not a failure
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"], testTimeout: 300_000 },
});
