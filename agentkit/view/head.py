"""The state of a run as the JSON data that a view draws; the shapes are those of `Head` in widgets/src/protocol.ts."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

from agentkit.core.messages import digest
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.export.parts import parts_of
from agentkit.gates.breakpoints import Breakpoint
from agentkit.gates.effects import still_performed
from agentkit.gates.verdict import Verdict
from agentkit.journal.entries import Entry
from agentkit.models.base import Abilities
from agentkit.run.run import Run
from agentkit.runtime.performer import name_of
from agentkit.stepper.frames import FrameInfo
from agentkit.stepper.stepper import Pending
from agentkit.trace.asking_thought import is_engine_call
from agentkit.trace.line import lane_of
from agentkit.trace.recordings import recordings
from agentkit.view import cards, values
from agentkit.view.numbers import marked
from agentkit.view.siblings import Siblings
from agentkit.view.words import lane_text, role_title

Data = dict[str, Any]

_MAX_RECORDINGS = 5

REFUSABLE = {
    "change": "changing the run, or making it go on",
    "inside": "the source of the engine, its local variables, and files that contain them",
    "python": "evaluating Python expressions",
    "notebook": "inserting cells, and leaving a static form behind",
    "settings": "decisions about all later runs, which are written into the settings file",
}
"""What a place that shows a run may refuse."""


def head(run: Run, siblings: Siblings, totals: Data, variable: str = "", refuses: Collection[str] = ()) -> Data:
    """Return everything about a run except its entries; `variable` is the Python variable that holds it.

    `totals` are those of the current branch. `refuses` is what the place that shows the run refuses, see `REFUSABLE`.
    """
    state, trace, spec = run.state, run.trace, run.task
    status = status_of(run)
    return {
        "run": run.id,
        "variable": variable,
        "forked": _forked(run),
        "task": " / ".join(message["text"] for message in spec["task"] if message["role"] == "user")[: cards.MAX_TEXT],
        "engine": spec["engine"].rpartition(":")[2],
        "model": name_of(run.performer.model),
        "dialect": run.dialect,
        "status": status,
        "was_playing": run.control.was_playing,
        "hold": mask(run.hold) if run.answer is None or trace.difference else "",
        "error": _error_data(state.error),
        "read_only": run.read_only,
        "held": _held(run),
        "answer": run.answer,
        "pending": _pending(run, status),
        "where": [] if "inside" in refuses else [frame_data(run, frame) for frame in run.where()],
        **totals,
        "spent": {"model_calls": state.spent.model_calls, "tool_calls": state.spent.tool_calls},
        "breakpoints": [breakpoint_data(point) for point in list(state.breakpoints)],
        "injections": _injections(run),
        "can": {
            "undo": trace.can_undo and status != "readonly",
            "redo": trace.can_redo and status != "readonly",
        },
        "pace": state.pace,
        "temperature": run.temperature,
        "asking": {question: asking.calls for question, asking in list(run.asking.items())},
        "tools": [tool.name for tool in run.performer.tools.tools],
        "roles": sorted(siblings.roles),
        "branches": len(trace.tree.branches(trace.line)),
        "forks": siblings.forks(run.entries),
        "forecast": _forecast(run, status),
        "bypassed": state.guards.permissions.is_bypassed,
        "audit": mask(str(state.audit.path)) if state.audit is not None and "inside" not in refuses else "",
        "refused": sorted(refuses),
    }


def _held(run: Run) -> Data | None:
    """Return which other process holds a run that is looked at, its status there, and what it was asked; else None."""
    followed = run.followed
    if followed is None or not followed.holder:
        return None
    return {"by": followed.holder, "status": followed.info.status, "asked": followed.asked_text}


def status_of(run: Run) -> str:
    """Return the status; "pausing" or "stopping" if that was requested and a call is still in progress."""
    status = run.status
    if status == "running" and run.control.stopping:
        return "pausing" if run.control.stopping == "pause" else "stopping"
    return status


def _forked(run: Run) -> Data | None:
    """Return from which run, and after which position of it, a run was forked; None for any other run."""
    before = list(itertools.takewhile(lambda entry: entry.run != run.id, run.entries))
    return {"run": before[-1].run, "n": len(before) - 1} if before else None


def _forecast(run: Run, status: str) -> str:
    """Return the answer of a finished run if its last entry does not show it; otherwise, what is to be expected."""
    if status == "done":
        return _answer_outside_trace(run)
    if status == "readonly" or run.waiting:  # nobody can continue it; or what it waits for says it
        return ""
    return run.forecast if _has_not_begun(run) else still_performed(run.state)


def _pending_steps(run: Run) -> list[Pending]:
    """Return the pending steps; those of an engine that differs from the recording do not belong to a run that nobody
    can continue.
    """
    return [] if run.read_only and run.trace.difference else run.pending


def _has_not_begun(run: Run) -> bool:
    """Return whether a run has not performed a step on its present line; once it has, its forecast is out of date."""
    last = run.entries[-1]
    return last.kind == "begin" or last.run != run.id


def _answer_outside_trace(run: Run) -> str:
    """Return a sentence with the answer of a finished run if its last entry does not show it, else ""."""
    last, answer = cards.card(run.entries[-1], 0), run.answer
    if answer is None or answer[: cards.MAX_TEXT] in (last.get("answer"), last.get("text")):
        return ""
    return f"The engine's answer: {mask(answer)[: cards.MAX_TEXT]}"


def state_key(run: Run) -> tuple[Any, ...]:
    """Return a value that changes whenever there is something new to show; cheap enough to be computed all the time."""
    state, trace = run.state, run.trace
    breakpoints = tuple((point.number, point.hits, point.enabled) for point in list(state.breakpoints))
    spent = state.spent
    asking = tuple((question, each.calls) for question, each in list(run.asking.items()))
    decisions = tuple((place, known.is_allowed, known.verdict) for place, known in list(state.decisions.items()))
    return (
        status_of(run),
        trace.latest,
        id(trace.stepper),
        len(trace.injections.notes),
        breakpoints,
        (spent.model_calls, spent.tool_calls, decisions, state.hold, run.dialect, state.pace, run.read_only),
        (run.performer.temperature, asking),
        _held(run),
    )


def breakpoint_data(point: Breakpoint) -> Data:
    """Return a breakpoint, with the number by which commands refer to it."""
    kind = next(name for name in Breakpoint.CONDITIONS if getattr(point, name) not in (None, False))
    value = getattr(point, kind)
    text = point.when_text if kind == "when" else value
    return {
        "id": point.number,
        "kind": kind,
        "value": "" if value is True else str(text),
        "file": point.file,
        "enabled": point.enabled,
        "hits": point.hits,
    }


def _error_data(error: BaseException | None) -> Data | None:
    return None if error is None else {"type": type(error).__name__, "text": mask(str(error))[: cards.MAX_TEXT]}


def _pending(run: Run, status: str) -> list[Data]:
    steps = _pending_steps(run)
    is_running = status in ("running", "pausing", "stopping")
    data = [_pending_data(run, pending, is_running=is_running) for pending in steps]
    if not is_running:  # while it runs, nobody can choose who plays a step
        recorded = recordings(run.trace.tree.entries.values(), steps)
        for pending, each in zip(steps, data, strict=True):
            if found := recorded[pending][:_MAX_RECORDINGS]:
                each["recordings"] = [{"entry": entry.id, "text": _recording_text(entry)} for entry in found]
    return data


def _recording_text(entry: Entry) -> str:
    known = parts_of(entry)
    return mask(one_line(f"{known.line} ({known.mark})" if known.mark else known.line, 200))


def _pending_data(run: Run, pending: Pending, *, is_running: bool) -> Data:
    step: Any = pending.step
    data: Data = {
        "kind": step.kind,
        "role": step.role,
        "path": pending.path,
        "index": pending.index,
        "lane": lane_of(pending.path),
        "lane_text": lane_text(lane_of(pending.path), run.trace.stepper.parts),
        "title": role_title(step.role),
    }
    if step.kind == "act":
        tool = run.performer.tools.find(step.call.name)
        data["call"] = cards.call_data(step.call)
        data["effect"] = run.state.effect(pending)
        data["has_preview"] = tool is not None and tool.preview is not None
        data["schema"] = marked(tool.parameters) if tool else {}
        data["own"] = is_engine_call(run.trace, pending)
        data["busy"] = run.trace.uncertain(pending) is not None and is_running
    elif step.kind == "think":
        data["busy"] = is_running
        data.update(temperature_data(run, step))
    elif step.kind == "ask":
        data.update(question=step.question, choices=list(step.choices))
    for waiting, verdict in run.waiting:
        if waiting is pending:
            data.update(why=verdict.why, which=decision_id(pending, verdict))
            if verdict.limit:
                data["limit"] = verdict.limit
            if verdict.past is not None and step.kind == "act":
                result = verdict.past.result_for(step.call)
                data["past"] = {
                    "result": None if result is None else mask(result.text)[: cards.MAX_TEXT],
                    "may_have_run": verdict.past.outcome == "may have run",
                }
    return data


def temperature_data(run: Run, step: Any) -> Data:
    """Return the temperature that applies to a thought if the run sets none, if its model takes one; it is None if it
    is not known.
    """
    model = run.performer.model_for(step)
    if not getattr(model, "abilities", Abilities()).temperature:
        return {}
    own = run.performer.settings.get("temperature", getattr(model, "temperature", None))
    return {"own_temperature": own if isinstance(own, int | float) else None}


def decision_id(pending: Pending, verdict: Verdict) -> str:
    """Return an id for a step that waits for a decision, made of its position, what it would do, and why it waits."""
    step: Any = pending.step
    why = verdict.limit, verdict.past.begun.id if verdict.past else 0
    key = pending.path, pending.index, step.kind, getattr(step, "call", None), getattr(step, "question", ""), why
    return digest(repr(key).encode())[:12]


def frame_data(run: Run, frame: FrameInfo) -> Data:
    """Return a frame of the engine, with previews of its local variables."""
    return {
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "lane": frame.lane,
        "lane_text": lane_text(frame.lane, run.trace.stepper.parts),
        "around": frame.around,
        "does": frame.does,
        "locals": values.variables(frame.locals),
    }


def _injections(run: Run) -> list[Data]:
    injections = run.trace.injections
    live = injections.live(run.trace.line) if injections.notes else []
    return [
        {
            "id": note.data["id"],
            "text": note.data["text"],
            "to": note.data["to"],
            "to_text": lane_text(note.data["to"], run.trace.stepper.parts),
            "seen": note.data["id"] in injections.heard,
        }
        for note in live
    ]
