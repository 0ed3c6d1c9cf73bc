"""How a run stands, as the JSON data that a view draws; the shapes are those of `Head` in widgets/src/protocol.ts."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import digest
from agentkit.core.secrets import mask
from agentkit.core.text import WIDTH, one_line
from agentkit.gates.base import Breakpoint
from agentkit.runtime.performer import name_of
from agentkit.stepper.places import Place
from agentkit.stepper.stepper import Pending
from agentkit.trace import beside, tree
from agentkit.view import cards
from agentkit.view.family import Family

if TYPE_CHECKING:
    from agentkit.run.run import Run

Data = dict[str, Any]

_LOCALS = 40
_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = WIDTH
_repr.maxlevel = 3


def head(run: Run, family: Family, variable: str = "") -> Data:
    """Give all that is not an entry; `variable` names the run in Python."""
    desk, history, spec = run.desk, run.desk.history, run.task
    status = status_of(run)
    return {
        "run": run.id,
        "variable": variable,
        "task": " / ".join(message["text"] for message in spec["task"] if message["role"] == "user")[: cards.LIMIT],
        "engine": spec["engine"].rpartition(":")[2],
        "model": name_of(desk.host.model),
        "dialect": run.dialect,
        "status": status,
        "hold": mask(run.hold) if run.answer is None else "",
        "error": _error(desk.error),
        "missing": list(run.missing),
        "answer": run.answer,
        "pending": [_pending(run, pending, status) for pending in run.pending],
        "where": [_place(place) for place in run.where()],
        "usage": cards.usage(run.usage),
        "model_calls": desk.steps,
        "tool_calls": desk.tool_calls,
        "breakpoints": [breakpoint_of(point) for point in list(desk.breakpoints)],
        "injections": _injections(run),
        "can": {
            "undo": _can_undo(run) and status != "readonly",
            "redo": bool(history.moves.undone) and status != "readonly",
        },
        "pace": desk.pace,
        "tools": [tool.name for tool in desk.host.tools.tools],
        "roles": sorted(family.roles),
        "branches": family.lines(history.tips[""]),
        "forecast": _unsaid(run) if status == "done" else run.forecast if _fresh(run) else "",
    }


def status_of(run: Run) -> str:
    """Give the status, and while a call is still out what was asked for: "pausing" or "stopping"."""
    status = run.status
    if status == "running" and run.control.stopping:
        return "pausing" if run.control.stopping == "pause" else "stopping"
    return status


def _can_undo(run: Run) -> bool:
    """Tell whether a step or a move lies behind where the run stands; after an undo of the first step there is none."""
    history = run.desk.history
    return len(history.visible) > 1 or history.moves.last(history.tips)


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
    desk = run.desk
    points = tuple((point.number, point.hits, point.enabled) for point in list(desk.breakpoints))
    own = desk.steps, desk.tool_calls, len(desk.waiting), desk.hold, run.dialect, desk.pace, run.missing
    return (
        status_of(run),
        desk.history.latest,
        id(desk.history.stepper),
        len(desk.history.injections.notes),
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
        "lane": tree.lane_of(pending.path),
    }
    if step.kind == "act":
        asked = step.calls[0]
        tool = run.desk.host.tools.find(asked.name)
        data.update(call=cards.call(asked), effect=run.desk.effect(pending), schema=tool.parameters if tool else {})
        data["own"] = beside.is_own(run.desk, pending)
        data["busy"] = run.desk.history.uncertain(pending) is not None and status in ("running", "pausing", "stopping")
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
    told = pending.path, pending.index, step.kind, getattr(step, "calls", ()), getattr(step, "question", "")
    return digest(repr(told).encode())[:12]


def _place(place: Place) -> Data:
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
    injections = run.desk.history.injections
    live = injections.live(run.desk.history.line) if injections.notes else []
    return [
        {
            "id": note.data["id"],
            "text": note.data["text"],
            "to": note.data["to"],
            "seen": note.data["id"] in injections.heard,
        }
        for note in live
    ]
