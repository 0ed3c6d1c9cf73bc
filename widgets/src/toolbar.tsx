/** The verbs of the whole run. */

import type { JSX } from "preact";
import { Choice, Tool } from "./controls";
import { Icon, type Sign } from "./icons";
import { hint, type Verb } from "./keys";
import { ExportMenu } from "./panels/export";
import { able } from "./status";
import type { Store } from "./store";
import type { Ui } from "./ui";
import { useOf } from "./use";

const DRIVE: [verb: Verb & Sign, label: string, title: string][] = [
  ["step", "Step", "Perform one step"],
  ["play", "Run", "Go on in the background"],
  ["pause", "Pause", "Pause at the next boundary: a call that is out ends first"],
  ["over", "Step over", "Parallel calls together; a nested engine until it returns"],
  ["stop", "Stop", "Stop at once. The kernel's own interrupt button does not reach a run in the background"],
];
const BACK: [verb: Verb & Sign, label: string, title: string][] = [
  ["undo", "Undo", "Undo the last step, edit or move"],
  ["redo", "Redo", "Redo"],
];
const PACES: [seconds: number, label: string][] = [
  [0, "full speed"],
  [0.5, "0.5 s/step"],
  [1, "1 s/step"],
  [2, "2 s/step"],
];

export function Toolbar({ store, ui }: { store: Store; ui: Ui }): JSX.Element {
  const now = (verb: Verb): boolean => able(store, verb);
  useOf(store, () => [...DRIVE, ...BACK].map(([verb]) => +now(verb)).join("") + now("inject") + now("edit") + store.link);
  const injecting = useOf(ui, (u) => u.injecting);
  const beside = useOf(ui, (u) => u.beside);
  const helping = useOf(ui, (u) => u.helping);
  return (
    <div class="ak-toolbar" role="toolbar" aria-label="Run">
      <span class="ak-tool-group">
        {DRIVE.map(([verb, label, title]) => (
          <Tool
            key={verb}
            label={label}
            class={verb === "step" ? "ak-primary" : ""}
            hint={hint(verb)}
            title={title}
            off={!now(verb)}
            onPress={() => ui.perform(verb)}
          >
            <Icon sign={verb} />
            {label}
          </Tool>
        ))}
      </span>
      <span class="ak-tool-group">
        {BACK.map(([verb, label, title]) => (
          <Tool key={verb} label={label} hint={hint(verb)} title={title} off={!now(verb)} onPress={() => ui.perform(verb)}>
            <Icon sign={verb} />
          </Tool>
        ))}
        <Pace store={store} ui={ui} />
      </span>
      <span class="ak-tool-group">
        <Tool
          label="Inject"
          hint={hint("inject")}
          title="Say something to the model"
          off={!now("inject")}
          pressed={injecting > 0}
          onPress={() => (injecting ? ui.set({ injecting: 0 }) : ui.perform("inject"))}
        />
        <ExportMenu store={store} say={(notice) => ui.set({ notice })} />
        <Tool
          label="Freeze"
          title="Put a static picture here: it needs no kernel, and is saved with the notebook"
          off={store.link === "gone" || !store.ready}
          onPress={() => void ui.tell({ cmd: "freeze" })}
        />
        <Tool
          label="Panels"
          hint={hint("panels")}
          title="Source, requests, breakpoints"
          pressed={beside}
          onPress={() => ui.perform("panels")}
        >
          <Icon sign="panels" />
        </Tool>
        <Tool label="Keys and help" hint={hint("help")} pressed={helping} onPress={() => ui.perform("help")}>
          ?
        </Tool>
      </span>
    </div>
  );
}

function Pace({ store, ui }: { store: Store; ui: Ui }): JSX.Element {
  const pace = useOf(store, (s) => s.head.pace);
  const known = PACES.some(([seconds]) => seconds === pace);
  return (
    <Choice
      aria-label="Speed"
      title="Time between two steps while it runs"
      value={String(pace)}
      disabled={!able(store, "edit")}
      onChange={(event) => void ui.tell({ cmd: "pace", seconds: Number(event.currentTarget.value) })}
    >
      {PACES.map(([seconds, label]) => (
        <option key={seconds} value={String(seconds)}>
          {label}
        </option>
      ))}
      {!known && <option value={String(pace)}>{pace} s/step</option>}
    </Choice>
  );
}
