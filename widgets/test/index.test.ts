import { expect, test } from "vitest";
import widget from "../src/index";

test("the module gives a widget that can be drawn", () => {
  expect(widget().render).toBeTypeOf("function");
});
