# mypy: disable-error-code="no-untyped-call"
"""The runs of a shell: which one a command acts on, how a new one is made, and how to wait for one."""

from __future__ import annotations

import argparse
import os
import time
import weakref
from collections import ChainMap
from typing import Any

from IPython.core.error import UsageError

from agentkit import errors
from agentkit.agent.agent import Agent, runs
from agentkit.core.steps import Loop
from agentkit.engines import registry
from agentkit.errors import JournalDamaged, Unknown
from agentkit.journal import open_journal
from agentkit.journal.entries import Entry, RunInfo
from agentkit.models.base import name_of
from agentkit.notebook import display, namespace, shell
from agentkit.run.run import Run

VARIABLE = "agent_run"
"""The variable that always holds the current run."""

PAUSE_TIMEOUT = 2.0
"""Seconds that an interrupted cell waits for its run to pause before it shows the run."""


class Session:
    """The runs of one shell.

    `settings` is the `AgentMagics` with its traits; `current` is the last run started or opened.
    """

    def __init__(self, shell: Any, settings: Any) -> None:
        self.shell = shell
        self.settings = settings
        self.current: Run | None = None
        self.live: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
        self.local: dict[str, Any] = {}

    @property
    def names(self) -> ChainMap[str, Any]:
        """The variables that the running cell can use."""
        return ChainMap(self.local, self.shell.user_ns)

    @property
    def waits(self) -> bool:
        """Whether cells wait for their runs even without `--wait`: because of `%config`, or because nobody watches."""
        return self.settings.wait or os.environ.get("AGENTKIT_NONINTERACTIVE", "0") not in ("", "0")

    # -- finding runs ------------------------------------------------------------------------------------------------

    def find(self, name: str | None) -> Run:
        """Return the run of a variable, or with an id that begins with `name`; without a name, the current run.

        A recorded run that is not open here is opened to look at.
        """
        if name is None:
            if self.current is None:
                raise UsageError("there is no run yet: %agent TASK starts one, %agent resume ID opens a recorded one")
            return self.current
        value = self.names.get(name)
        if isinstance(value, Run):
            return value
        matches = [run for id, run in self.live.items() if id.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(name, [run.id for run in matches])
        if runs(self.settings.journal, prefix=name):
            info = self.find_recorded(name)
            return self.opener(info).look(info)
        raise Unknown("run", name, [key for key, value in self.names.items() if isinstance(value, Run)])

    def adopt(self, run: Run, variable: str | None = None) -> Run:
        """Make a run the current one, and assign it to its variables."""
        self.live[run.id] = self.current = run
        self.shell.user_ns[VARIABLE] = run
        if variable:
            self.shell.user_ns[variable] = run
        return run

    def find_recorded(self, prefix: str) -> RunInfo:
        """Return the recorded run whose id begins with `prefix`."""
        matches = runs(self.settings.journal, prefix=prefix)
        if not matches:
            raise UsageError(f"there is no recorded run whose id begins with {prefix!r}; %agent runs lists them")
        if len(matches) > 1:
            raise _ambiguous(prefix, [info.run for info in matches])
        return matches[0]

    # -- making runs -------------------------------------------------------------------------------------------------

    def start(self, args: argparse.Namespace, task: str) -> Run:
        """Start a run on a task."""
        variable = namespace.check_variable(args.output) if args.output else None
        run = self.adopt(self._agent(args).start(task, paused=True), variable)
        return run if args.pause else self.play(run, args.wait)

    def play(self, run: Run, wait: bool) -> Run:
        """Let a run continue, and show it meanwhile; or wait for it, and show it once."""
        if not (wait or self.waits):
            display.follow(run, self.shell)
            return run.play()
        run.play()
        try:
            result = run.wait()
        except KeyboardInterrupt:  # the run pauses as soon as the step in progress has ended
            end = time.monotonic() + PAUSE_TIMEOUT
            while run.status == "running" and time.monotonic() < end:
                time.sleep(0.02)
            shell.show(run, self.shell)
            raise
        if result.error:
            shell.show(run, self.shell)
            raise UsageError(f"{type(result.error).__name__}: {result.error}; nothing is lost: %agent play tries again")
        if shell.in_notebook(self.shell):
            shell.show(run, self.shell)
            shell.hide_at_end_of_cell(run, self.shell)
        return run

    def notify(self, text: str) -> None:
        """Show a notice besides what the command returns."""
        from IPython.display import display as show

        show(display.Notice(text))

    def _agent(self, args: argparse.Namespace) -> Agent:
        settings = self.settings
        engine = self._with_limit(namespace.engine_of(args.engine or settings.engine, self.names), args.iterations)
        tools = namespace.tools_of(settings.tools if args.tools is None else args.tools, self.names)
        model = namespace.model_of(args.model or settings.model, self.names)
        return Agent(model, tools, engine=engine, journal=settings.journal)

    def _with_limit(self, engine: Any, iterations: int | None) -> Any:
        """Return an engine with the limit of the command; else with the configured one, if the engine has a loop."""
        loop = engine if isinstance(engine, Loop) else Loop(engine)
        try:
            name = registry.loop_limit(registry.find(loop.engine)[0])
        except errors.UsageError:
            if iterations is None:
                return engine
            raise
        default = loop.options.get(name) or self.settings.iterations or None
        limit = default if iterations is None else iterations
        return engine if limit is None else Loop(loop.engine, **{**loop.options, name: limit})

    def reopen(self, args: argparse.Namespace, *, to_look: bool = False) -> Run:
        """Open a recorded run, to continue it or only to look at it.

        A run that is open already is opened anew only with another model or other tools; it has all its guards, so that
        there is nothing to waive.
        """
        variable = namespace.check_variable(args.output) if args.output else None
        model, tools, waive = (getattr(args, name, None) for name in ("model", "tools", "waive"))
        open_runs = [run for id, run in self.live.items() if id.startswith(args.id) and not run.read_only]
        if len(open_runs) != 1:
            info = self.find_recorded(args.id)
            opener = self.opener(info, model, tools)
            return self.adopt(opener.look(info) if to_look else opener.resume(info, waive=waive or ()), variable)
        run = open_runs[0]
        if waive:
            raise UsageError(
                f"run {run.id} is open here with all its guards, so there is nothing to waive; run.guard(approve=None) "
                "takes its approvals away, and %agent break --clear its breakpoints"
            )
        changes: dict[str, Any] = {} if model is None else {"model": namespace.model_of(model, self.names)}
        if tools is not None:
            changes["tools"] = namespace.tools_of(tools, self.names)
        return self.adopt(run.agent.using(**changes).resume(run) if changes else run, variable)

    def opener(self, info: RunInfo, model: str | None = None, tools: str | None = None) -> Agent:
        """Return an agent for a recorded run: its engine, model and tools among the user's variables.

        What is not found there is restored from the recording.
        """
        if tools is None:
            found = namespace.find_tools(self._recorded_tools(info.run), self.names)
        else:
            found = namespace.tools_of(tools, self.names)
        engines, configured = namespace.engines_in(self.names), self.settings.model
        named = namespace.model_of(model, self.names) if model else namespace.model_named(info.model, self.names)
        if named is None and not isinstance(configured, str) and name_of(configured) == info.model:
            named = configured
        agent = Agent(named, found, engine=engines.get(info.engine, "react"), journal=self.settings.journal)
        agent.given_loops |= engines
        return agent

    def _recorded_tools(self, id: str) -> list[str]:
        """Return the names of the tools that a recorded run was started with."""
        journal: Any = open_journal(self.settings.journal)
        try:
            rows = journal.rows(id)
        except JournalDamaged as damage:
            rows = damage.sound
        begin = next((row.result for row in rows if isinstance(row, Entry) and row.kind == "begin"), {"tools": ()})
        return list(begin["tools"])


def _ambiguous(prefix: str, ids: list[str]) -> UsageError:
    return UsageError(f"the ids of {len(ids)} runs begin with {prefix!r}: {', '.join(ids)}; type more of the id")
