/** In these tests, every frame comes at once. A test of frames has its own. */

import { beforeEach, vi } from "vitest";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (draw: FrameRequestCallback): number => {
    draw(performance.now());
    return 0;
  });
});
