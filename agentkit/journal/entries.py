"""The rows of a journal: an append-only record of runs, from which the tree of a run is built.

A row is an `Entry` (a step that was performed, with its result) or a `Note` (anything else that happened). Rows are
numbered in the order in which they were written to their tree; the number is an entry's id and an event's cursor.
Runs that were forked from each other share a tree.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from agentkit.core.display import Displayed
from agentkit.core.secrets import mask
from agentkit.core.steps import Step
from agentkit.core.text import call_text, one_line
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.inert import for_terminal, inert, inert_lines


@dataclass(slots=True, repr=False)
class Entry(Displayed):
    """One performed step.

    `path` and `index` are its position in the engine: the frame, and the index of the step within the frame. `step` is
    what the engine proposed; `performed` is what was done, if that differs (an injected message, an edit). `kind` is
    the step's kind, "begin" (the root), or "end" (a gate ended the run, or a part of it, instead of performing the
    step). `parent` is the entry before it in the same lane, or the one after which the lane was opened. `original` is
    the entry that an edit replaces. If the result of an earlier call is used instead of calling the tool again,
    `repeats` is the row with which that call began. `temperature` is the one that was set for the run, if
    its model was asked at it. `streamed` is when the first piece of a reply came, if it came in pieces. `rested` is how
    long the run had rested since the entry before, in seconds, by the reason: "waiting" (for a person), "paused", or
    "away" (between two processes). `turn` and `slot` count the thoughts up to this step, and the calls since the last
    one; they follow from the entries before it.
    """

    parent: int
    kind: str
    path: str = ""
    index: int = 0
    step: Step | None = None
    performed: Step | None = None
    result: Any = None
    author: str = ""
    original: int = 0
    repeats: int = 0
    reason: str = ""
    started: float = 0.0
    ended: float = 0.0
    model: str = ""
    dialect: str = ""
    temperature: float | None = None
    streamed: float = 0.0
    rested: dict[str, float] | None = None
    usage: Usage | None = None
    run: str = ""
    id: int = 0
    turn: int = 0
    slot: int = 0

    @property
    def step_name(self) -> str:
        """The name of the step in the order of the run: "model_call_2", "tool_call_2_0" or "persist_episode_3"."""
        return step_name(self.kind, self.turn, self.slot)

    @inert_lines
    def __repr__(self) -> str:
        return entry_text(self)


def step_name(kind: str, turn: int, slot: int) -> str:
    """Return the name of a model call, a tool call or the end of a run; "" for any other step."""
    if kind == "act":
        return f"tool_call_{turn}_{slot}"
    names = {"think": "model_call", "conclude": "persist_episode"}
    return f"{names[kind]}_{turn}" if kind in names else ""


@dataclass(slots=True)
class Note:
    """Anything that happened apart from the steps: a `kind` and JSON data.

    Kinds: "call" (a tool is about to run, with these arguments), "abandoned" (a call was left before it ended),
    "guards" (some guards of the run were changed), "tripped" (a guardrail has tripped), "inject", "recall",
    "head" (the run moved to other entries), "asked_again" (the run is a fork in which the model of run `data["of"]` is
    only asked again; `data["request"]` is a digest of the request), "signal", "traced" (the run is driven under the
    span `data["traceparent"]` from here on), "error", "status", "warning" (`data["wish"]` is what somebody asked of the
    run, if that is what it tells), "outcome" (what an experiment made of the run as it was then), and "lost" (rows of
    the tree after row `data["after"]` had been recorded and are missing now, so a call that is not on record may have
    been performed; `data["text"]` says it in a sentence).
    """

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    at: float = 0.0
    run: str = ""
    id: int = 0


Row = Entry | Note

INTERVAL = 0.1
"""How often a store that announces nothing is asked for new rows, in seconds."""


class Tail:
    """The rows of a run's tree after row `after`, as they are written; several processes may follow one run.

    `more` reads the rows that it has not read yet. `pause` waits a number of seconds, or until there may be new rows.
    """

    def __init__(
        self, after: int, more: Callable[[], list[Row]], pause: Callable[[float], object] = time.sleep
    ) -> None:
        self.after = after
        self._more, self._pause = more, pause

    def read(self, timeout: float = 0.0) -> list[Row]:
        """Return the rows that were written since the last call; wait up to `timeout` seconds for the first of them.

        Raises `Unknown` if the run was deleted, `JournalDamaged` at a row that is not as it was written, and
        `JournalError` if the store cannot be read now; the next call then goes on after the last row that was returned.
        """
        end = time.monotonic() + timeout
        while True:
            rows = [row for row in self._more() if row.id > self.after]
            left = end - time.monotonic()
            if rows or left <= 0:
                self.after = rows[-1].id if rows else self.after
                return rows
            self._pause(min(INTERVAL, left))


ASKED_AGAIN = "asked_again"
"""The kind of the note with which a fork begins that only asks a model again."""

OUTCOME = "outcome"
"""The kind of the note with which an experiment closes a run."""

TRIAL = "trial of"
"""The tag of a fork that is one of many, with the id of the run that it was forked from."""

NOT_BEGUN = "not begun"
"""The status of a run of which nothing is recorded: it is just being started, or its process ended before that."""


@dataclass(slots=True, repr=False)
class RunInfo:
    """One line of the list of runs. Times are seconds since 1970; `parent` is the run that this one was forked from.

    `tags` are texts by name that the run was started with, by which it can be found. `holder` is the process that holds
    the run now, as in "process 12 on ada-laptop"; "" if none does, or if it is not known.
    """

    run: str
    tree: str
    task: str
    engine: str
    model: str
    status: str
    rows: int
    created: float
    updated: float
    parent: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    holder: str = ""

    @property
    def is_trial(self) -> bool:
        """Whether the run is a fork that is one of many, and so is left out of the lists of runs for people."""
        return TRIAL in self.tags

    def fits(self, prefix: str, tags: Mapping[str, str]) -> bool:
        """Return whether the name of the run begins with `prefix` and the run has all these `tags`."""
        return self.run.startswith(prefix) and tags.items() <= self.tags.items()

    @inert
    def __repr__(self) -> str:
        return f"{self.run}  {self.status:<11} {self.rows:>5} rows  {self.model}: {one_line(self.task, 60)}"


WISHES = ("pause", "stop", "inject")


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks of a run that another process holds: "pause", "stop", or "inject" a message, the `text`.

    `author` is who asks.
    """

    run: str
    what: str
    text: str
    author: str


