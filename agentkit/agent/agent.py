"""An agent: a model, tools and an engine, from which runs are started, listed and resumed."""

from __future__ import annotations

import functools
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from agentkit.agent import approver, arounds, context, lessons, log, recorded, sessions, steering
from agentkit.agent import options as agent_options
from agentkit.agent.options import Options
from agentkit.around.base import Around
from agentkit.audit import Audit
from agentkit.core import interrupts, secrets
from agentkit.core.checked_arguments import checked_names
from agentkit.core.display import Displayed
from agentkit.core.messages import Chat, Reply, message_from_json, message_to_json, system
from agentkit.core.near_misses import NearMisses
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Loop
from agentkit.core.text import error_line
from agentkit.engines import registry
from agentkit.errors import AgentkitError, Busy, JournalDamaged, ReadOnly, Unknown, UsageError
from agentkit.gates import permission_file
from agentkit.gates.approval import approval, rejection
from agentkit.gates.asked_by_hook import asked_by_hook
from agentkit.gates.base import question
from agentkit.gates.budget import BudgetGate
from agentkit.gates.call_limit import CallLimit
from agentkit.gates.effects import repeated
from agentkit.gates.guards import Approval, Guards
from agentkit.gates.state import State
from agentkit.hooks.judge import judging
from agentkit.inert import inert
from agentkit.journal import check, open_journal
from agentkit.journal.entries import (
    NO_TAGS,
    NOT_BEGUN,
    TRIAL,
    Entry,
    Journal,
    Note,
    Row,
    RunInfo,
    begun,
    check_name,
    checked_tags,
)
from agentkit.journal.memory import MemoryJournal
from agentkit.memory import open_memory
from agentkit.models import dialects, resolve
from agentkit.models.base import Abilities, Request
from agentkit.run import answer, wishes
from agentkit.run.followed import Followed
from agentkit.run.messages import opening
from agentkit.run.run import Missing, Result, Run
from agentkit.runtime.control import Control, check_timeout
from agentkit.runtime.performer import Performer, name_of
from agentkit.runtime.scheduler import Scheduler
from agentkit.tools import builtin
from agentkit.tools.sources import Source, is_unread, read, with_schemas
from agentkit.tools.tool import Tool
from agentkit.tools.toolset import ToolSet, parts_of
from agentkit.trace.trace import Trace

if TYPE_CHECKING:
    from agentkit.memory.store import Memory

FIXED = frozenset({"instructions", "context", "journal", *sessions.OPTIONS})
"""The options of an agent that a fork cannot change, because they are part of its past."""

_ATTRIBUTES = {
    **dict.fromkeys(("invoke", "ask", "chat", "execute", "call", "query", "complete_chat"), "agent.run(task)"),
    **dict.fromkeys(("stream", "astream", "ainvoke", "arun", "run_async", "begin", "step"), "run = agent.start(task)"),
    **dict.fromkeys(("runs", "history", "list_runs"), "agentkit.runs()"),
    **dict.fromkeys(("messages", "trace", "entries"), "result.run, where result = agent.run(task)"),
    **dict.fromkeys(("open", "continue_"), "agent.resume(id) or agent.look(id)"),
    **dict.fromkeys(("copy", "clone", "replace", "with_options"), "agent.using(…)"),
    **dict.fromkeys(("add_tool", "register", "bind_tools"), "agent.using(tools=…)"),
}
"""What to write instead of attributes that an agent does not have."""

_LIVE: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
"""The runs of this process, by id: when a run is resumed again, the new object replaces the old one."""


