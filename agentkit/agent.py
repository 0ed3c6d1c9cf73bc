"""An agent: a model, tools and an engine, from which runs are started, listed and resumed."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable
from typing import Any

from agentkit import export, log, registry, secrets
from agentkit.around.base import Around
from agentkit.around.caps import cap_calls
from agentkit.around.ends_turn import ends_turn
from agentkit.around.nudge import nudge
from agentkit.around.reformat import reformat
from agentkit.control import Control
from agentkit.desk import Desk
from agentkit.edits import info
from agentkit.errors import Busy, JournalDamaged, UsageError
from agentkit.events import Event
from agentkit.gates import Gate, approval, forked
from agentkit.history import History
from agentkit.host import Host, name_of
from agentkit.journal import open_journal
from agentkit.journal.base import Entry, Journal, RunInfo
from agentkit.messages import Chat, message_from_json, message_to_json, system
from agentkit.models import dialects, resolve
from agentkit.result import Result
from agentkit.run import Run
from agentkit.tools import builtin
from agentkit.tools.sources import ToolSet

SETTINGS = (
    "instructions",
    "dialect",
    "journal",
    "arounds",
    "approve",
    "approver",
    "roles",
    "settings",
    "repair",
    "max_tool_calls",
    "raise_errors",
    "on_event",
    "on_step",
)

_LIVE: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
"""The runs of this process, by id: one that is resumed anew takes the place of the old object."""


class Agent:
    """A model, tools and an engine.

    `model` is a name ("offline", "echo"), a model, or any function of a request; None chooses one. `tools` are functions,
    `Tool`s, toolboxes, tool sources and names of built-in toolboxes ("math", "units", "clock", "facts"). `engine` is a
    name or a generator function, and `options` are its parameters, such as `max_iterations`. `roles` names other models
    by role. `journal` is "sqlite" (the default), a path, "memory", or None. `repair=0` takes an unreadable reply as the
    answer at once. `max_tool_calls` limits the tools that run. `on_event(event)` and
    `on_step(iteration, action, observation, error, step)` are called as things happen.

    `approve` says which calls need a person's yes: True, tool names, or a predicate of the call. `approver(call)` decides
    for `run()`, where nobody is there to be asked: True or "allow" (or "remember", for that tool from now on) is a yes, a
    dict is a yes with these arguments, and anything else a no.

    Raises `Unknown` for an option, engine or dialect that nobody knows, `ValueError` for a value out of range.
    """

    def __init__(self, model: Any = None, tools: Any = (), *, engine: Any = "react", **options: Any) -> None:
        self.engine, self.engine_name = registry.find(engine)
        own = {name: options.pop(name) for name in SETTINGS if name in options}
        registry.check(self.engine, options, SETTINGS)
        self._spelled = {"model": model, "tools": tools, "engine": engine, **own, **options}
        self.options = options
        self.model = resolve.find(model)
        given = tools if isinstance(tools, list | tuple | set | frozenset) else [tools]
        self.tools = ToolSet.of([builtin.box(tool) if isinstance(tool, str) else tool for tool in given])
        self.instructions: str = own.get("instructions", "")
        self.dialect = dialects.get(own["dialect"]) if own.get("dialect") else None
        self.roles = {role: resolve.find(other) for role, other in own.get("roles", {}).items()}
        self.settings: dict[str, Any] = own.get("settings", {})
        self.raise_errors: bool = own.get("raise_errors", False)
        self.approver: Callable[[Any], Any] | None = own.get("approver")
        self.on_event: Callable[[Event], Any] | None = own.get("on_event")
        self.on_step: log.OnStep | None = own.get("on_step")
        self._approve = own.get("approve")
        self._journal = own.get("journal", "sqlite")
        self.arounds = self._stack(tuple(own.get("arounds", ())), own.get("repair", 1), own.get("max_tool_calls"))

    def _stack(self, own: tuple[Around, ...], repair: int, most: int | None) -> tuple[Around, ...]:
        if repair not in (0, 1):
            raise ValueError(f"repair is 0 or 1 (how often a reply is asked for again), not {repair!r}")
        last = frozenset(tool.name for tool in self.tools.tools if tool.ends_turn)
        caps = [] if most is None else [cap_calls(most)]
        return (*own, *([ends_turn(last)] if last else []), *caps, nudge, *([reformat] if repair else []))

    @property
    def journal(self) -> Journal | None:
        """Where runs are recorded; opened when it is needed first."""
        if isinstance(self._journal, str):
            self._journal = open_journal(self._journal)
        return open_journal(self._journal) if self._journal is not None else None

    def using(self, **changes: Any) -> Agent:
        """Give an agent like this one with some things changed; the names are those of `Agent(...)`."""
        return Agent(**{**self._spelled, "journal": self._journal, **changes})

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, task: Any, *, timeout: float | None = None) -> Result:
        """Run a task in this thread to its end, and give the result.

        Nobody is asked anything here: a call that needs a yes is decided by `approver`, or else refused. A model that
        fails gives a `Result` with `.error` (raised instead with `raise_errors=True`); its run can be tried again.
        """
        run = self.start(task, paused=True)
        result = run.drive(timeout)
        while run.waiting and result.reason != "timeout":
            self._decide(run)
            result = run.drive(timeout)
        if result.error and self.raise_errors:
            raise result.error
        return result

    def start(self, task: Any, *, paused: bool = False) -> Run:
        """Begin a run and return at once; it goes on in the background unless it is to begin `paused`."""
        secrets.refresh()
        run = self.attach(self._spec(task))
        if not paused:
            run.play()
        return run

    def _decide(self, run: Run) -> None:
        pending, verdict = run.waiting[0]
        call = pending.step.calls[0] if pending.step.kind == "act" else None  # type: ignore[union-attr]
        said = self.approver(call) if self.approver and call else None
        if isinstance(said, dict):
            run.approve(arguments=said)
        elif said is True or said in ("allow", "remember"):
            run.approve(remember=said == "remember")
        elif call:
            run.reject(verdict.why if self.approver is None else "denied")
        else:
            run.respond("Nobody is there to answer.")

    # -- making runs -------------------------------------------------------------------------------------------------

    def _spec(self, task: Any) -> dict[str, Any]:
        """Give what is needed to begin again in another kernel, as JSON data."""
        chat = Chat.of(task)
        if self.instructions:
            chat = Chat.of([system(self.instructions), *chat])
        source = registry.source(self.engine)
        return {
            "task": [secrets.mask_json(message_to_json(message)) for message in chat],
            "engine": self.engine_name,
            **source,
            "options": self.options,
            "tools": {tool.name: tool.digest for tool in self.tools.tools},
            "model": name_of(self.model),
            "dialect": self.dialect.name if self.dialect else None,
            "version": 1,
        }

    def attach(
        self,
        spec: dict[str, Any],
        *,
        entries: dict[int, Entry] | None = None,
        parent: Run | None = None,
        gates: tuple[Gate, ...] = (),
        name: str = "",
        new: bool = True,
    ) -> Run:
        """Make the run of a spec: a new one, a fork of `parent`, or, with its `name`, one that is in the journal."""
        journal = self.journal
        history = History(name or uuid.uuid4().hex[:12], self._maker(spec), self.arounds, journal, entries)
        if self._approve:
            gates = (*gates, approval(self._needed))
        host = Host(self.model, self.tools, self.dialect, self.roles, self.settings)
        desk = Desk(history, host, gates)
        if self.on_event:
            desk.listen(self.on_event)
        run = Run(self, desk, Control(desk), spec)
        if self.on_step:
            log.on_step(run, self.on_step)
        if journal is not None:
            weakref.finalize(run, run.control.lease.drop).atexit = False
            _LIVE[run.id] = run
        if new:
            if journal is not None:
                journal.create(info(run, parent.desk.tree if parent else run.id, parent.id if parent else ""))
            desk.tree = parent.desk.tree if parent else run.id
            if parent is None:
                history.root(spec)
                desk.settle()
        return run

    def _maker(self, spec: dict[str, Any]) -> Callable[[], Any]:
        task = Chat.of([message_from_json(message) for message in spec["task"]])
        options = dict(spec["options"])
        if "tools" in registry.parameters(self.engine):
            options["tools"] = self.tools.tools
        return lambda: self.engine(task, **options)

    def _needed(self, call: Any) -> bool:
        if callable(self._approve):
            return bool(self._approve(call))
        return self._approve is True or call.name in (self._approve or ())

    def resume(self, name: str | Run | RunInfo, *, strict: bool = False) -> Run:
        """Open a run of the journal where it stood when its kernel ended, and hold it there, paused.

        A tool that is missing, or a damaged journal, opens it read-only, and `run.missing` says what is lacking.
        Raises `Unknown`, `JournalInUse` where another process has the run open, and `Diverged` with `strict` where the
        engine now asks for something else.
        """
        journal = self.journal
        if journal is None:
            raise UsageError("an agent with journal=None has nothing to resume from")
        name = name.id if isinstance(name, Run) else name.run if isinstance(name, RunInfo) else name
        if (old := _LIVE.get(name)) is not None and old.control.lease.held:
            if old.status == "running":
                raise Busy("this run is playing in this kernel; pause it first, or go on with that Run object")
            old.close()
        known = journal.claim(name)
        try:
            return self._reopen(journal, known, strict)
        except BaseException:
            journal.release(name)
            raise

    def _reopen(self, journal: Journal, known: RunInfo, strict: bool) -> Run:
        name = known.run
        missing: list[str] = []
        try:
            rows = journal.rows(name)
        except JournalDamaged as damage:
            rows, missing = damage.sound, [f"a sound journal ({damage})"]
        spec = next((row.result for row in rows if isinstance(row, Entry) and row.kind == "begin"), None)
        if spec is None:
            raise JournalDamaged(f"run {name}: its first entry cannot be read, and nothing can be shown without it")
        missing += [f"tool {tool!r}" for tool in spec["tools"] if self.tools.find(tool) is None]
        run = self.attach(spec, name=name, new=False, gates=(forked,) if known.parent else ())
        run.desk.tree = known.tree
        run.missing = tuple(missing)
        run.desk.history.load(rows)
        try:
            run.desk.history.rebuild(strict=strict)
        except BaseException:
            run.control.lease.drop()
            raise
        run.desk.count()
        if run.status in ("done", "readonly"):
            run.control.lease.drop()
        return run

    def load(self, data: dict[str, Any]) -> Run:
        """Open a run that `run.to_json()` gave out, edits and branches included, with this agent's model and tools.

        Raises `UsageError` that says what is missing or damaged.
        """
        journal = self.journal
        if journal is None:
            raise UsageError("an agent with journal=None has nowhere to put a run that it loads")
        return self.resume(export.adopt(data, journal))

    def __repr__(self) -> str:
        tools = ", ".join(tool.name for tool in self.tools.tools)
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Agent(model={name_of(self.model)!r}, engine={self.engine_name.rpartition(':')[2]!r}, tools=[{tools}]{options})"


def runs(journal: Any = "sqlite") -> list[Any]:
    """List all recorded runs, the newest first."""
    opened = open_journal(journal)
    return opened.runs() if opened else []


def from_json(data: dict[str, Any], agent: Agent | None = None) -> Run:
    """Open a run that `run.to_json()` gave out; without an agent of one's own to read, step back and compare in."""
    export.rows_of(data)
    return (agent or Agent("offline", journal="memory")).load(data)


def from_notebook(notebook: Any, agent: Agent | None = None) -> Run:
    """Open the run that an exported notebook (a path or its data) holds. Raises `UsageError` naming a cell that was changed."""
    return from_json(export.data_of_notebook(notebook), agent)


Run.from_json, Run.from_notebook = from_json, from_notebook
