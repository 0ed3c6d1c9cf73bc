"""Follow a run that another process drives: its events as they are recorded, and what it waits for.

Looking writes nothing: the journal is opened for reading, and no lock is taken. It is looked at a few times a second,
and less often if a look takes long, because the journal may be far away. In a terminal, a line that is typed meanwhile
asks the process that holds the run for something, as `agentkit wish` does.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from agentkit.agent.agent import Agent
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text, one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.gates.base import ask_gates
from agentkit.journal import Wish, open_journal
from agentkit.journal.entries import Entry, Note, Row, RunInfo
from agentkit.run.followed import asked_to, me
from agentkit.run.run import Run
from agentkit.terminal.printer import Printer
from agentkit.terminal.screen import Screen, screen_of
from agentkit.trace.events import Event, RowEvents
from agentkit.trace.progress import Progress

INTERVAL = 0.2
"""How often a journal is looked at, in seconds."""

SHARE = 4
"""How many times longer than a look the pause after it is at least."""

RESTS = {
    "paused": "is paused",
    "failed": "has failed; agentkit resume {id} tries again",
    "stopped": "was stopped",
    "diverged": "differs from its recording",
    "interrupted": "was interrupted: its process has ended; agentkit resume {id} continues it",
    "not begun": "has not begun",
}
"""What is said about a run that rests, by its status."""


class EventsOfRun:
    """A reader of the rows of a tree, in order, that yields the events of one run, as `Run.events` does."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._progress, self._events = Progress(), RowEvents()
        self._past: set[int] | None = None

    def take(self, rows: list[Row]) -> Iterator[Event]:
        """Yield the events of the next rows."""
        if self._past is None:
            self._past = set(next(filter(None, map(self._past_of, rows)), ()))
        for row in rows:
            is_past = isinstance(row, Entry) and row.id in self._past  # its calls have rows of another run
            events = [*self._progress.take(row), *(RowEvents() if is_past else self._events).take(row)]
            if row.run == self._run or is_past:
                yield from events

    def _past_of(self, row: Row) -> list[int]:
        """Return the entries that the run shares with the one that it was forked from, if this row says so."""
        is_own = isinstance(row, Note) and row.run == self._run and row.kind == "head"
        return list(row.data["then"]) if is_own and row.data["why"] == "fork" else []  # type: ignore[union-attr]


def follow(id: str, journal: Any = "sqlite", pause: Callable[[float], Any] = time.sleep) -> Iterator[Event]:
    """Yield the events of a run of a journal, first those until now; "waiting" and "paused" say that it rests.

    The data of "paused" have its status. It ends with the run. Raises `Unknown` if there is no such run, or if it is
    deleted meanwhile, and `JournalDamaged`.
    """
    opened: Any = open_journal(journal, read_only=True)
    reader, before, tail = EventsOfRun(id), "", None
    while True:
        start = time.monotonic()
        status = _info(opened.runs(id), id).status  # first: what is recorded later is seen by the next look
        if status not in ("not begun", "damaged", "lost"):
            tail = tail or opened.tail(id)
            if rows := tail.read():
                before = ""  # if it rests again, that is news
                yield from reader.take(rows)
        if status in ("damaged", "lost"):
            opened.rows(id)  # raises JournalDamaged
        if status != before and status != "running":
            yield from _rest(Agent(journal=journal).look(id), status)
        before = status
        if status == "done":
            return
        pause(max(INTERVAL, SHARE * (time.monotonic() - start)))


def _info(infos: list[RunInfo], id: str) -> RunInfo:
    found = next((info for info in infos if info.run == id), None)
    if found is None:
        raise Unknown("run", id, ())
    return found


def _rest(run: Run, status: str) -> Iterator[Event]:
    """Yield an event for each step that waits for a person, or one that says how the run rests."""
    if status == "waiting":
        for text, call in waits_for(run):
            yield Event("waiting", run.id, 0, {"why": text, **({"call": call} if call else {})})
    elif status != "done":
        yield Event("paused", run.id, 0, {"why": "", "status": status})


def waits_for(run: Run) -> list[tuple[str, str]]:
    """Return why each step of a run that is looked at waits for a person, and which call it is, or "".

    The checks are asked once more; those that are functions of the process that drives the run are not here.
    """

    def ask() -> list[tuple[str, str]]:
        state, found = run.state, []
        for pending in run.trace.pending:
            verdict = ask_gates(state.gates[pending.step.kind], pending, state)
            if verdict is not None and verdict.kind == "ask":
                call = f"{mask(call_text(pending.step.call))}" if type(pending.step) is Act else ""
                found.append((verdict.why, call))
        return found

    try:
        found = run.control.read(ask)
    except AgentkitError:  # its engine is not here
        found = []
    return found or [("a person has to decide", "")]


def watch(id: str, journal: Any = "sqlite", *, as_json: bool = False) -> None:
    """Print the events of a run of a journal until it is over."""
    screen = screen_of("stdout")
    write = _print_json if as_json else _printing(id, screen)
    commands = None if as_json or not screen.is_terminal else Commands.typed(id, journal, screen)
    for event in follow(id, journal, commands.wait if commands is not None else time.sleep):
        write(screen, event)


class Commands:
    """The lines that are typed while a run is watched, for the process that holds it: pause, stop, or inject TEXT."""

    def __init__(self, id: str, journal: Any, screen: Screen, source: TextIO) -> None:
        self._id, self._journal, self._screen = id, journal, screen
        self._source: TextIO | None = source

    @classmethod
    def typed(cls, id: str, journal: Any, screen: Screen) -> Commands | None:
        """Return the commands that a person types; None if nobody can, or if lines cannot be waited for (Windows)."""
        if sys.platform == "win32" or not sys.stdin.isatty():
            return None
        return cls(id, journal, screen, sys.stdin)

    def wait(self, seconds: float) -> None:
        """Wait for some seconds, and carry out the lines that are typed meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._source is None:
                time.sleep(left)
            elif select.select([self._source], [], [], left)[0]:
                self._take(self._source.readline())

    def _take(self, line: str) -> None:
        if not line:  # no more will come
            self._source = None
            return
        what, _, text = line.strip().partition(" ")
        if not what:
            return
        try:
            opened: Any = open_journal(self._journal)
            wish(opened, self._id, what, text.strip(), me())
            self._screen.line(f"asked to {asked_to(what)}", dim=True)
        except AgentkitError as error:
            self._screen.line(f"! {error}")


def wish(journal: Any, id: str, what: str, text: str, author: str) -> None:
    """Ask the process that holds a run for something. Raises `UsageError` if the journal brings no wishes."""
    if not callable(getattr(journal, "wish", None)):
        raise UsageError("this journal does not bring wishes to another process; one in a file or on PostgreSQL does")
    journal.wish(Wish(id, what, text, author))


def _print_json(screen: Screen, event: Event) -> None:
    screen.lines(json.dumps(event.to_dict(), default=str))


def _printing(id: str, screen: Screen) -> Callable[[Screen, Event], None]:
    printer = Printer(screen, screen)

    def write(screen: Screen, event: Event) -> None:
        if event.kind == "waiting":
            screen.line(f"? waits for a person: {one_line(event.data['why'], 2000)}")
            if event.data.get("call"):
                screen.line(f"  {event.data['call']}")
            screen.line(
                f"  decide where it runs; once that process has ended, agentkit chat --resume {id} asks", dim=True
            )
        elif event.kind == "paused":
            text = RESTS.get(event.data["status"], f"is {event.data['status']}").format(id=id)
            screen.line(f"! the run {text}")
        else:
            printer.take(event)

    return write