NO_TAGS: Mapping[str, str] = MappingProxyType({})
_MAX_TAGS, _MAX_TAG = 20, 200


def left_by(run: str) -> str:
    """Return what is wrong if a new run has the name of a tree whose first run was deleted."""
    return (
        f"run {run!r} was deleted, but forks or trials of it are still there and share its rows; delete them, too, or "
        "use another name"
    )


def check_name(run: str) -> None:
    """Raise `UsageError` if a run cannot have this name."""
    if not isinstance(run, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", run):
        raise UsageError(
            f"the name of a run must have 1 to 100 letters, digits, '-', '.' or '_', and must not begin with "
            f"'-' or '.'; {run!r:.200} does not"
        )


def checked_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of a run. Raises `UsageError` if they are not a few short texts by name."""
    if not isinstance(tags, Mapping) or len(tags) > _MAX_TAGS:
        raise UsageError(f"tags must be a dict of at most {_MAX_TAGS} texts, not {tags!r:.200}")
    for name, value in tags.items():
        if not (isinstance(name, str) and isinstance(value, str) and name and len(name) + len(value) <= _MAX_TAG):
            raise UsageError(
                f"a tag must be a text with a name, of together at most {_MAX_TAG} characters, as in "
                f"tags={{'project': 'prices'}}, not {name!r:.100}: {value!r:.200}"
            )
    return dict(tags)


@runtime_checkable
class Journal(Protocol):
    """A store of runs. All methods may be called from any thread.

    A journal that several machines share may also have a method `open_memory()`, which returns the memory that belongs
    to it; without one, the memory is a file beside the journal, or is kept in this process. It may have `wish(wish)`,
    which brings a `Wish` to the process that holds a run, and `on_wish(run, listener)`, which passes wishes on there;
    and `take_turn(id, seconds)`, by which processes share a rate limit.
    """

    durable: bool

    def create(self, info: RunInfo) -> None:
        """Add a run, and hold it for this process.

        Raises `UsageError` if the name is taken, or if a run of this name was deleted and has left forks.
        """

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run for this process. Raises `Unknown`, or `JournalInUse` if another process holds it."""

    def release(self, run: str) -> None:
        """Release a run."""

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id`, and return it. With `sync`, it is on the disk on return.

        Raises `Fenced` if another process took the run over, `JournalError` if the row cannot be written, and
        `JournalInDoubt` if it may have been written. The same row can be appended again: it is written once.
        """

    def sync(self, run: str) -> None:
        """Bring the rows of the run's tree that were appended without `sync` to the disk. Raises like `append`."""

    def count(self, run: str) -> int:
        """Return the number of rows of the run's tree; it is asked before each call of an irreversible tool."""

    def rows(self, run: str) -> list[Row]:
        """Return all rows of the run's tree, oldest first. Raises `Unknown`, `JournalDamaged`, `JournalTooNew`."""

    def tail(self, run: str, after: int = 0) -> Tail:
        """Return a reader of the rows of the run's tree after row `after`, as they are written. Raises `Unknown`."""

    def lost(self, run: str) -> str:
        """Return what is missing of the rows of the run's tree, as a sentence; "" if all are there. Raises `Unknown`.

        When such a run is claimed, a note of kind "lost" is appended, which says it from then on.
        """

    def runs(self, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[RunInfo]:
        """Return all runs, newest first, or those whose names begin with `prefix` and that have these `tags`."""

    def closing_notes(self, kind: str, prefix: str = "") -> dict[str, Note]:
        """Return the notes of this kind that are the last row of their run, by run, without opening or claiming a run.

        A run to which something was added since then is left out, and so is a note that was changed.
        """

    def set_status(self, run: str, status: str) -> None:
        """Set the status of a run that the list of runs shows."""

    def delete(self, run: str) -> None:
        """Delete a run; its rows are deleted, too, unless another run of the same tree needs them."""

    def close(self) -> None:
        """Release all runs."""


def begun(journal: Journal, run: str) -> RunInfo | None:
    """Return the line of the list of runs for a run of this name; None if there is none that has begun.

    A run whose process ended before anything was recorded of it is deleted, so that its name is free again.
    """
    info = next((info for info in journal.runs(run) if info.run == run), None)
    if info is not None and info.status == NOT_BEGUN:
        journal.delete(run)
        return None
    return info


def untold_reason(entry: Entry) -> str:
    """Return the reason of an entry, or "" if its result, such as the observation of a denied call, contains it."""
    told = getattr(entry.result, "text", "") or getattr(entry.result, "answer", "")
    return "" if entry.reason in str(told) else entry.reason


def entry_text(entry: Entry) -> str:
    """Return an entry as one line, with another line for each call and each observation."""
    step: Any = entry.step
    mark = ""
    if entry.original:
        by = f"{entry.author}: {entry.reason}" if entry.reason else entry.author
        mark = f"  [edited by {_line(by)}]"
    elif entry.repeats:
        mark = "  [the result of an earlier call]"
    elif reason := untold_reason(entry):
        mark = f"  [{_line(reason)}]"
    if entry.kind == "begin":
        task = " / ".join(message["text"] for message in entry.result["task"] if message["role"] == "user")
        files = "".join(f"Context      {_context(about)}\n" for about in entry.result.get("context", ()))
        return f"{files}Task         {_line(task)}"
    if entry.kind == "think":
        return _thought(entry, step) + mark
    if entry.kind == "act":
        failed = "" if entry.result.ok else "✗ "
        return f"Action       {_line(call_text(step.call))}\nObservation  {failed}{_line(entry.result.text)}{mark}"
    if entry.kind == "ask":
        return f"Question     {_line(step.question)}\nReply        {_line(entry.result)}{mark}"
    if entry.kind == "end":
        return f"Ended        {_line(entry.result.answer)}{mark}"
    label = "Sent back   " if entry.author in ("gate", "hook") else "Interrupt   "
    more = f"\n{label} {_line(entry.result.text)}" if entry.result else ""
    return f"Answer       {_line(step.answer)}{more}{mark if entry.author == 'hook' else ''}"


def _context(about: dict[str, Any]) -> str:
    """Return what was read of a context file, as recorded."""
    section = f"#{about['section']}" if about.get("section") else ""
    return _line(f"{about.get('file')}{section}, {about.get('characters')} characters")


def _thought(entry: Entry, step: Any) -> str:
    reply = entry.result
    heard = "".join(f"Interrupt    {_line(message.text)}\n" for message in reply.heard)
    role = "" if step.role == "thought" else f" ({for_terminal(step.role)})"
    asks = f"→ {', '.join(map(call_text, reply.calls))}" if reply.calls else ""
    text = " ".join(part for part in (reply.text or reply.reasoning or reply.raw, asks) if part)
    cut = f"\n             cut: an invented observation of {len(reply.cut)} characters" if reply.cut else ""
    return f"{heard}Thought{role:<5} {_line(text)}{cut}"


def _line(text: Any) -> str:
    return one_line(text, hide=_masked)


def _masked(text: str) -> str:
    """Return a text without secrets, in which the end of a line is visible."""
    return " ⏎ ".join(line for line in mask(text).split("\n") if line.strip())
