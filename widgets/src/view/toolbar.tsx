/** The actions on the whole run. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Button, Select, ToolButton } from "../elements/controls";
import { Icon, type IconName } from "../elements/icons";
import { type Action, isEnabled, isOffered, NOT_UNDONE, type RunAction } from "../state/actions";
import { shortcutLabel } from "../state/shortcuts";
import type { Store } from "../state/store";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { ExportMenu } from "./exportMenu";
import { GoBackMenu } from "./goBackMenu";

type RunButton = [action: RunAction & IconName, label: string, title: string];

const DRIVE: RunButton[] = [
  ["step", "Step", "Run the next step"],
  ["play", "Run", "Continue in the background"],
  ["pause", "Pause", "Pause after the current step"],
  ["over", "Step over", "Run all parallel calls, or a nested engine until it returns"],
  ["stop", "Stop", "Stop immediately. Interrupting the kernel does not stop a run in the background."],
];
const HISTORY: RunButton[] = [
  ["undo", "Undo", `Undo the last step, edit or move. ${NOT_UNDONE}`],
  ["redo", "Redo", "Redo"],
];
const PACES: [seconds: number, label: string][] = [
  [0, "full speed"],
  [0.5, "0.5 s/step"],
  [1, "1 s/step"],
  [2, "2 s/step"],
];

export function Toolbar({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const isOn = (action: Action): boolean => isEnabled(store, action);
  const actions: Action[] = [...DRIVE.map(([action]) => action), "undo", "redo", "inject", "edit"];
  useStore(store, (s) => actions.map((action) => +isOn(action)).join("") + s.connectionState);
  const canChange = useStore(store, (s) => isOffered(s, "change"));
  const hasNotebook = useStore(store, (s) => isOffered(s, "notebook"));
  const canExport = useStore(store, (s) => isOffered(s, "inside"));
  const messageBox = useStore(view, (v) => v.messageBox);
  const isSidePanelOpen = useStore(view, (v) => v.isSidePanelOpen);
  const isPredicting = useStore(view, (v) => v.isPredicting);
  const isHelpOpen = useStore(view, (v) => v.isHelpOpen);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const id = useId();
  const onMenuKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isMenuOpen) return;
    event.stopPropagation();
    setMenuOpen(false);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[aria-controls="${id}"]`)?.focus();
  };
  const runButton = ([action, label, title]: RunButton, hasText: boolean): JSX.Element => (
    <ToolButton
      key={action}
      label={label}
      class={action === "step" ? "ak-primary" : ""}
      shortcut={shortcutLabel(action)}
      title={title}
      disabled={!isOn(action)}
      onClick={() => view.perform(action)}
    >
      <Icon name={action} />
      {hasText && <span class="ak-tool-text">{label}</span>}
    </ToolButton>
  );
  return (
    <div
      class="ak-toolbar"
      role="toolbar"
      aria-label="Run"
      onKeyDown={onMenuKey}
      onFocusOut={({ currentTarget, relatedTarget }) =>
        !currentTarget.contains(relatedTarget as Node | null) && setMenuOpen(false)
      }
    >
      {canChange && (
        <>
          <span class="ak-tool-group">{DRIVE.map((button) => runButton(button, true))}</span>
          <span class="ak-tool-group">
            {HISTORY.map((button) => runButton(button, false))}
            <GoBackMenu store={store} view={view} />
          </span>
        </>
      )}
      <Button
        class="ak-tool-button ak-tool-menu-button"
        aria-label="More"
        aria-expanded={isMenuOpen}
        aria-controls={id}
        onClick={() => setMenuOpen(!isMenuOpen)}
      >
        ⋯
      </Button>
      {/* in a narrow view, this is what the button before it opens */}
      <span id={id} class={isMenuOpen ? "ak-tool-group ak-tool-menu ak-open" : "ak-tool-group ak-tool-menu"}>
        {canChange && (
          <>
            <Speed store={store} view={view} />
            <ToolButton
              label="Inject"
              shortcut={shortcutLabel("inject")}
              title="Send a message to the model"
              disabled={!isOn("inject")}
              pressed={messageBox > 0}
              onClick={() => (messageBox ? view.set({ messageBox: 0 }) : view.perform("inject"))}
            />
            <ToolButton
              label="Predict"
              title="Guess each step before it is performed; your guesses are counted in agentkit.classroom.scores()"
              pressed={isPredicting}
              onClick={() => view.set({ isPredicting: !isPredicting })}
            >
              <Icon name="predict" />
            </ToolButton>
          </>
        )}
        {canExport && <ExportMenu store={store} onNotice={(notice) => view.set({ notice })} />}
        {hasNotebook && (
          <ToolButton
            label="Freeze"
            title="Close this live view. The run stays here in a static form, as in the saved notebook."
            disabled={store.connectionState === "lost" || !store.ready}
            onClick={() => void view.execute({ cmd: "freeze" })}
          />
        )}
        {store.dock && (
          <ToolButton label="Beside" title="Open a view of this run beside the notebook" onClick={store.dock}>
            <Icon name="beside" />
          </ToolButton>
        )}
        <ToolButton
          label="Presentation mode"
          shortcut={shortcutLabel("present")}
          title="For a projector: large type, only the current step, the source and the variables"
          onClick={() => view.perform("present")}
        >
          <Icon name="present" />
        </ToolButton>
        <ToolButton
          label="Side panel"
          shortcut={shortcutLabel("sidePanel")}
          title="Show or hide the side panel: source, request, breakpoints"
          pressed={isSidePanelOpen}
          onClick={() => view.perform("sidePanel")}
        >
          <Icon name="sidePanel" />
        </ToolButton>
        <ToolButton
          label="Keyboard shortcuts"
          shortcut={shortcutLabel("help")}
          pressed={isHelpOpen}
          onClick={() => view.perform("help")}
        >
          ?
        </ToolButton>
      </span>
    </div>
  );
}

function Speed({ store, view }: { store: Store; view: ViewState }): JSX.Element {
  const pace = useStore(store, (s) => s.head.pace);
  const isListed = PACES.some(([seconds]) => seconds === pace);
  return (
    <Select
      aria-label="Speed"
      title="Delay between two steps while the run plays"
      value={String(pace)}
      disabled={!isEnabled(store, "edit")}
      onChange={(event) => void view.execute({ cmd: "pace", seconds: Number(event.currentTarget.value) })}
    >
      {PACES.map(([seconds, label]) => (
        <option key={seconds} value={String(seconds)}>
          {label}
        </option>
      ))}
      {!isListed && <option value={String(pace)}>{pace} s/step</option>}
    </Select>
  );
}
