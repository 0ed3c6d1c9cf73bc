/** The state that a view shows before the kernel has sent any. */

import type { Head, Pictures } from "../protocol";

export const EMPTY_HEAD: Head = {
  run: "",
  variable: "",
  forked: null,
  task: "",
  engine: "",
  model: "",
  dialect: "",
  status: "paused",
  was_playing: false,
  hold: "",
  error: null,
  read_only: "",
  answer: null,
  pending: [],
  where: [],
  usage: { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0, calls: 0 },
  model_calls: 0,
  tool_calls: 0,
  spent: { model_calls: 0, tool_calls: 0 },
  breakpoints: [],
  injections: [],
  can: { undo: false, redo: false },
  pace: 0,
  temperature: null,
  asking: {},
  tools: [],
  roles: [],
  branches: 1,
  forks: [],
  forecast: "",
};

export const EMPTY_PICTURES: Pictures = { plan: [], episodes: [], tree: [] };
