import { expect, test } from "vitest";
import widget from "../src/index";

test("the module exports a widget", () => {
  expect(widget().render).toBeTypeOf("function");
});