class Agent(NearMisses, Displayed):
    """A model, tools and an engine.

    `model` is a name ("offline", "openai:gpt-5"), a model, or any function of a request; None chooses one. `tools` are
    functions, `Tool`s, toolboxes, tool sources and names of built-in toolboxes ("math", "units", "clock", "facts", and
    "files" and "web", which read what is below the working folder and public pages).
    `engine` is a name, a generator function, or either of them with its own options:
    `engine=Loop("reflexion", max_reflections=2, actor="plan_and_execute")`, or the same as data:
    `engine={"engine": "react", "max_iterations": 5}`. The options of the agent are those of
    `agentkit.agent.options.Options`.

    Raises `Unknown` for an option, engine or dialect that does not exist, `OptionError` for a value out of range.
    """

    def __init__(
        self, model: Any = None, tools: Any = (), *, engine: Any = "react", **options: Unpack[Options]
    ) -> None:
        configured = registry.configure(engine)
        self.engine, self.engine_name = configured.engine, configured.path
        self.engine_options, self.given_loops = configured.options, configured.given
        agent_options.check(options, self.engine)
        self.options: Options = options
        self._arguments = {"model": model, "tools": tools, "engine": engine, **options}
        self._spelled = dict(self._arguments)
        self.named_model = None if model is None else resolve.find(model)
        listed = list(tools) if isinstance(tools, list | tuple | set | frozenset) else [tools]
        listed = [builtin.box(tool) if isinstance(tool, str) else tool for tool in listed]
        self.dialect = dialects.get(options["dialect"]) if options.get("dialect") else None  # type: ignore[arg-type]
        for role in options.get("roles") or {}:
            registry.check_role(role, self.engine_name)
        self.roles = {role: resolve.find(other) for role, other in (options.get("roles") or {}).items()}
        self._journal: Any = options.get("journal", "sqlite")
        self._opened: Journal | None = None
        self._unprepared: Agent | None = None
        self.guards = Guards.of(options)
        self._use(list(parts_of(listed)))

    def _use(self, parts: list[Tool | Source]) -> None:
        """Use these tools; a source whose schemas have not been read has none yet, so that no name is checked."""
        self.given_tools, options = parts, self.options
        self._arguments["tools"] = parts
        known: list[Tool | Source] = [part for part in parts if not is_unread(part)]
        is_complete = len(known) == len(parts)
        self.tools = arounds.offered_tools(ToolSet.of(known), options, known)
        self.arounds = arounds.stack(self.tools, options, is_complete=is_complete)
        asked = Approval(tools=frozenset(tool.name for tool in self.tools if tool.approve))
        self.guards = replace(self.guards, approve=self.guards.approve.tightened_by(asked))
        self._performed = arounds.performed_tools(self.tools, options)
        for option, names in (("tool to approve", self.guards.approve.tools), ("tool to repeat", self.guards.repeat)):
            for name in filter(None, names if is_complete else ()):
                if self.tools.find(name) is None:  # a mistyped name would never match a call
                    raise Unknown(option, name, [tool.name for tool in self.tools.tools])
        if is_complete:
            self.guards.permissions.check(self.tools)

    def prepared(self, recorded: list[Any] | None = None, *, timeout: float | None = None) -> Agent:
        """Return an agent like this one with the tools that its sources have now, or had by the `recorded` schemas.

        With recorded schemas, no source is asked. Raises `UsageError` if a source fails or takes too long.
        """
        if not any(map(is_unread, self.given_tools)):
            return self
        schemas = None if recorded is None else iter(recorded)
        parts = list[Tool | Source]()
        for part in self.given_tools:
            if isinstance(part, Source) and part.tools is None:
                part = read(part, timeout) if schemas is None else with_schemas(part, next(schemas, []))
            parts.append(part)
        agent = object.__new__(type(self))
        vars(agent).update(vars(self))
        agent._arguments, agent._unprepared = dict(self._arguments), self
        agent._use(parts)
        return agent

    # -- as the model of another agent ---------------------------------------------------------------------------------

    abilities = Abilities()
    limits_itself = True
    meant_by = _ATTRIBUTES

    @property
    def name(self) -> str:
        """The name of this agent where it is the model of another one: its engine and its model."""
        return f"{self.engine_name.rpartition(':')[2]} ({name_of(self.model)})"

    def __call__(self, request: Request) -> Reply:
        """Run the messages of a request, as the model of another agent, and return the answer.

        The run is recorded in this agent's journal. Its tools are its own; those of the other agent are described to it
        in the messages. Raises what its model raised.
        """
        result = self.run([dict(message) for message in request.messages])
        if result.error:
            raise result.error
        return Reply(result.answer, usage=replace(result.usage, calls=max(0, result.usage.calls - 1)))

    @functools.cached_property
    def model(self) -> Any:
        """The model; if none was named, one is chosen when it is first needed."""
        return resolve.find(self.named_model)

    @property
    def journal(self) -> Journal | None:
        """The journal in which runs are recorded; it is opened when it is first needed."""
        if self._opened is None or getattr(self._opened, "closed", False):
            self._opened = open_journal(self._journal)
        return self._opened

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the arguments that the agent was made with, and with its journal, which may not be in memory.

        A model travels without its key: the process that unpacks the agent looks it up under its name.
        """
        if isinstance(self.journal, MemoryJournal):
            raise UsageError(
                "an agent whose journal is in memory cannot be sent to another process, which would record its runs "
                'in a memory of its own; use the default journal, a path, or journal="postgresql://…"'
            )
        return _unpacked, ({**self._spelled, "journal": self.journal},)

    @property
    def memory(self) -> Memory:
        """The memory across runs: turns of sessions, facts about users, lessons.

        It is in a file beside the journal, or is that of the journal, if a team shares one.
        """
        return open_memory(self.journal or self._unprepared or self)

    def using(self, **changes: Any) -> Agent:
        """Return an agent like this one with some arguments of `Agent(...)` changed.

        `engine` may be a dict of options without an engine: then the same engine gets these options.
        """
        engine = changes.get("engine")
        if isinstance(engine, Mapping) and "engine" not in engine:
            registry.check(self.engine, engine)
            changes["engine"] = Loop(self.engine, **self._own_loops({**self.engine_options, **engine}))
        agent = Agent(**{**self._arguments, "journal": self._journal, **changes})
        agent._spelled = {**self._spelled, **changes}
        if "journal" not in changes:
            agent._opened = self._opened
        return agent

    def _own_loops(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options with the nested engines that were passed as functions."""
        nested = registry.loops(self.engine) & options.keys()
        built = registry.build(self.engine, {name: options[name] for name in nested}, self.given_loops)
        return {**options, **built}

    # -- running -------------------------------------------------------------------------------------------------------

    @checked_names
    def run(
        self,
        task: Any,
        *,
        output: Any = None,
        session: str = "",
        user: str = "",
        timeout: float | None = None,
        name: str = "",
        tags: Mapping[str, str] = NO_TAGS,
    ) -> Result:
        """Run a task to its end and return the result; `name` and `tags` are those of `start`.

        It never waits for a person: `approver` decides about a call that needs approval; without one, the call is not
        made, and `Result.denied` and a warning in the log say so. If a model fails, the `Result` has an `.error` (with
        `raise_errors=True` it is raised), and its run can be tried again. After `timeout` seconds the run is stopped,
        even if a model, a tool or the approver is still running: it is abandoned, and its result is not used.
        """
        check_timeout(timeout)
        begun = time.monotonic()
        run = self._start(task, output, session, user, timeout, name=name, tags=tags)
        return self.complete(run, None if timeout is None else max(0.0, timeout - (time.monotonic() - begun)))

    def complete(self, run: Run, timeout: float | None = None) -> Result:
        """Drive a run to its end as `run` does, without ever waiting for a person, and return the result."""
        check_timeout(timeout)
        end = None if timeout is None else time.monotonic() + timeout
        for gate in run.state.all_gates:
            if isinstance(gate, BudgetGate):
                gate.ask = False
        try:
            result = run.drive(_left(end))
            while result.reason != "timeout" and run.waiting:
                try:
                    approver.decide(run, self.options.get("approver"), end)
                    result = run.drive(_left(end))
                except approver.OutOfTime:
                    result = run.stop("timeout").result
        except KeyboardInterrupt as pressed:
            if self.journal is not None:
                pressed.add_note(
                    f"Nothing is lost: agent.resume({run.id!r}) returns the run, and drive() continues it."
                )
            raise
        if result.error and self.options.get("raise_errors"):
            raise result.error
        return result

    @checked_names
    def start(
        self,
        task: Any,
        *,
        output: Any = None,
        session: str = "",
        user: str = "",
        paused: bool = False,
        name: str = "",
        tags: Mapping[str, str] = NO_TAGS,
    ) -> Run:
        """Start a run and return it at once; it continues in the background, unless it is started `paused`.

        `name` is the id of the run. If the journal has a run of this name, started with the same task, engine, model,
        tools and options, that run goes on where it was; a run that is over is returned as it is. `tags` are texts by
        name, by which `agentkit.runs(tags=…)` finds the run. Raises `UsageError` if the run of this name was started
        with something else, `JournalInUse` if another process has it open.

        `output` is the type of the answer, see `Result.output`. The run continues the `session` of that name, and is
        told what is known about the `user`; see `memory`. If the last run of the session had the same task and its
        process ended before it did, that run goes on where it was. Sources of tools are asked for their schemas, and
        `UsageError` is raised if that fails.
        """
        run = self._start(task, output, session, user, name=name, tags=tags)
        if not paused:
            run.play()
        return run

    def _start(
        self,
        task: Any,
        output: Any,
        session: str,
        user: str,
        timeout: float | None = None,
        *,
        name: str,
        tags: Mapping[str, str],
    ) -> Run:
        """Return a new run, paused, or the run of this name; `timeout` is how long a source of tools may take."""
        if name:
            check_name(name)
        tags = checked_tags(tags)
        secrets.refresh()
        agent = self.prepared(timeout=timeout)
        guards = agent.guards_of_person()
        spec = sessions.prepare(agent._spec(task, guards), agent, session, user)
        with interrupts.deferred():
            run = self._unfinished(spec) if output is None and not name else None
            spec = answer.begin(spec, output, self.options.get("synthesize"))
            if name:
                run = self._named(name, spec)
            return run or agent.attach(spec, guards=guards, new_name=name, tags=tags)

    def _named(self, name: str, spec: dict[str, Any]) -> Run | None:
        """Return the run of this name, if the journal has one. Raises `UsageError` if it was started differently."""
        journal = self.journal
        if journal is None or begun(journal, name) is None:
            return None
        if difference := recorded.started_differently(recorded.first_spec(journal.rows(name), name), spec):
            raise UsageError(
                f"there is already a run {name!r}, with {difference}; choose another name, or delete it: "
                f"agentkit delete {name}"
            )
        return self.resume(name)

    def guards_of_person(self) -> Guards:
        """Return the guards of this agent, and the permissions in the settings file of the person.

        Raises `UsageError` if there is a mistake in the file.
        """
        table = permission_file.read()
        return replace(self.guards, permissions=self.guards.permissions.with_table(table))

    def _unfinished(self, spec: dict[str, Any]) -> Run | None:
        """Return the last run of a session, if it had the same task and its process ended before it did; else None."""
        name = sessions.unfinished(self, spec)
        if not name or ((live := _LIVE.get(name)) is not None and live.control.lease.held):
            return None
        try:
            run = self.resume(name)
        except AgentkitError:  # another process has it open, or it cannot be read
            return None
        if run.status in ("readonly", "done"):
            run.close()
            return None
        return run

    # -- making runs ---------------------------------------------------------------------------------------------------

    def _spec(self, task: Any, guards: Guards) -> dict[str, Any]:
        """Return all that is needed to start the run again in another kernel, as JSON data."""
        try:
            chat = Chat.of(task)
        except (TypeError, AttributeError) as error:
            raise UsageError(
                f"a task must be a str, a message, a chat, or a list of messages, not {task!r:.200}"
            ) from error
        if not any(message.text.strip() for message in chat):
            raise UsageError("the task is empty; say what the agent should do")
        files = context.read(self.options.get("context"))
        told = [file.message for file in files]
        if instructions := self.options.get("instructions"):
            told.insert(0, system(instructions))
        chat = Chat.of([*told, *chat])
        begins_with_system = chat[0].role == "system"
        return {
            "task": [secrets.mask_json(message_to_json(message)) for message in chat],
            **({"told": len(told)} if begins_with_system else {}),
            **({"context": [file.record for file in files]} if files else {}),
            "engine": self.engine_name,
            **registry.source(self.engine),
            "options": lessons.with_lessons(self.engine_options),
            **self._tools_spec(),
            "model": name_of(self.model),
            "dialect": self.dialect.name if self.dialect else None,
            **({"guards": recorded_guards} if (recorded_guards := guards.to_json()) else {}),
            **recorded.about(self),
            "version": 1,
        }

    def spec_like(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the spec of a run of this agent that is given what a recorded run was given.

        That is its task, without what its agent was told by its own instructions, the turns of its session, its
        lessons from a store, and the type of its answer. Nothing is looked up in a memory. Raises `UsageError`.
        """
        told, task = answer.without_request(spec)
        again = self._spec(Chat.of(map(message_from_json, task[told:])), self.guards)
        if lessons.has_store(self.engine_options):
            again["options"]["lessons"] = spec["options"].get("lessons", [])
        again |= {name: spec[name] for name in ("session", "history", "temperature") if name in spec}
        again["dialect"] = again["dialect"] or spec.get("dialect")
        if "output" in spec:
            return answer.with_request(again, spec["output"])
        return answer.begin(again, None, self.options.get("synthesize"))

    def _tools_spec(self) -> dict[str, Any]:
        """Return what a run records about its tools: their digests, and the schemas that its sources had."""
        tools = {tool.name: tool.digest for tool in self.tools.tools}
        sources = [
            [{**mask_json(tool.schema), "effect": tool.effect} for tool in part.tools or ()]
            for part in self.given_tools
            if type(part) is Source
        ]
        return {"tools": tools, **({"sources": sources} if sources else {})}

    def changed(self, spec: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of a run's spec that changes affect. Raises `UsageError` if a fork cannot make a change."""
        for name in FIXED & changes.keys():
            raise UsageError(
                f"a fork cannot change {name}, which is part of the past that it shares; start a new run to change it"
            )
        changed = answer.changed(changes)
        if "engine" in changes:
            if isinstance(changes["engine"], Mapping) and "engine" not in changes["engine"]:
                own = {name: self.engine_options[name] for name in changes["engine"]}
                options = {**spec["options"], **lessons.with_lessons(own)}
            else:
                options = lessons.with_lessons(self.engine_options)
            changed |= {"options": options, "engine": self.engine_name, **registry.source(self.engine)}
        if "model" in changes:
            changed["model"] = name_of(self.model)
        if "dialect" in changes:
            changed["dialect"] = self.dialect.name if self.dialect else None
        if "tools" in changes or "discover" in changes:
            changed |= self._tools_spec()
        return changed | (recorded.about(self) if changes.keys() & {*recorded.OPTIONS, "engine"} else {})

    def attach(
        self,
        spec: dict[str, Any],
        *,
        parent: Run | None = None,
        guards: Guards | None = None,
        name: str = "",
        new_name: str = "",
        tags: Mapping[str, str] = NO_TAGS,
        journal: Journal | None = None,
        is_copy: bool = False,
    ) -> Run:
        """Return a run for a spec: a new run (named `new_name`), a fork of `parent`, or the run `name` of a `journal`.

        A copy of a run that may be held elsewhere has no listeners, and does not replace that run.
        """
        is_new, journal = not name, journal or self.journal
        if parent and parent.control.sealed:
            raise ReadOnly(f"this run is read-only: {parent.control.sealed}")
        name = name or new_name or uuid.uuid4().hex[:12]
        around = answer.arounds(spec, (*_judges(spec), *self.arounds, *sessions.arounds(spec)))
        trace = Trace(name, self._maker(spec), around, journal, parent.trace.tree if parent else None)
        guards = (guards or self.guards).copy()
        budget = BudgetGate(guards.budget)
        limit = CallLimit(self.options.get("max_tool_calls"))
        gates = (question, limit, rejection, repeated, budget, asked_by_hook, approval, *answer.gates(spec))
        state = State(trace, self._performed, gates, self.options.get("settings") or {}, guards)
        dialect = dialects.get(spec["dialect"]) if spec.get("dialect") else None
        performer = Performer(self.model, self._performed, dialect, self.roles, self.options.get("settings"))
        performer.temperature = spec.get("temperature")
        performer.output = answer.shape(spec)
        scheduler = Scheduler(trace, state, performer, budget)
        run = Run(self, spec, Control(scheduler, state), tree_id=parent.tree_id if parent else name)
        run.expected = registry.forecast(self.engine, spec["options"])
        if is_copy:
            return run
        if parent is not None:
            trace.traced = parent.trace.traced
        self._follow(run, is_new=is_new, is_fork=parent is not None, is_trial=TRIAL in tags)
        if is_new and journal is not None:
            journal.create(replace(run.info(parent.id if parent else ""), tags=dict(tags)))
        if journal is not None:
            weakref.finalize(run, run.control.lease.drop).atexit = False
            _LIVE[run.id] = run
        if is_new:
            if parent is None:
                self._begin(run, spec)
            state.rest(time.time())
            wishes.obey(run, journal)
        return run

    def _follow(self, run: Run, *, is_new: bool, is_fork: bool, is_trial: bool) -> None:
        """Let the options that follow a run do so: the audit log, what surrounds it, its session, and listeners.

        A trial is no part of a session, teaches nothing, and is not steered.
        """
        options, scheduler, spec = self.options, run.control.scheduler, run.task
        if (audit := Audit.of(options.get("audit"))) is not None:
            run.state.audit = audit
            how = "resumed" if not is_new else "forked" if is_fork else "started"
            permissions = run.state.guards.permissions.text
            audit.write(how, run.id, model=name_of(self.model), engine=spec["engine"], permissions=permissions)
        for surround in options.get("within") or ():
            scheduler.within.add(*surround(scheduler, spec))
        if on_event := options.get("on_event"):
            run.on_event(on_event)
        if not is_trial:
            lessons.remember_lessons(run, self.engine_options.get("lessons"))
            sessions.follow(run, is_new=is_new, is_fork=is_fork)
            if (queue := options.get("steering")) is not None:
                steering.follow(run, queue)
        if on_step := options.get("on_step"):
            log.on_step(run, on_step)
        if log.is_on():
            log.attach(run)

    def _begin(self, run: Run, spec: dict[str, Any]) -> None:
        try:
            run.trace.start(spec, time.time())
        except BaseException:
            run.discard()
            raise
        run.control.scheduler.settle()

    def _maker(self, spec: dict[str, Any]) -> Callable[[Chat | None], Any]:
        """Return a function that starts the engine, on the task of a run or on another chat."""
        task = opening(spec)
        registry.check_recorded(self.engine, spec)
        options = registry.build(self.engine, spec["options"], self.given_loops)
        if "tools" in registry.parameters(self.engine):
            options["tools"] = self.tools.tools
        return lambda chat: self.engine(task if chat is None else chat, **options)

    # -- opening runs --------------------------------------------------------------------------------------------------

    @checked_names
    def resume(self, name: str | Run | RunInfo, *, strict: bool = False, waive: Iterable[str] = ()) -> Run:
        """Open a run of the journal at the position where its kernel ended, paused.

        It continues with the recorded engine and options; with the recorded model, dialect and other options unless
        this agent was created with others. The run keeps its guards (approvals, budget, breakpoints …), and those of
        this agent are added; `run.guard` changes them. If something is missing, or the journal is damaged, the run is
        read-only, and `run.read_only` says why and what to do; `waive=["approve"]` (or "breakpoints") does without
        functions that guarded the run.

        Raises `Unknown`, `JournalInUse` if another process has the run open (`look` and `fork` do not need it), and
        with `strict` `Diverged` if the engine now asks for something else.
        """
        journal, name = self._journal_and_id("resume", name)
        if (old := _LIVE.get(name)) is not None and old.control.lease.held:
            if old.status == "running":
                raise Busy("this run is playing in this kernel; pause it first, or use that Run object")
            old.close()
        known = journal.claim(name)
        try:
            rows, damage = _sound_rows(journal, name)
            kept = MemoryJournal.of([known], rows) if damage else journal
            run = self._open(known, rows, kept, strict=strict, waive=waive)
            if damage:
                run.control.sealed = _damaged(damage)
                journal.release(name)
            return run
        except BaseException:
            journal.release(name)
            raise

    @checked_names
    def look(self, name: str | Run | RunInfo) -> Run:
        """Open a run of the journal read-only, as it is now.

        Nothing is written and no lock is needed, so another process may be driving the run. A view of it follows that
        process, and so does `run.followed.catch_up()`; `run.pause()`, `run.stop()` and `run.inject(text)` ask the
        process that holds the run. Raises `Unknown`.
        """
        run = self._read("look", name)
        how = f"agent.resume({run.id!r}) continues it, and agent.fork({run.id!r}) makes a run of its own from it"
        run.control.sealed = run.control.sealed or f"it was opened to look at; {how}"
        return run

    def fork(
        self, name: str | Run | RunInfo, at: int | None = None, *, waive: Iterable[str] = (), **changes: Any
    ) -> Run:
        """Return a new run with the past of a recorded one, which another process may be driving; see `Run.fork`.

        Raises `UsageError` if something is missing that the changes do not bring; `waive` is that of `resume`.
        """
        source = self._read("fork", name, waive)
        if missing := [part for part in source.missing if part.option not in changes]:
            options = ", ".join(f"{option}=…" for option in dict.fromkeys(part.option for part in missing))
            raise UsageError(
                f"run {source.id} cannot be forked here without {', '.join(map(str, missing))}: pass {options}"
            )
        return source.fork(at, **changes)

    def _journal_and_id(self, verb: str, name: str | Run | RunInfo) -> tuple[Journal, str]:
        """Return the journal, and the id of a run in it."""
        journal = self._opened or open_journal(self._journal, read_only=True) if verb == "look" else self.journal
        if journal is None:
            raise UsageError(f"an agent with journal=None cannot {verb} a run; create the agent with a journal")
        name = name.id if isinstance(name, Run) else name.run if isinstance(name, RunInfo) else name
        if not isinstance(name, str):
            raise UsageError(f"{verb} takes the id of a run, as listed by agentkit.runs(), not {name!r}")
        return journal, name

    def _read(self, verb: str, name: str | Run | RunInfo, waive: Iterable[str] = ()) -> Run:
        """Read a run without claiming it, into a journal in memory."""
        journal, name = self._journal_and_id(verb, name)
        lost = journal.lost(name)
        rows, damage = _sound_rows(journal, name)
        listed = journal.runs()
        known = next(info for info in listed if info.run == name)
        copy = MemoryJournal.of([known, *(info for info in listed if info.tree == known.tree)], rows)
        run = self._open(known, rows, copy, waive=waive, verb=verb)
        run.state.hold = lost or run.state.hold
        if damage:
            run.control.sealed = _damaged(damage)
        elif verb == "look":
            after = rows[-1].id
            run.followed = Followed(run, known, journal, after, self._renewal(run, copy), lambda: self.journal)
        return run

    def _renewal(self, run: Run, copy: MemoryJournal) -> Callable[[list[Row], list[RunInfo]], None]:
        """Return a function that lets a run that is looked at continue with new rows, and lines of the list of runs."""
        held, checker, unchecked = weakref.ref(run), check.Checker(), copy.rows(run.id)

        def renew(new: list[Row], infos: list[RunInfo]) -> None:
            if (run := held()) is None:
                return
            problem = check.sound([*unchecked, *new], checker)[1]
            unchecked.clear()
            if problem:
                raise JournalDamaged(f"run {run.id} is damaged: {problem}")
            copy.extend([info for info in infos if info.tree == run.tree_id], new)
            rows = copy.rows(run.id)
            try:
                run.control.renew(lambda: self._bring_back(run, rows, strict=False, new=new))
            except Exception as error:  # rows that fit one by one, but not together
                raise JournalDamaged(f"run {run.id} cannot be followed: {mask(error_line(error))}") from error

        return renew

    def _open(
        self,
        known: RunInfo,
        rows: list[Row],
        journal: Journal,
        *,
        strict: bool = False,
        waive: Iterable[str] = (),
        verb: str = "resume",
    ) -> Run:
        """Open a run at the end of its rows, for the verb "resume", "look" or "fork".

        Raises `JournalDamaged`, `Diverged`.
        """
        if known.status == NOT_BEGUN:
            raise UsageError(f"run {known.run} has not begun: nothing is recorded of it; start it again, or delete it")
        spec = recorded.spec_of(rows, known.run)
        if spec is None:
            why = _loss(rows) or "its first entry cannot be read"
            raise JournalDamaged(f"run {known.run} cannot be opened without its first entry: {why}")
        to_look, is_copy = verb == "look", verb != "resume"
        agent, restored = self._recorded(spec, rows, to_look=to_look)
        before = Guards.recorded(spec.get("guards", {}), rows, known.run)
        own = self.guards if to_look else self.guards_of_person()  # a mistake in the settings must not stop a look
        guards = before.without(waive).tightened_by(own)
        given = {} if restored.missing or to_look else recorded.difference(spec, agent.spec_part(spec))
        run = agent.attach(
            {**spec, **given}, guards=guards, name=known.run, tags=known.tags, journal=journal, is_copy=is_copy
        )
        run.tree_id, run.saved_status = known.tree, known.status
        if to_look:
            dialect = recorded.last_dialect(spec, rows, known.run)
            run.performer.dialect = dialects.get(dialect) if dialect else None
        else:
            run.missing = (*restored.missing, *(Missing(option, text) for option, text in guards.missing))
            run.state.unrecorded = guards.differences(before)
            run.trace.opened_with = {**given, "author": "human"} if given else {}
        self._bring_back(run, rows, strict=strict)
        if not is_copy:
            wishes.obey(run, journal)  # only now: before, a message would be lost among the rows that are read
        return run

    def _recorded(self, spec: dict[str, Any], rows: list[Row], *, to_look: bool) -> tuple[Agent, recorded.Restored]:
        """Return the agent that continues a recorded run: this one, or one with what was recorded."""
        is_recorded = "sources" in spec or to_look or spec["tools"].keys() <= set(self.tools.names)
        opener = self.prepared(spec.get("sources", []) if is_recorded else None)
        restored = recorded.restore(opener, spec, rows, to_look=to_look)
        try:
            agent = opener.using(**restored.changes) if restored.changes else opener
        except (AgentkitError, ValueError) as error:  # options that are valid one by one, but not together
            restored.missing.append(Missing("", f"the recorded options ({error})"))
            kept = {name: value for name, value in restored.changes.items() if name in ("model", "tools")}
            agent = opener.using(**kept, engine=Loop(recorded.absent))
        if agent.engine is recorded.absent:
            agent.engine_name = spec["engine"]
        return agent, restored

    def spec_part(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Return what a run of a recorded spec records about this agent now."""
        dialect = self.dialect.name if self.dialect else spec.get("dialect")
        return {"model": name_of(self.model), "dialect": dialect, **recorded.about(self)}

    def _bring_back(self, run: Run, rows: list[Row], *, strict: bool, new: list[Row] | None = None) -> None:
        """Replay a run up to the end of its rows; of a run that was brought back before, only some rows are `new`."""
        trace = run.trace
        if new is not None:
            trace.reload(rows)
        else:
            trace.load(rows)
            try:
                trace.rebuild(strict=strict)
            except BaseException:
                run.control.lease.drop()
                raise
        if lost := _loss(rows):
            run.state.hold = lost
        run.control.scheduler.restore(rows)
        run.control.scheduler.listeners.restore(rows if new is None else new)
        run.control.scheduler.count()
        times = (row.ended if isinstance(row, Entry) else row.at for row in rows if row.run == run.id)
        run.state.rest(max(times, default=0.0), "away")
        for gate in run.state.all_gates:
            if isinstance(gate, BudgetGate):
                gate.restore(rows, run.id)
        run.tell_difference()
        if run.status in ("done", "readonly") and not trace.unsaved.waiting:
            run.control.lease.drop()

    def load(self, recording: Any) -> Run:
        """Open an exported run with edits and branches, and with this agent's model and tools.

        `recording` is the data of `run.to_json()`, a file with it, or an exported notebook (a path or its data).

        Raises `UsageError`, which says what is missing or damaged.
        """
        from agentkit import export

        journal = self.journal
        if journal is None:
            raise UsageError("an agent with journal=None cannot load a run; create the agent with a journal")
        return self.resume(export.adopt(export.data_of(recording), journal))

    def __next__(self) -> Any:
        raise UsageError("an agent has no steps; its runs have: run = agent.start(task, paused=True), then next(run)")

    @inert
    def __repr__(self) -> str:
        tools = ", ".join(self._tool_names())
        engine = Loop(self.engine_name.rpartition(":")[2], **self.engine_options)
        written = repr(engine) if self.engine_options else repr(engine.engine)
        return f"Agent(model={name_of(self.model)!r}, engine={written}, tools=[{tools}])"

    def _tool_names(self) -> list[str]:
        unread = [part for part in self.given_tools if isinstance(part, Source) and part.tools is None]
        return [*self.tools.names, *(f"source({name_of(part.get_tool_schemas)})" for part in unread)]

    def _repr_html_(self) -> str:
        from agentkit.export import html

        return html.table("Agent", self._about())

    def _repr_markdown_(self) -> str:
        from agentkit.export import markdown

        return markdown.table("Agent", self._about())

    def _about(self) -> list[list[str]]:
        about = [["model", name_of(self.model)], ["engine", self.engine_name.rpartition(":")[2]]]
        about += [[name, mask(repr(value))] for name, value in {**self.engine_options, **self.options}.items()]
        return about + [[f"tool {tool.name}", tool.description.partition("\n")[0]] for tool in self.tools.tools]


Agent.__init__.__signature__ = agent_options.signature(Agent.__init__)  # type: ignore[attr-defined]


def _unpacked(arguments: dict[str, Any]) -> Agent:
    """Return an agent that has travelled from another process."""
    return Agent(**arguments)


def _judges(spec: dict[str, Any]) -> tuple[Around, ...]:
    """Return the arounds of the guardrails that a model judges, as the run was started with them."""
    if not spec.get("guards", {}).get("guardrails"):
        return ()
    return judging(Guards.from_json(spec["guards"]).guardrails, Chat.of(map(message_from_json, spec["task"])))


def _left(end: float | None) -> float | None:
    """Return the seconds until `end` by the monotonic clock, at least 0; None if there is no end."""
    return None if end is None else max(0.0, end - time.monotonic())


def _sound_rows(journal: Journal, run: str) -> tuple[list[Row], str]:
    """Return the rows of a run that are intact, and what is damaged, or ""."""
    try:
        rows, damage = journal.rows(run), ""
    except JournalDamaged as damaged:
        rows, damage = damaged.sound, str(damaged)
    if not journal.durable:
        return rows, damage
    sound, problem = check.sound(rows)
    return sound, problem or damage


def _loss(rows: list[Row]) -> str:
    """Return what the journal said about missing rows when the run was claimed just now, or ""."""
    latest = rows[-1] if rows else None
    return str(latest.data["text"]) if isinstance(latest, Note) and latest.kind == "lost" else ""


def _damaged(damage: str) -> str:
    return f"its journal is damaged ({damage}); agent.load(run.to_json()) opens a copy of its intact part"


def live(name: str) -> Run | None:
    """Return the run of this process that has an id and a journal, or None if there is none."""
    return _LIVE.get(name)


@checked_names
def runs(journal: Any = "sqlite", *, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[Any]:
    """Return all recorded runs, newest first, or those whose names begin with `prefix` and that have these `tags`.

    Trials, which `run.resample(until="end")` makes by the dozen, are only among them if you ask for a prefix or tags.
    """
    opened = open_journal(journal, read_only=True)
    found = opened.runs(prefix, checked_tags(tags)) if opened else []
    return found if prefix or tags else [info for info in found if not info.is_trial]
