"""The runs that a server shows: those of this process, and those that are recorded in the journal of its agent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import asdict, dataclass
from typing import Any

from agentkit.agent.agent import Agent, live
from agentkit.core.secrets import mask
from agentkit.errors import JournalDamaged, JournalInUse, ReadOnly, Unknown
from agentkit.journal.entries import RunInfo
from agentkit.run.followed import me
from agentkit.run.run import Run
from agentkit.trace.events import Event

KEPT = 100
"""About how many runs that are over are kept in memory; older ones are read from the journal again."""

LISTED = 500
"""How many runs the list has at most."""

MAX_TASK = 2_000
"""How many characters of a task the list has at most."""

TELLING = {"started", "thought", "completed", "error", "waiting", "playing", "paused", "moved", "budget_exceeded"}
"""The kinds of events after which the line of a run in the list may have changed."""

OnChange = Callable[[str], Any]


@dataclass(slots=True)
class Line:
    """A run in the list of runs.

    `is_here` tells whether this process has the run, so that it can be driven at once; `holder` is the other process
    that holds it, or "". The `cost`, in USD, of the other runs is None, because it is only known after reading all of
    their rows. Times are seconds since 1970.
    """

    id: str
    task: str
    status: str
    engine: str
    model: str
    cost: float | None
    created: float
    updated: float
    is_here: bool
    session: str = ""
    holder: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the line as JSON data."""
        return asdict(self)


