"""What a person does to a run in a view: the same verbs as in Python. Each function carries out the command of its name.

Raises what the verb raises; `Hand` turns that into a refusal that the view shows.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentkit import export
from agentkit.core.messages import Call
from agentkit.core.steps import Act
from agentkit.errors import UsageError
from agentkit.gates.breakpoints import Breakpoint
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending
from agentkit.trace.line import lane_of
from agentkit.view import cards
from agentkit.view.feed import Feed
from agentkit.view.head import breakpoint_of, waiting_name
from agentkit.view.questions import entry_of
from agentkit.view.wire import clean

Data = dict[str, Any]

SUFFIX = {"ipynb": "ipynb", "markdown": "md", "html": "html", "json": "json"}
MIME = {
    "ipynb": "application/x-ipynb+json",
    "markdown": "text/markdown",
    "html": "text/html",
    "json": "application/json",
}


# -- driving -------------------------------------------------------------------------------------------------------------


def play(feed: Feed) -> None:
    """Go on in the background."""
    feed.run.play()


def step(feed: Feed) -> None:
    """Perform one step in the background."""
    feed.run.play_step()


def step_over(feed: Feed) -> None:
    """Perform all that is pending now in the background; in a nested engine, go on until it returns."""
    feed.run.play_step(over=True)


def pause(feed: Feed) -> None:
    """Pause at the next boundary."""
    feed.run.pause()


def stop(feed: Feed) -> None:
    """Stop at once."""
    feed.run.stop()


def pace(feed: Feed, *, seconds: float) -> None:
    """Wait so long between two steps while the run plays."""
    feed.run.set_pace(seconds)


# -- changing ------------------------------------------------------------------------------------------------------------


def edit(
    feed: Feed, *, entry: int | None, change: Data, step: Data | None = None, base: int = 0, reason: str = ""
) -> int:
    """Put something else in the place of an entry, or of a pending step; give the new entry."""
    run = feed.run
    if base and run.entries[-1].id != base and (entry is None or all(each.id != entry for each in run.entries)):
        raise UsageError("the run has moved on since you began to write; look at it again, then edit")
    meant = _pending(feed, step) if entry is None else entry_of(feed, entry)
    return run.edit(meant, reason=reason, **_meant(_calls(meant), change)).id


def _pending(feed: Feed, step: Data | None) -> Pending:
    """Find a pending step by its place; without one, the first is meant."""
    for pending in feed.run.pending:
        if step is None or (pending.path, pending.index) == (step["path"], step["index"]):
            return pending
    raise UsageError("this step is not pending any more; look at the run again, then edit")


def _calls(asker: Entry | Pending) -> Sequence[Call]:
    """Give the calls that a thought asked for, or that a step makes."""
    if isinstance(asker, Entry) and asker.kind == "think":
        return asker.result.calls
    return (asker.step.call,) if type(asker.step) is Act else ()


def _meant(calls: Sequence[Call], change: Data) -> Data:
    """Give a change as a person meant it: what came back as it was shown is as it was, whatever of it could be shown."""
    meant = dict(change)
    if "arguments" in change and calls:
        meant["arguments"] = _arguments(calls[0], change["arguments"])
    if "calls" in change:
        meant["calls"] = [_call(call, given["arguments"]) for call, given in zip(calls, change["calls"], strict=True)]
    return meant


def _call(call: Call, given: Data) -> Call:
    arguments = _arguments(call, given)
    return call if arguments == call.arguments else replace(call, arguments=arguments, raw=None, problem="", coerced=())


def _arguments(call: Call, given: Data) -> Data:
    """Put back what is no secret to the tool, and what no JSON of a browser can hold."""
    shown = {name: json.dumps(value) for name, value in clean(cards.call(call))[0]["arguments"].items()}
    return {
        name: call.arguments[name] if json.dumps(value) == shown.get(name) else value for name, value in given.items()
    }


def retry(feed: Feed, *, entry: int) -> None:
    """Go back to before an entry and perform its step again; the entry is kept as a branch."""
    run, again = feed.run, entry_of(feed, entry)
    before = next(
        (one for one, each in itertools.pairwise(run.entries) if each is again and not lane_of(again.path)), None
    )
    if before is None:
        raise UsageError(
            "only a step of the present line, and none of several side by side, can be tried again; rewind first"
        )
    run.rewind(before)
    if not run.control.running or run.control.stopping:  # else it goes on with that step by itself
        run.play_step()


def rewind(feed: Feed, *, entry: int) -> None:
    """Go back, or over to another branch: the entry becomes the last performed step."""
    feed.run.rewind(entry_of(feed, entry))


def switch(feed: Feed, *, entry: int) -> None:
    """Go over to the branch that an entry lies on, as far as it came."""
    target = entry_of(feed, entry)
    for line in feed.run.branches():
        if any(each is target for each in line):
            feed.run.rewind(line[-1])
            return
    feed.run.rewind(target)


def undo(feed: Feed) -> None:
    """Go back to before the last edit, move or step."""
    feed.run.undo()


def redo(feed: Feed) -> None:
    """Take the last undo back."""
    feed.run.redo()


def fork(feed: Feed, *, entry: int) -> Data:
    """Begin a second run after an entry, and show it beside this one."""
    other = feed.run.fork(entry_of(feed, entry))
    try:
        feed.page.show(other)
    except BaseException:
        other.discard()
        raise
    return {"run": other.id, "forecast": other.forecast}


def inject(feed: Feed, *, text: str, to: str = "") -> str:
    """Say something to the model; give the receipt's id."""
    return feed.run.inject(text, to).id


