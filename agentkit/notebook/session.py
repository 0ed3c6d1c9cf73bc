# mypy: disable-error-code="no-untyped-call"
"""A shell's runs: which one is meant, how a new one is made, and how one is waited for."""

from __future__ import annotations

import argparse
import os
import time
import weakref
from collections import ChainMap
from typing import Any

from IPython.core.error import UsageError

from agentkit.agent.agent import Agent, runs
from agentkit.core.steps import Loop
from agentkit.engines import registry
from agentkit.errors import JournalDamaged, Unknown
from agentkit.journal import open_journal
from agentkit.journal.entries import Entry, RunInfo
from agentkit.models import resolve
from agentkit.notebook import display, namespace, shell
from agentkit.run.run import Run

VARIABLE = "agent_run"
"""The variable that always holds the current run."""

PATIENCE = 2.0
"""Seconds that an interrupted cell waits for its run to come to rest, before it shows the run as it is."""


class Session:
    """The runs of one shell. `settings` is the `AgentMagics` with its traits; `current` is the last run started or opened."""

    def __init__(self, shell: Any, settings: Any) -> None:
        self.shell = shell
        self.settings = settings
        self.current: Run | None = None
        self.live: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()
        self.local: dict[str, Any] = {}

    @property
    def names(self) -> ChainMap[str, Any]:
        """The variables that the running cell sees."""
        return ChainMap(self.local, self.shell.user_ns)

    @property
    def waits(self) -> bool:
        """Whether a run is waited for although nobody said `--wait`: by `%config`, or since nobody is there to watch."""
        return self.settings.wait or os.environ.get("AGENTKIT_NONINTERACTIVE", "0") not in ("", "0")

    # -- which run ---------------------------------------------------------------------------------------------------

    def find(self, name: str | None) -> Run:
        """Give the run of a variable or an id; without a name the current one."""
        if name is None:
            if self.current is None:
                raise UsageError("there is no run yet: %agent TASK starts one, %agent resume ID opens a recorded one")
            return self.current
        held = self.names.get(name)
        if isinstance(held, Run):
            return held
        found = [run for key, run in self.live.items() if key.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{len(found)} runs begin with {name!r}: {', '.join(run.id for run in found)}")
        raise Unknown("run", name, [key for key, value in self.names.items() if isinstance(value, Run)])

    def adopt(self, run: Run, variable: str | None = None) -> Run:
        """Make a run the current one, and put it into its variables."""
        self.live[run.id] = self.current = run
        self.shell.user_ns[VARIABLE] = run
        if variable:
            self.shell.user_ns[variable] = run
        return run

    def recorded(self, beginning: str) -> RunInfo:
        """Give the recorded run whose id begins so."""
        found = [info for info in runs(self.settings.journal) if info.run.startswith(beginning)]
        if not found:
            raise UsageError(f"no recorded run begins with {beginning!r}; %agent runs lists them")
        if len(found) > 1:
            raise UsageError(f"{len(found)} runs begin with {beginning!r}: {', '.join(info.run for info in found)}")
        return found[0]

    # -- making runs -------------------------------------------------------------------------------------------------

    def start(self, args: argparse.Namespace, task: str) -> Run:
        """Begin a run of `%agent`."""
        variable = namespace.check_variable(args.output) if args.output else None
        run = self.adopt(self._agent(args).start(task, paused=True), variable)
        return run if args.pause else self.play(run, args.wait)

    def play(self, run: Run, wait: bool) -> Run:
        """Let a run go on; show it while it does, or wait and show it once."""
        if not (wait or self.waits):
            display.follow(run, self.shell)
            return run.play()
        run.play()
        try:
            result = run.wait()
        except KeyboardInterrupt:  # the run pauses as soon as what is under way has ended
            end = time.monotonic() + PATIENCE
            while run.status == "running" and time.monotonic() < end:
                time.sleep(0.02)
            shell.show(run, self.shell)
            raise
        if result.error:
            shell.show(run, self.shell)
            raise UsageError(f"{type(result.error).__name__}: {result.error}; nothing is lost: %agent play tries again")
        if shell.in_notebook(self.shell):
            shell.show(run, self.shell)
            shell.hush(run, self.shell)
        return run

    def say(self, text: str) -> None:
        """Show a remark beside what the command gives."""
        from IPython.display import display as show

        show(display.Remark(text))

    def _agent(self, args: argparse.Namespace) -> Agent:
        settings = self.settings
        engine = self._limited(namespace.engine_of(args.engine or settings.engine, self.names), args.iterations)
        tools = settings.tools if args.tools is None else args.tools
        model = namespace.model_of(args.model or settings.model, self.names)
        held = namespace.tools_of(tools, self.names)
        return Agent(model, held, engine=engine, journal=settings.journal)

    def _limited(self, engine: Any, iterations: int | None) -> Any:
        """Give an engine the limit of the command, or the configured one if it has such an option and no limit yet."""
        loop = engine if isinstance(engine, Loop) else Loop(engine)
        limit = iterations
        if limit is None and "max_iterations" in registry.parameters(registry.find(loop.engine)[0]):
            limit = loop.options.get("max_iterations") or self.settings.iterations or None
        return engine if limit is None else Loop(loop.engine, **{**loop.options, "max_iterations": limit})

    def reopen(self, args: argparse.Namespace) -> Run:
        """Open a recorded run with its engine, and with the model and tools of those names that there are now."""
        variable = namespace.check_variable(args.output) if args.output else None
        living = [run for key, run in self.live.items() if key.startswith(args.id)]
        if len(living) == 1:
            return self.adopt(living[0], variable)
        info = self.recorded(args.id)
        if args.tools is None:
            tools = namespace.tools_called(self._tools_of(info.run), self.names)
        else:
            tools = namespace.tools_of(args.tools, self.names)
        same = info.model if resolve.is_name(info.model) else None
        model = namespace.model_of(args.model or same or self.settings.model, self.names)
        agent = Agent(model, tools, engine=info.engine, journal=self.settings.journal)
        return self.adopt(agent.resume(info.run), variable)

    def _tools_of(self, name: str) -> list[str]:
        """Name the tools that a recorded run was started with."""
        journal: Any = open_journal(self.settings.journal)
        try:
            rows = journal.rows(name)
        except JournalDamaged as damage:
            rows = damage.sound
        begin = next((row.result for row in rows if isinstance(row, Entry) and row.kind == "begin"), {"tools": ()})
        return list(begin["tools"])
