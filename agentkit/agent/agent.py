"""An agent: a model, tools and an engine, from which runs are started, listed and resumed."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentkit import export
from agentkit.agent import answers, lessons, log, outfit, resuming, sessions, settings
from agentkit.agent.settings import SETTINGS
from agentkit.core import interrupts, secrets
from agentkit.core.messages import Chat, message_to_json, system
from agentkit.engines import registry
from agentkit.errors import Busy, ReadOnly, UsageError
from agentkit.gates import budget, deadline
from agentkit.gates.base import Gate, approval
from agentkit.journal import open_journal
from agentkit.journal.entries import Journal, RunInfo
from agentkit.memory import open_memory
from agentkit.models import dialects, resolve
from agentkit.run.edits import discard, info
from agentkit.run.result import Result
from agentkit.run.run import Run
from agentkit.runtime.control import Control
from agentkit.runtime.performer import Host, name_of
from agentkit.runtime.scheduler import Desk
from agentkit.tools import builtin
from agentkit.tools.toolset import ToolSet
from agentkit.trace.events import Event
from agentkit.trace.history import History

if TYPE_CHECKING:
    from agentkit.memory.store import Memory

TOLD = frozenset({"instructions", "journal", *sessions.OPTIONS})
"""The settings of an agent that a fork cannot change."""

_LIVE: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
"""The runs of this process, by id: one that is resumed anew takes the place of the old object."""


class Agent:
    """A model, tools and an engine.

    `model` is a name ("offline", "echo"), a model, or any function of a request; None chooses one. `tools` are functions,
    `Tool`s, toolboxes, tool sources and names of built-in toolboxes ("math", "units", "clock", "facts"). `engine` is a
    name or a generator function, and `options` are its parameters, such as `max_iterations`; one that goes around another
    engine takes its name, or a spec such as `{"engine": "react", "max_iterations": 5}`. `roles` names other models by role.
    `journal` is "sqlite" (the default), a path, "memory", or None. `repair=0` takes an unreadable reply as the answer at
    once. `max_tool_calls` limits the tools that run. `synthesize` lets the final answer be written from the whole trace (a
    number: with that many characters of each result). `on_event(event)` and `on_step(iteration, action, observation,
    error, step)` are called as things happen.

    `budget` is what a run may spend (`Budget`, or a dict of its limits). What goes around the loop is off unless asked for,
    by True, a number, or a dict of parameters: `compact`, `clear_results`, `select_tools`, `self_check`, `warn_cycles`,
    `max_failures`, `check_completion`, `revise_calls`, `offload`, `discover`, `structured_thinking`.
    `retained_turns`, `session_memory` ("window" or "summary") and `recall` say what a run is told of earlier ones.

    `approve` says which calls need a person's yes: True, tool names, or a predicate of the call. `approver(call)` decides
    for `run()`, where nobody is there to be asked: True or "allow" (or "remember", for that tool from now on) is a yes, a
    dict is a yes with these arguments, and anything else a no.

    Raises `Unknown` for an option, engine or dialect that nobody knows, `ValueError` for a value out of range.
    """

    def __init__(self, model: Any = None, tools: Any = (), *, engine: Any = "react", **options: Any) -> None:
        self.engine, self.engine_name = registry.find(engine)
        own = {name: options.pop(name) for name in SETTINGS if name in options}
        self.options, self.loops = registry.spell(self.engine, options, SETTINGS)
        settings.check(own)
        self._spelled = {"model": model, "tools": tools, "engine": engine, **own, **options}
        self.model = resolve.find(model)
        given = tools if isinstance(tools, list | tuple | set | frozenset) else [tools]
        given = [builtin.box(tool) if isinstance(tool, str) else tool for tool in given]
        self.tools = outfit.tools(ToolSet.of(given), own, given)
        self.instructions: str = own.get("instructions") or ""
        self.dialect = dialects.get(own["dialect"]) if own.get("dialect") else None
        self.roles = {role: resolve.find(other) for role, other in (own.get("roles") or {}).items()}
        self.settings: dict[str, Any] = own.get("settings") or {}
        self.raise_errors: bool = own.get("raise_errors", False)
        self.approver: Callable[[Any], Any] | None = own.get("approver")
        self.on_event: Callable[[Event], Any] | None = own.get("on_event")
        self.on_step: log.OnStep | None = own.get("on_step")
        self._approve = own.get("approve")
        settings.check_approve(self._approve, self.tools)
        self._journal = own.get("journal", "sqlite")
        self.arounds = outfit.stack(self.tools, own, own.get("arounds") or ())
        self._performed = outfit.performed(self.tools, own, own.get("arounds") or ())
        sessions.check(own)
        self._budget = budget.Budget.of(own["budget"]) if own.get("budget") is not None else None

    @property
    def journal(self) -> Journal | None:
        """Where runs are recorded; opened when it is needed first."""
        if isinstance(self._journal, str):
            self._journal = open_journal(self._journal)
        return open_journal(self._journal) if self._journal is not None else None

    @property
    def memory(self) -> Memory:
        """What outlasts runs, in a file beside the journal: turns of sessions, what is known of a person, lessons."""
        return open_memory(self.journal or self)

    def using(self, **changes: Any) -> Agent:
        """Give an agent like this one with some things changed; the names are those of `Agent(...)`."""
        return Agent(**{**self._spelled, "journal": self._journal, **changes})

    # -- running -----------------------------------------------------------------------------------------------------

    def run(
        self, task: Any, *, output: Any = None, session: str = "", user: str = "", timeout: float | None = None
    ) -> Result:
        """Run a task in this thread to its end, and give the result.

        Nobody is asked anything here: a call that needs a yes is decided by `approver`, or else refused. A model that
        fails gives a `Result` with `.error` (raised instead with `raise_errors=True`); its run can be tried again.
        """
        settings.check_timeout(timeout)
        run = self.start(task, output=output, session=session, user=user, paused=True)
        budget.ask_nobody(run.desk)
        try:
            result = run.drive(timeout)
            while run.waiting and result.reason != "timeout":
                self._decide(run)
                result = run.drive(timeout)
        except KeyboardInterrupt as pressed:
            if self.journal is not None:
                pressed.add_note(
                    f"The run is held, and nothing is lost: agent.resume({run.id!r}) gives it, to go on with drive()."
                )
            raise
        if result.error and self.raise_errors:
            raise result.error
        return result

    def start(self, task: Any, *, output: Any = None, session: str = "", user: str = "", paused: bool = False) -> Run:
        """Begin a run and return at once; it goes on in the background unless it is to begin `paused`. See `Result.output`.

        It goes on with the `session` of that name, and is told what is known of the `user`; see `memory`.
        """
        secrets.refresh()
        spec = sessions.prepare(self._spec(task), self, self._spelled, session, user)
        with interrupts.deferred():
            run = self.attach(answers.begin(spec, output, self._spelled.get("synthesize")))
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
        chat = settings.chat_of(task)
        if self.instructions:
            chat = Chat.of([system(self.instructions), *chat])
        source = registry.source(self.engine)
        return {
            "task": [secrets.mask_json(message_to_json(message)) for message in chat],
            "engine": self.engine_name,
            **source,
            "options": lessons.with_lessons(self.options),
            "tools": {tool.name: tool.digest for tool in self.tools.tools},
            "model": name_of(self.model),
            "dialect": self.dialect.name if self.dialect else None,
            "version": 1,
        }

    def changed(self, spec: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
        """Give what these changes change in the spec of a run. Raises `UsageError` for what was told when it began."""
        for name in TOLD & changes.keys():
            raise UsageError(
                f"a fork has the past of its run, and {name} is part of that; begin a new run to change it"
            )
        options = {name: value for name, value in lessons.with_lessons(self.options).items() if name in changes}
        changed = {"options": {**spec["options"], **options}} if options else {}
        return changed | answers.changed(changes)

    def attach(
        self,
        spec: dict[str, Any],
        *,
        parent: Run | None = None,
        gates: tuple[Gate, ...] = (),
        name: str = "",
        journal: Journal | None = None,
    ) -> Run:
        """Make the run of a spec: a new one, a fork of `parent`, or, with its `name`, one that is in a `journal`."""
        new, journal = not name, journal or self.journal
        if parent and parent.control.sealed:
            raise ReadOnly(f"{parent.control.sealed}; agent.load(run.to_json()) makes a run of its sound part")
        relative, name = parent.desk.history if parent else None, name or uuid.uuid4().hex[:12]
        around = answers.arounds(spec, (*self.arounds, *sessions.arounds(spec)))
        history = History(name, self._maker(spec), around, journal, relative)
        if self._approve:
            gates = (*gates, approval(self._needed))
        gates = (
            *budget.gates(self._budget, self.engine_name),
            *gates,
            *answers.gates(spec),
            *deadline.gates(spec["options"]),
        )
        desk = Desk(history, Host(self.model, self._performed, self.dialect, self.roles, self.settings), gates)
        if self.on_event:
            desk.listen(self.on_event)
        run = Run(self, desk, Control(desk), spec)
        run.forecast = registry.forecast(self.engine, spec["options"])
        lessons.remember_lessons(run, self.options.get("lessons"))
        sessions.follow(run, new=new, forked=parent is not None)
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
                self._begin(run, spec)
        return run

    def _begin(self, run: Run, spec: dict[str, Any]) -> None:
        try:
            run.desk.history.root(spec)
        except BaseException:
            discard(run)
            raise
        run.desk.settle()

    def _maker(self, spec: dict[str, Any]) -> Callable[[], Any]:
        task = sessions.opening(spec)
        registry.check_recorded(self.engine, spec)
        options = registry.build(self.engine, spec["options"], self.loops)
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
        if not isinstance(name, str):
            raise UsageError(f"resume takes the id of a run, as agentkit.runs() lists them, not {name!r}")
        if (old := _LIVE.get(name)) is not None and old.control.lease.held:
            if old.status == "running":
                raise Busy("this run is playing in this kernel; pause it first, or go on with that Run object")
            old.close()
        known = journal.claim(name)
        try:
            return resuming.reopen(self, journal, known, strict=strict)
        except BaseException:
            journal.release(name)
            raise

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
