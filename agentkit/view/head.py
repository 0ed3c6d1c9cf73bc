"""How a run stands, as the JSON data that a view draws; the shapes are those of `Head` in widgets/src/protocol.ts."""

from __future__ import annotations

import reprlib
from typing import Any

from agentkit.core.messages import digest
from agentkit.core.secrets import mask
from agentkit.core.text import WIDTH, one_line
from agentkit.gates.breakpoints import Breakpoint
from agentkit.run.run import Run
from agentkit.runtime.performer import name_of
from agentkit.stepper.frames import FrameInfo
from agentkit.stepper.stepper import Pending
from agentkit.trace.asked import is_engine_call
from agentkit.trace.line import lane_of
from agentkit.view import cards
from agentkit.view.family import Family

Data = dict[str, Any]

_LOCALS = 40
_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = WIDTH
_repr.maxlevel = 3


def head(run: Run, family: Family, variable: str = "") -> Data:
    """Give all that is not an entry; `variable` names the run in Python."""
    state, trace, spec = run.state, run.trace, run.task
    status = status_of(run)
    return {
        "run": run.id,
        "variable": variable,
        "task": " / ".join(message["text"] for message in spec["task"] if message["role"] == "user")[: cards.LIMIT],
        "engine": spec["engine"].rpartition(":")[2],
        "model": name_of(run.performer.model),
        "dialect": run.dialect,
        "status": status,
        "hold": mask(run.hold) if run.answer is None else "",
        "error": _error(state.error),
        "read_only": run.read_only,
        "answer": run.answer,
        "pending": [_pending(run, pending, status) for pending in run.pending],
        "where": [_place(place) for place in run.where()],
        "usage": cards.usage(run.usage),
        "model_calls": state.spent.model_calls,
        "tool_calls": state.spent.tool_calls,
        "breakpoints": [breakpoint_of(point) for point in list(state.breakpoints)],
        "injections": _injections(run),
        "can": {
            "undo": trace.can_undo and status != "readonly",
            "redo": trace.can_redo and status != "readonly",
        },
        "pace": state.pace,
        "tools": [tool.name for tool in run.performer.tools.tools],
        "roles": sorted(family.roles),
        "branches": len(trace.tree.branches(trace.line)),
        "forecast": _unsaid(run) if status == "done" else run.forecast if _fresh(run) else "",
    }


def status_of(run: Run) -> str:
    """Give the status, and while a call is still out what was asked for: "pausing" or "stopping"."""
    status = run.status
    if status == "running" and run.control.stopping:
        return "pausing" if run.control.stopping == "pause" else "stopping"
    return status


def _fresh(run: Run) -> bool:
    """Tell whether the run has performed nothing yet where it stands; what was foreseen has come true after that, or has not."""
    last = run.entries[-1]
    return last.kind == "begin" or last.run != run.id


def _unsaid(run: Run) -> str:
    """Give the answer of a run that is over where its last entry does not say it: an engine need not conclude with it."""
    last, answer = cards.card(run.entries[-1], 0), run.answer
    if answer is None or answer[: cards.LIMIT] in (last.get("answer"), last.get("text")):
        return ""
    return f"The engine's answer: {mask(answer)[: cards.LIMIT]}"


def glance(run: Run) -> tuple[Any, ...]:
    """Give a value that differs whenever a view has something new to show; cheap enough to be asked for all the time."""
    state, trace = run.state, run.trace
    points = tuple((point.number, point.hits, point.enabled) for point in list(state.breakpoints))
    spent, waiting = state.spent, len(state.decisions)
    own = spent.model_calls, spent.tool_calls, waiting, state.hold, run.dialect, state.pace, run.read_only
    return (
        status_of(run),
        trace.latest,
        id(trace.stepper),
        len(trace.injections.notes),
        points,
        own,
    )


def breakpoint_of(point: Breakpoint) -> Data:
    """Give a breakpoint under the number by which commands name it."""
    kind = next(name for name in Breakpoint.CONDITIONS if getattr(point, name) not in (None, False))
    value = getattr(point, kind)
    text = getattr(value, "__doc__", None) or getattr(value, "__name__", "a function") if kind == "when" else value
    return {
        "id": point.number,
        "kind": kind,
        "value": "" if value is True else str(text),
        "file": point.file,
        "enabled": point.enabled,
        "hits": point.hits,
    }


def _error(error: BaseException | None) -> Data | None:
    return None if error is None else {"type": type(error).__name__, "text": mask(str(error))[: cards.LIMIT]}


def _pending(run: Run, pending: Pending, status: str) -> Data:
    step: Any = pending.step
    data: Data = {
        "kind": step.kind,
        "role": step.role,
        "path": pending.path,
        "index": pending.index,
        "lane": lane_of(pending.path),
    }
    if step.kind == "act":
        asked = step.call
        tool = run.performer.tools.find(asked.name)
        data.update(call=cards.call(asked), effect=run.state.effect(pending), schema=tool.parameters if tool else {})
        data["own"] = is_engine_call(run.trace, pending)
        data["busy"] = run.trace.uncertain(pending) is not None and status in ("running", "pausing", "stopping")
    elif step.kind == "think":
        data["busy"] = status in ("running", "pausing", "stopping")
    elif step.kind == "ask":
        data.update(question=step.question, choices=list(step.choices))
    for waiting, verdict in run.waiting:
        if waiting is pending:
            data.update(
                why=verdict.why, which=waiting_name(pending), **({"limit": verdict.limit} if verdict.limit else {})
            )
    return data


def waiting_name(pending: Pending) -> str:
    """Name a step that waits for a decision by its place and by what it would do."""
    step: Any = pending.step
    told = pending.path, pending.index, step.kind, getattr(step, "call", None), getattr(step, "question", "")
    return digest(repr(told).encode())[:12]


def _place(place: FrameInfo) -> Data:
    known = [(name, _shown(value)) for name, value in list(place.locals.items())[:_LOCALS]]
    return {
        "function": place.function,
        "file": place.file,
        "line": place.line,
        "lane": place.lane,
        "around": place.around,
        "locals": known,
    }


def _shown(value: Any) -> str:
    try:
        return mask(one_line(_repr.repr(value)))
    except Exception as error:  # a repr is foreign code
        return f"<its repr raised {type(error).__name__}>"


def _injections(run: Run) -> list[Data]:
    injections = run.trace.injections
    live = injections.live(run.trace.line) if injections.notes else []
    return [
        {
            "id": note.data["id"],
            "text": note.data["text"],
            "to": note.data["to"],
            "seen": note.data["id"] in injections.heard,
        }
        for note in live
    ]