def recall(feed: Feed, *, id: str) -> None:
    """Take an injected message back that no model has seen."""
    run = feed.run
    run.control.do(lambda: run.trace.recall(id))


# -- deciding ------------------------------------------------------------------------------------------------------------


def approve(feed: Feed, *, which: str, arguments: Data | None = None, remember: bool = False) -> None:
    """Let a waiting call pass."""

    def allow(number: int) -> None:
        given = arguments and _meant(_calls(feed.run.waiting[number][0]), {"arguments": arguments})["arguments"]
        feed.run.approve(number, arguments=given, remember=remember)

    _decide(feed, which, allow)


def reject(feed: Feed, *, which: str, comment: str = "") -> None:
    """Refuse a waiting call."""
    _decide(feed, which, lambda number: feed.run.reject(comment, number))


def respond(feed: Feed, *, which: str, value: Any) -> None:
    """Answer a question, or a call in the tool's place."""
    _decide(feed, which, lambda number: feed.run.respond(value, number))


def _decide(feed: Feed, which: str, decide: Callable[[int], Any]) -> None:
    """Decide what was looked at, and nothing that has come into its place since."""

    def found() -> None:
        waiting = [waiting_name(pending) for pending, _ in feed.run.waiting]
        if which not in waiting:
            raise UsageError("what you decided about does not wait any more; look at the run again")
        decide(waiting.index(which))

    feed.run.control.do(found)


def break_(
    feed: Feed, *, kind: Literal["tool", "role", "line", "error", "repeat", "when"], value: str = "", file: str = ""
) -> Data:
    """Set a breakpoint; a predicate is an expression of `entry`, in the words of the person's own notebook."""
    if kind not in ("error", "repeat") and not value.strip():
        raise UsageError(
            f"say which {kind}" if kind != "when" else 'write an expression of entry, such as entry.kind == "act"'
        )
    condition: Any = {"error": True, "repeat": True}.get(kind, value)
    if kind == "line":
        condition = int(value)
    elif kind == "when":
        condition = feed.page.predicate(value)
    return breakpoint_of(feed.run.break_at(**{kind: condition, "file": file}))


def unbreak(feed: Feed, *, id: int) -> None:
    """Remove a breakpoint."""
    feed.run.state.breakpoints.remove(_point(feed, id))


def enable(feed: Feed, *, id: int, enabled: bool) -> None:
    """Switch a breakpoint on or off."""
    _point(feed, id).enabled = enabled


def _point(feed: Feed, number: int) -> Breakpoint:
    for point in feed.run.state.breakpoints:
        if point.number == number:
            return point
    raise UsageError("this breakpoint is not there any more")


# -- out -----------------------------------------------------------------------------------------------------------------


def export_(feed: Feed, *, format: Literal["cells", "ipynb", "markdown", "html", "json"]) -> Data:
    """Write the trace in a format, for a file; or put it into the notebook as cells."""
    run = feed.run
    if format == "cells":
        return _cells(feed)
    text = {
        "ipynb": lambda: json.dumps(export.to_notebook(run), ensure_ascii=False, indent=1) + "\n",
        "markdown": lambda: export.to_markdown(run),
        "html": lambda: export.to_html(run),
        "json": lambda: json.dumps(export.to_json(run)),
    }[format]()
    return {"name": f"run-{run.id}.{SUFFIX[format]}", "mime": MIME[format], "text": text}


def _cells(feed: Feed) -> Data:
    """Put the cells below the view; where the notebook does not allow that, write a notebook beside it."""
    notebook = export.to_notebook(feed.run)
    inserted = feed.page.insert(notebook["cells"]).result(timeout=10)
    if inserted:
        return {"inserted": inserted}
    name = f"run-{feed.run.id}.ipynb"
    export.to_notebook(feed.run, name)
    return {"inserted": 0, "fallback": name}


def freeze(feed: Feed) -> None:
    """Put a picture that needs no kernel in the place of the view."""
    feed.page.freeze()


AT_ONCE = {function.__name__: function for function in (pause, stop)}
"""What takes no time and must not wait for anything."""

IN_ORDER = {
    function.__name__.rstrip("_"): function
    for function in (
        play,
        step,
        step_over,
        pace,
        edit,
        retry,
        rewind,
        switch,
        undo,
        redo,
        fork,
        inject,
        recall,
        approve,
        reject,
        respond,
        break_,
        unbreak,
        enable,
        export_,
        freeze,
    )
}
"""What is carried out one after the other, as it was asked for."""
