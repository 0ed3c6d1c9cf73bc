"""The commands of a view: what a person does there is what the methods of a run do in Python.

Each function carries out the command of the same name, and raises what the method raises; the dispatcher turns that
into a refusal, which the view shows.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentkit import export
from agentkit.core.messages import Call
from agentkit.core.steps import Act
from agentkit.core.text import error_line
from agentkit.errors import UsageError
from agentkit.gates.breakpoints import Breakpoint
from agentkit.journal.entries import Entry
from agentkit.stepper.stepper import Pending
from agentkit.trace.line import lane_of
from agentkit.view import cards
from agentkit.view.feed import Feed
from agentkit.view.head import breakpoint_data, decision_id
from agentkit.view.numbers import unmarked
from agentkit.view.queries import find_entry, find_pending
from agentkit.view.wire import clean

Data = dict[str, Any]

SUFFIX = {"ipynb": "ipynb", "markdown": "md", "html": "html", "json": "json"}
MIME = {
    "ipynb": "application/x-ipynb+json",
    "markdown": "text/markdown",
    "html": "text/html",
    "json": "application/json",
}


# -- driving -----------------------------------------------------------------------------------------------------------


def play(feed: Feed) -> None:
    """Continue in the background."""
    feed.run.play()


def step(feed: Feed) -> None:
    """Perform one step in the background."""
    feed.run.play_step()


def step_over(feed: Feed) -> None:
    """Perform all pending steps in the background; in a nested engine, continue until it returns."""
    feed.run.play_step(over=True)


def pause(feed: Feed) -> None:
    """Pause at the next step boundary."""
    feed.run.pause()


def stop(feed: Feed) -> None:
    """Stop immediately."""
    feed.run.stop()


def pace(feed: Feed, *, seconds: float) -> None:
    """Set the delay between two steps while the run plays."""
    feed.run.set_pace(seconds)


def temperature(feed: Feed, *, value: float | None) -> None:
    """Set the temperature of the next requests; None leaves it to the model."""
    feed.run.temperature = value


# -- changing ----------------------------------------------------------------------------------------------------------


def edit(
    feed: Feed, *, entry: int | None, change: Data, step: Data | None = None, base: int = 0, reason: str = ""
) -> int:
    """Replace an entry, or a pending step; return the id of the new entry."""
    run = feed.run
    if base and run.entries[-1].id != base and (entry is None or all(other.id != entry for other in run.entries)):
        raise UsageError("the run has moved on since you began to edit; look at it again, then repeat the edit")
    target = find_pending(feed, step) if entry is None else find_entry(feed, entry)
    if "recording" in change:
        change = {**change, "recording": find_entry(feed, change["recording"])}
    return run.edit(target, reason=reason, **_restored(_calls_of(target), change)).id


def _calls_of(target: Entry | Pending) -> Sequence[Call]:
    """Return the calls that a thought contains, or the call that a step makes."""
    if isinstance(target, Entry) and target.kind == "think":
        return target.result.calls
    return (target.step.call,) if type(target.step) is Act else ()


def _restored(calls: Sequence[Call], change: Data) -> Data:
    """Return a change in which each argument that came back as it was shown has its real value again."""
    restored = dict(change)
    if "arguments" in change and calls:
        restored["arguments"] = _restored_arguments(calls[0], change["arguments"])
    if "calls" in change:
        restored["calls"] = [
            _restored_call(call, edited["arguments"]) for call, edited in zip(calls, change["calls"], strict=True)
        ]
    return restored


def _restored_call(call: Call, edited: Data) -> Call:
    arguments = _restored_arguments(call, edited)
    return call if arguments == call.arguments else replace(call, arguments=arguments, raw=None, problem="", coerced=())


def _restored_arguments(call: Call, edited: Data) -> Data:
    """Return edited arguments with the values that the view could not show: masked secrets, and what is not JSON."""
    arguments: Data = _restored_value(call.arguments, clean(cards.call_data(call))[0]["arguments"], edited)
    return arguments


def _restored_value(real: Any, shown: Any, edited: Any) -> Any:
    """Return an edited value with the real value of each part of it that came back as it was shown."""
    if json.dumps(edited) == json.dumps(shown):
        return real
    if isinstance(real, dict) and isinstance(shown, dict) and isinstance(edited, dict):
        return {
            name: _restored_value(real[name], shown[name], value) if name in real and name in shown else unmarked(value)
            for name, value in edited.items()
        }
    are_lists = isinstance(real, list) and isinstance(shown, list) and isinstance(edited, list)
    if are_lists and len(real) == len(shown) == len(edited):
        return [_restored_value(*values) for values in zip(real, shown, edited, strict=True)]
    return unmarked(edited)


def retry(feed: Feed, *, entry: int) -> None:
    """Go back to before an entry and perform its step again; the entry is kept as a branch."""
    run, target = feed.run, find_entry(feed, entry)
    pairs = itertools.pairwise(run.entries)
    before = next((first for first, second in pairs if second is target and not lane_of(target.path)), None)
    if before is None:
        raise UsageError(
            "only a step of the current branch that is not in a parallel lane can be retried; rewind instead"
        )
    run.rewind(before)
    if not run.control.running or run.control.stopping:  # a run that plays performs the step anyway
        run.play_step()


def rewind(feed: Feed, *, entry: int) -> None:
    """Go back, or over to another branch: the entry becomes the last performed step."""
    feed.run.rewind(find_entry(feed, entry))


def switch(feed: Feed, *, entry: int) -> None:
    """Switch to the branch that contains an entry, as far as it got."""
    target = find_entry(feed, entry)
    for line in feed.run.branches():
        if any(other is target for other in line):
            feed.run.rewind(line[-1])
            return
    feed.run.rewind(target)


def undo(feed: Feed) -> None:
    """Undo the last step, edit or rewind."""
    feed.run.undo()


def redo(feed: Feed) -> None:
    """Redo the step, edit or rewind that was undone last."""
    feed.run.redo()


def fork(feed: Feed, *, entry: int) -> Data:
    """Start a second run after an entry, and show it beside this one."""
    other = feed.run.fork(find_entry(feed, entry))
    try:
        feed.page.show(other)
    except BaseException:
        other.discard()
        raise
    return {"run": other.id, "forecast": other.forecast}


def inject(feed: Feed, *, text: str, to: str = "") -> str:
    """Send a message to the model; return the id of its receipt."""
    return feed.run.inject(text, to).id


def recall(feed: Feed, *, id: str) -> None:
    """Take back an injected message that no model has seen."""
    run = feed.run
    run.control.do(lambda: run.trace.recall(id, time.time()))


# -- deciding ----------------------------------------------------------------------------------------------------------


def approve(
    feed: Feed, *, which: str, arguments: Data | None = None, remember: bool | Literal["always"] = False
) -> None:
    """Approve a waiting call."""
    _check_span(feed, remember)

    def decide(number: int) -> None:
        calls = _calls_of(feed.run.waiting[number][0])
        changed = arguments and _restored(calls, {"arguments": arguments})["arguments"]
        feed.run.approve(number, arguments=changed, remember=remember)

    _decide(feed, which, decide)


def reuse(feed: Feed, *, which: str) -> None:
    """Use the recorded result of the earlier call that a waiting one would repeat."""
    _decide(feed, which, lambda number: feed.run.reuse(number))


def reject(feed: Feed, *, which: str, comment: str = "", remember: bool | Literal["always"] = False) -> None:
    """Reject a waiting call."""
    _check_span(feed, remember)
    _decide(feed, which, lambda number: feed.run.reject(comment, number, remember=remember))


def respond(feed: Feed, *, which: str, value: Any) -> None:
    """Answer a question, or a call instead of its tool."""
    _decide(feed, which, lambda number: feed.run.respond(value, number))


def _check_span(feed: Feed, remember: bool | str) -> None:
    """Raise `UsageError` if a decision is about all later runs, and the place that shows the run refuses that."""
    if remember == "always" and "settings" in feed.page.refuses:
        raise UsageError("this page changes no settings; decide about this run, or add the rule to the settings file")


def _decide(feed: Feed, which: str, decide: Callable[[int], Any]) -> None:
    """Apply a decision to the step that the person saw, and not to one that has taken its position since."""

    def find_and_decide() -> None:
        waiting = [decision_id(pending, verdict) for pending, verdict in feed.run.waiting]
        if which not in waiting:
            raise UsageError("this step is no longer waiting for a decision; look at the run again")
        decide(waiting.index(which))

    feed.run.control.do(find_and_decide)


def break_(
    feed: Feed, *, kind: Literal["tool", "role", "line", "error", "repeat", "when"], value: str = "", file: str = ""
) -> Data:
    """Set a breakpoint; the condition of `when` is a Python expression of `entry`, evaluated in the
    person's notebook.
    """
    if kind not in ("error", "repeat") and not value.strip():
        if kind == "when":
            raise UsageError('enter an expression of entry, such as entry.kind == "act"')
        raise UsageError(f"enter the {kind} to pause at")
    condition: Any = {"error": True, "repeat": True}.get(kind, value)
    if kind == "line":
        condition = _line_number(value)
    elif kind == "when":
        condition = feed.page.predicate(value)
        _try(condition, feed.run.entries)
    return breakpoint_data(feed.run.break_at(**{kind: condition, "file": file}))


def _try(predicate: Callable[[Entry], Any], entries: Sequence[Entry]) -> None:
    """Try a condition on the newest step of each kind, so that a mistake in it is told now and not in mid-run.

    Before the first step, it is tried on the task, which only shows whether its names exist.
    """
    steps = {entry.kind: entry for entry in entries[1:]}
    mistakes = Exception if steps else NameError
    for entry in steps.values() or entries:
        try:
            predicate(entry)
        except mistakes as error:
            raise UsageError(f"for step {entries.index(entry)}, the condition raises {error_line(error)}") from None
        except Exception:  # a task has no result as a step has
            continue


def _line_number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"the line must be a number, not {value!r}") from None


def unbreak(feed: Feed, *, id: int) -> None:
    """Remove a breakpoint."""
    feed.run.unbreak(_find_breakpoint(feed, id))


def enable(feed: Feed, *, id: int, enabled: bool) -> None:
    """Enable or disable a breakpoint."""
    feed.run.enable(_find_breakpoint(feed, id), enabled)


def _find_breakpoint(feed: Feed, number: int) -> Breakpoint:
    for point in feed.run.state.breakpoints:
        if point.number == number:
            return point
    raise UsageError("this breakpoint no longer exists")


# -- exporting ---------------------------------------------------------------------------------------------------------


def export_(feed: Feed, *, format: Literal["cells", "ipynb", "markdown", "html", "json"]) -> Data:
    """Return the run as a file, or insert it into the notebook as cells."""
    run = feed.run
    if format == "cells":
        return _insert_cells(feed)
    write: dict[str, Callable[[], str]] = {
        "ipynb": lambda: json.dumps(export.to_notebook(run), ensure_ascii=False, indent=1) + "\n",
        "markdown": lambda: export.to_markdown(run),
        "html": lambda: export.to_html(run),
        "json": lambda: json.dumps(export.to_json(run)),
    }
    return {"name": f"run-{run.id}.{SUFFIX[format]}", "mime": MIME[format], "text": write[format]()}


def _insert_cells(feed: Feed) -> Data:
    """Insert the cells below the view; if the notebook does not allow that, write a separate notebook."""
    notebook = export.to_notebook(feed.run)
    inserted = feed.page.insert(notebook["cells"]).result(timeout=10)
    if inserted:
        return {"inserted": inserted}
    name = f"run-{feed.run.id}.ipynb"
    export.to_notebook(feed.run, name, overwrite=True)
    return {"inserted": 0, "fallback": name}


def freeze(feed: Feed) -> None:
    """Replace the view by a static snapshot, which needs no kernel."""
    feed.page.freeze()


IMMEDIATE = {function.__name__: function for function in (pause, stop)}
"""Commands that take no time and must not wait for anything."""

DRIVING = frozenset(function.__name__ for function in (play, step, step_over))
"""Commands that make the run go on."""

QUEUED = {
    function.__name__.rstrip("_"): function
    for function in (
        play,
        step,
        step_over,
        pace,
        temperature,
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
        reuse,
        reject,
        respond,
        break_,
        unbreak,
        enable,
        export_,
        freeze,
    )
}
"""Commands that are carried out one after the other, in the order in which they arrive."""

CHANGING = {*IMMEDIATE, *QUEUED} - {"export", "freeze"}
"""Commands that may change what is shown of the run."""
