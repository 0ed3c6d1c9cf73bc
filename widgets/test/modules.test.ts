/// <reference types="vite/client" />
import { expect, test } from "vitest";

/** From the ground up: a module imports only from its own folder, or from those listed before it. */
const FOLDERS = [
  "protocol",
  "tableProtocol",
  "jsx",
  "notebook",
  "moments",
  "styleSheet",
  "elements",
  "state",
  "cards",
  "panels",
  "view",
  "table",
  "widget",
  "index",
  "tableIndex",

  "loader",
];

const SOURCES: { [path: string]: string } = import.meta.glob(["../src/**/*.{ts,tsx}", "!../src/**/*.d.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** The modules that each module imports, types included, by paths such as "state/store". */
const imports = new Map(
  Object.entries(SOURCES).map(([path, text]) => {
    const module = path.replace("../src/", "").replace(/\.tsx?$/, "");
    const found = [...text.matchAll(/ from "(\.[^"?]+)"/g)].map(([, name]) =>
      new URL(name as string, `file:///${module}`).pathname.slice(1),
    );
    return [module, found];
  }),
);

function rank(module: string): number {
  return FOLDERS.indexOf(module.split("/")[0] as string);
}

test("every module belongs to a known folder", () => {
  expect(imports.size).toBeGreaterThan(40);
  expect([...imports.keys()].filter((module) => rank(module) < 0)).toEqual([]);
});

test("modules import only from their own folder or from those below it", () => {
  const upward = [...imports].flatMap(([module, found]) =>
    found.filter((other) => !imports.has(other) || rank(other) > rank(module)).map((other) => `${module} -> ${other}`),
  );
  expect(upward).toEqual([]);
});

test("there is no circle between modules", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (module: string, path: string[]): void => {
    if (path.includes(module)) circles.push([...path, module].join(" -> "));
    if (done.has(module) || path.includes(module)) return;
    for (const other of imports.get(module) ?? []) visit(other, [...path, module]);
    done.add(module);
  };
  for (const module of imports.keys()) visit(module, []);
  expect(circles).toEqual([]);
});
