import { beforeEach, expect, test, vi } from "vitest";
import { Frames } from "../../src/state/frames";

let waiting: (() => void)[] = [];

beforeEach(() => {
  waiting = [];
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => waiting.push(draw));
  vi.stubGlobal("cancelAnimationFrame", (id: number) => waiting.splice(id - 1, 1));
});

function frames(count: number): void {
  for (let n = 0; n < count; n++) for (const draw of waiting.splice(0)) draw();
}

test("what is requested is drawn in the next frame, once", () => {
  const draw = vi.fn();
  const drawing = new Frames(draw);
  drawing.request();
  drawing.request();
  expect(draw).not.toHaveBeenCalled();
  frames(1);
  expect(draw).toHaveBeenCalledTimes(1);
});

test("after a drawing, some frames stay free, and nothing that was requested in the meantime is lost", () => {
  const draw = vi.fn();
  const drawing = new Frames(draw);
  for (let n = 0; n < 40; n++) {
    drawing.request();
    frames(1);
  }
  expect(draw).toHaveBeenCalledTimes(10);
  drawing.request();
  frames(4);
  expect(draw).toHaveBeenCalledTimes(11);
});

test("no frame is asked for when nothing is to be drawn", () => {
  const drawing = new Frames(() => undefined);
  drawing.request();
  frames(5);
  expect(waiting).toEqual([]);
});

test("after the end nothing is drawn", () => {
  const draw = vi.fn();
  const drawing = new Frames(draw);
  drawing.request();
  drawing.close();
  frames(5);
  expect(draw).not.toHaveBeenCalled();
});