class Hub:
    """The runs of an agent, by id. All methods may be called from any thread, and may take a while."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._runs: dict[str, Run] = {}
        self._infos: dict[str, RunInfo] = {}
        self._looked: dict[str, tuple[int, Run]] = {}
        self._followed: dict[str, Run] = {}
        self._listeners: list[OnChange] = []
        self._lock = threading.Lock()
        self._opening = threading.Lock()

    # -- runs ----------------------------------------------------------------------------------------------------------

    def start(self, task: Any, *, session: str = "", user: str = "", paused: bool = False) -> Run:
        """Start a run, or go on with the unfinished run of a session; see `Agent.start`."""
        run = self.agent.start(task, session=session, user=user, paused=True)
        self.add(run)
        if not paused:
            run.play()
        return run

    def add(self, run: Run) -> None:
        """Show a run of this process; it may also be one of another agent, or one without a journal."""
        with self._lock:
            if self._runs.get(run.id) is run:
                return
            self._runs.pop(run.id, None)
            self._runs[run.id] = run
            self._infos[run.id] = run.info()
            self._looked.pop(run.id, None)
        run.on_event(self._on_event)
        self._forget_old()
        self._tell(run.id)

    def here(self, id: str) -> Run | None:
        """Return the run of this process that has an id, or None if there is none."""
        with self._lock:
            run = self._runs.get(id)
        if run is not None and not run.control.sealed:
            return run
        run = self._live(id)
        if run is not None:
            self.add(run)  # it was started, or resumed, by other code of this process
        return run

    def get(self, id: str) -> Run:
        """Return a run to look at: that of this process, or else the recorded one as it is now, read-only.

        Nothing is written. Raises `Unknown`.
        """
        run = self.here(id)
        if run is not None:
            return run
        journal = self.agent.journal
        if journal is None:
            raise Unknown("run", id, ())
        with self._opening:
            rows = journal.count(id)
            before = self._looked.pop(id, None)
            self._looked[id] = looked = before if before and before[0] == rows else (rows, self._look(id))
            for old in list(self._looked)[:-KEPT]:
                self._looked.pop(old, None)
        return looked[1]

    def follow(self, id: str) -> Run:
        """Return a run to show: that of this process, or else the recorded one, as an object that follows the process
        that holds it. Raises `Unknown`.
        """
        run = self.here(id)
        if run is None and self.agent.journal is None:
            raise Unknown("run", id, ())
        if run is None:
            with self._opening:
                run = self._still_followed(id) or self._look(id)
                self._followed[id] = run
                for old in list(self._followed)[:-KEPT]:
                    self._followed.pop(old, None)
        return run

    def _still_followed(self, id: str) -> Run | None:
        """Return the object that follows a run, as it is now; None if there is none, or if it cannot go on."""
        run = self._followed.pop(id, None)
        if run is None or run.followed is None:
            return run
        with contextlib.suppress(Unknown, JournalDamaged):
            if not run.followed.is_watched:
                run.followed.catch_up()
        return None if run.followed.has_ended else run

    def _look(self, id: str) -> Run:
        """Return a recorded run, of which wishes say that they come from this server."""
        run = self.agent.look(id)
        if run.followed is not None:
            run.followed.author = f"{me()} (server on {socket.gethostname()})"
        return run

    def hold(self, id: str) -> Run:
        """Return a run to drive: that of this process, or else the recorded one, which this process holds from then on.

        Raises `Unknown`, `JournalInUse` if another process has the run open, and `ReadOnly` if the agent lacks what the
        run needs; it is then not held, so that another process can.
        """
        with self._opening:
            run = self.here(id)
            if run is None:
                if self.agent.journal is None:
                    raise Unknown("run", id, ())
                run = self.agent.resume(id)
                if why := run.read_only:
                    run.close()
                    raise ReadOnly(f"the server cannot go on with this run: {why}")
                self.add(run)
        return run

    def hold_or_ask(self, id: str) -> Run:
        """Return a run to pause, to stop or to tell something: one to drive, as `hold` does.

        If another process holds it, it is one to look at, which asks that process.
        """
        try:
            return self.hold(id)
        except JournalInUse:
            return self.follow(id)

    def of_session(self, session: str) -> Run:
        """Return the run of a session that has not ended, to drive. Raises `Unknown` if there is none."""
        begun = self.agent.memory.unanswered(session)
        if not begun:
            raise Unknown("session", session, (), "none of its runs waits for anything")
        return self.hold(begun[-1])

    def list(self) -> list[Line]:
        """Return the runs: those that wait for a person first, then the newest."""
        journal = self.agent.journal
        infos = {each.run: each for each in (journal.runs() if journal is not None else []) if not each.is_trial}
        with self._lock:
            here = dict(self._runs)
            infos = {**self._infos, **infos}
        lines = [_line(info, here.get(id) or self._live(id)) for id, info in infos.items()]
        lines.sort(key=lambda line: (line.status != "waiting", -line.created))
        return lines[:LISTED]

    def pause(self, timeout: float) -> None:
        """Pause the runs that are playing, and wait until they rest, for at most `timeout` seconds."""
        with self._lock:
            playing = [(run, run.control.playing) for run in self._runs.values()]
        for run, future in playing:
            if future is not None:
                run.pause()
        wait([future for _, future in playing if future is not None], timeout)

    def close(self) -> None:
        """Stop following the runs; they go on."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
            self._infos.clear()
            self._followed.clear()
            self._listeners.clear()
        for run in runs:
            run.off_event(self._on_event)

    # -- changes -------------------------------------------------------------------------------------------------------

    def on_change(self, listener: OnChange) -> Callable[[], None]:
        """Call `listener` with the id of each run that is added, or whose line in the list may have changed.

        It is called in the thread that drives the run, and must return at once. Returns a function that ends this.
        """
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def _on_event(self, event: Event) -> None:
        if event.kind in TELLING:
            self._tell(event.run)

    def _tell(self, id: str) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            with contextlib.suppress(Exception):  # one listener must not end the others, or the run
                listener(id)

    # -- private -------------------------------------------------------------------------------------------------------

    def _live(self, id: str) -> Run | None:
        """Return a run of the same journal that other code of this process has open."""
        run = live(id)
        is_ours = run is not None and not run.control.sealed and run.trace.journal is self.agent.journal
        return run if is_ours else None

    def _forget_old(self) -> None:
        """Forget the oldest of the runs that are over, except for those that no journal has; not each time, because
        that looks at all of them.
        """
        with self._lock:
            if len(self._runs) % KEPT:
                return
            over = [id for id, run in self._runs.items() if run.status == "done" and run.trace.journal is not None]
            for id in over[:-KEPT]:
                run = self._runs.pop(id)
                self._infos.pop(id, None)
                run.off_event(self._on_event)


def _line(info: RunInfo, run: Run | None) -> Line:
    return Line(
        id=info.run,
        task=mask(info.task[: 2 * MAX_TASK])[:MAX_TASK],
        status=str(run.status) if run is not None else info.status,
        engine=info.engine.rpartition(":")[2],
        model=info.model,
        cost=run.usage.cost if run is not None else None,
        created=info.created,
        updated=info.updated,
        is_here=run is not None,
        session=run.task.get("session", {}).get("id", "") if run is not None else "",
        holder=mask(info.holder) if run is None else "",
    )
