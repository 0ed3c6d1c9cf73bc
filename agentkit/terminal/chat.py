"""A conversation with an agent: each message starts a run, which is driven, paused, changed and decided about here.

The main thread prints and reads. Everything that may take long happens in another thread, so that Ctrl-C is noticed at
any moment and interrupts nothing in the middle: the first one pauses the run, the second one ends the conversation.
"""

from __future__ import annotations

import functools
import json
import queue
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text, counted, error_line, one_line
from agentkit.errors import AgentkitError, UsageError
from agentkit.export.text import pending_text, reason_text
from agentkit.gates.effects import still_performed
from agentkit.journal.entries import NOT_BEGUN
from agentkit.run.run import Run, choices
from agentkit.terminal.presses import Presses
from agentkit.terminal.printer import Printer, spent_line
from agentkit.terminal.reader import Reader
from agentkit.terminal.screen import Screen
from agentkit.trace.events import Event

ENDS = ("exit", "quit", "q")
"""What a person types to end the conversation."""

LOOK_INTERVAL = 0.05
"""How often Ctrl-C is looked for while a run is driven, in seconds."""

LEAVE_TIMEOUT = 5.0
"""How long a run that is left may take to come to rest, in seconds; what it has recorded is safe anyway."""

YES, NO = ("y", "yes"), ("n", "no")

Command = Callable[["Chat", str], Any]
"""What a line that begins with / does; it is given the rest of the line."""


class Over(Exception):
    """The conversation is over; `code` is the exit code."""

    def __init__(self, code: int = 0) -> None:
        self.code = code


class Chat:
    """A conversation.

    `run` is the current run, if any; `session` and `user` those under which the conversation is remembered;
    `stepping` is true if runs are stepped through rather than driven to their end; and `changes` are those of the agent
    since the run began.
    """

    def __init__(
        self,
        agent: Agent,
        reader: Reader,
        screen: Screen,
        answers: Screen,
        commands: Mapping[str, Command],
        presses: Presses,
        *,
        session: str = "",
        user: str = "",
        find_engine: Callable[[str], Any] = str,
    ) -> None:
        self.agent = agent
        self.reader = reader
        self.screen = screen
        self.commands = commands
        self.session = session or f"chat-{uuid.uuid4().hex[:8]}"
        self.user = user
        self.find_engine = find_engine
        self.run: Run | None = None
        self.stepping = False
        self.changes: dict[str, Any] = {}
        self._printer = Printer(screen, answers)
        self._events: queue.Queue[Event] = queue.Queue()  # a SimpleQueue may wait for ever after a signal
        self._presses = presses
        self._is_named = bool(session)
        self._has_failed = False

    # -- the conversation ----------------------------------------------------------------------------------------------

    def talk(self, run: Run | None = None) -> int:
        """Talk until the person or the pipe ends it, and return the exit code. A run goes on where it was."""
        code = 0
        try:
            if run is not None:
                self.adopt(run)
                self.screen.lines(repr(run))
                was_waiting = run.saved_status == "waiting"
                self._attempt(self.drive if was_waiting else self.say_status)  # what it waits for is asked once more
            elif self._is_named:
                self._say_session()
            while True:
                line = self._read()
                if line is not None:
                    self._attempt(functools.partial(self._take, line))
        except Over as over:
            code = over.code
        except (EOFError, KeyboardInterrupt) as end:
            code = 130 if isinstance(end, KeyboardInterrupt) else 0
        self.screen.end_line()
        self.leave()
        if self.reader.is_typed:
            self.screen.line(f"agentkit chat --session {self.session} continues this conversation", dim=True)
        return code or int(self._has_failed and not self.reader.is_typed)

    def _read(self) -> str | None:
        """Return the next line, or None if there is none to take.

        Raises `EOFError` at the end, `KeyboardInterrupt` after Ctrl-C twice.
        """
        prompt, is_decision = self._prompt()
        try:
            line = self.reader.read(prompt, anew=is_decision)
        except UsageError as error:
            self._has_failed = True
            self.screen.line(f"! {error}")
            return None
        except KeyboardInterrupt:
            if self._presses.count > 1 or not self.reader.is_typed:
                raise
            self.screen.line("Ctrl-C again ends the conversation", dim=True)
            return None
        self._presses.count = 0
        return line

    def _prompt(self) -> tuple[str, bool]:
        """Return the prompt, and whether it asks for a decision."""
        run = self.run
        if run is None or run.status in ("done", "readonly"):
            return "> ", False
        if run.waiting:
            is_question = run.waiting[0][0].step.kind == "ask"
            return ("answer> " if is_question else "decide> "), True
        return f"{run.status}> ", False

    def _attempt(self, function: Callable[[], Any]) -> None:
        """Do something; what goes wrong is shown in one line, and the conversation goes on."""
        try:
            function()
        except AgentkitError as error:
            self.screen.line(f"! {one_line(mask(str(error)), 1000)}")
        except (Over, EOFError, BrokenPipeError):
            raise
        except Exception as error:  # of a model, a tool or an engine that somebody else wrote
            self.screen.line(f"! {one_line(mask(error_line(error)), 1000)}")

    def _take(self, line: str) -> None:
        """Take a line: a command, a decision, a message for the run, or a new message."""
        text = line.strip()
        if text.lower() in ENDS:
            raise Over
        if line.startswith("/"):
            self._command(line[1:])
        elif self.reader.is_typed and self.run is not None and self.run.waiting:
            self._decide(text)
        elif text and self._is_paused():
            self.current.inject(text)
            self._go_on()
        elif text:
            self._send(text)

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name in ENDS:
            raise Over
        if name not in self.commands:
            hint = "; to send it as a message, put a space before it"
            raise UsageError(f"there is no command /{one_line(name, 50)}; /help lists the commands{hint}")
        self.commands[name](self, rest.strip())

    def _is_paused(self) -> bool:
        """Return whether a person has paused the current run, so that what is typed is for it."""
        return self.reader.is_typed and self.run is not None and self.run.status in ("paused", "stopped")

    def _send(self, text: str) -> None:
        """Start a run for a message."""
        self.leave()
        agent, session, user = self.agent, self.session, self.user
        run = self.perform(lambda: agent.start(text, session=session, user=user, paused=True))
        self.adopt(run)
        if len(run) > 1:
            self.screen.line(f"goes on where run {run.id} was: it had the same message, and no answer yet", dim=True)
        self._go_on()

    def _go_on(self) -> None:
        """Drive the current run, unless it is stepped through."""
        if self.stepping:
            self.say_status()
        else:
            self.drive()

    # -- what commands use ---------------------------------------------------------------------------------------------

    @property
    def current(self) -> Run:
        """The current run. Raises `UsageError` if there is none."""
        if self.run is None:
            raise UsageError("there is no run yet; type a message first")
        return self.run

    def adopt(self, run: Run) -> None:
        """Make a run the current one."""
        self.run = run
        self.changes.clear()
        if not run.read_only:
            run.on_event(self._events.put)

    def switch(self, other: Run) -> None:
        """Make another run the current one, and release this one."""
        before = self.run
        self.adopt(other)
        if before is not None:
            before.close()

    def leave(self) -> None:
        """Release the current run; if it is not over, say how to pick it up."""
        run = self.run
        if run is None:
            return
        ending = background.in_thread(lambda: None if run.read_only else run.close())
        try:
            background.wait(ending, LEAVE_TIMEOUT)
        except TimeoutError:
            pass
        except AgentkitError as error:
            self.screen.line(f"! {one_line(mask(str(error)), 1000)}")
        while self._print_events(0.0):
            pass
        self._printer.rest()
        self.run = None
        if run.answer is None and run.agent.journal is not None:
            self._has_failed = True
            self.screen.line(f"run {run.id} is not over; nothing is lost: agentkit chat --resume {run.id}")

    def perform(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns that may take long, or compute for ever. Raises `Over` after Ctrl-C twice."""
        return self._wait(background.in_thread(function))

    def drive(self) -> None:
        """Drive the current run until it rests, and say how it is then."""
        run = self.current
        self._drive(lambda: run.drive())

    def step(self, *, over: bool = False) -> None:
        """Perform one step of the current run, or all that are pending, and say how it is then."""
        run = self.current

        def step() -> None:
            run.play_step(over=over)
            run.wait()

        self._drive(step)

    def _drive(self, start: Callable[[], Any]) -> None:
        run = self.current
        if run.status == "done":
            raise UsageError("the run is over; /undo, /rewind, /retry or /fork go on from an earlier step")
        if not run.read_only and run.waiting and len(run.waiting) == len(run.pending):
            self.say_status()
            return
        self._wait(background.in_thread(start), run)
        self.say_status()

    def say_status(self) -> None:
        """Say how the current run is, and what can be done now."""
        run = self.current
        result, status = run.result, run.status
        if status == "done":
            reason = reason_text(result)
            why = f" ({one_line(mask(reason))})" if reason else ""
            spent = spent_line(result.step_count, result.tool_calls_count, result.usage.total, result.usage.cost)
            self.screen.line(f"{self.screen.marks.done} {spent}{why}", dim=True)
        elif run.read_only:
            self.screen.line(f"! read-only: {one_line(mask(run.read_only), 1000)}")
        elif run.waiting:
            self._say_waiting(run)
        else:
            if run.hold:
                self.screen.line(f"! {one_line(mask(run.hold), 1000)}")
            for pending in run.pending:
                self.screen.line(f"{status} before: {pending_text(pending, run)}", dim=True)
            if status == "failed":
                self.screen.line("/play tries again, and so does the same message; /model chooses another model")
            elif not self.reader.is_typed or self.stepping:
                self.screen.line("/step performs it, /play continues", dim=True)
            else:
                self.screen.line("/play continues, /step performs one step; a message is for this run", dim=True)

    def _say_waiting(self, run: Run) -> None:
        for pending, verdict in run.waiting:
            self.screen.line(f"? {one_line(verdict.why, 2000)}")
            if type(pending.step) is Act:
                self.screen.line(f"  {mask(call_text(pending.step.call))} [{run.state.effect(pending)}]")
        names = choices(*run.waiting[0])
        if names == ["respond"]:
            return
        many = f", about the first of {len(run.waiting)}" if len(run.waiting) > 1 else ""
        words = {"approve": "approve (y)", "reject": "reject (n) COMMENT", "respond": "respond RESULT"}
        self.screen.line(f"  {', '.join(words.get(name, name) for name in names)}{many}", dim=True)

    def say_not_undone(self) -> None:
        """Say which calls the current line has left behind: the world does not go back."""
        run = self.current
        if sentence := run.control.read(lambda: still_performed(run.state)):
            self.screen.line(f"! {mask(sentence)}")

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decide(self, text: str) -> None:
        """Take what a person types at the question about the first step that waits."""
        run = self.current
        names = choices(*run.waiting[0])
        word, _, rest = text.partition(" ")
        word = word.lower()
        if names == ["respond"]:
            if text:
                self.decide("respond", text)
        elif not text and names[0] == "reuse":
            self.decide("reuse", "")
        elif word in names or word in (*YES, *NO):
            self.decide("approve" if word in YES else "reject" if word in NO else word, rest.strip())
        elif text:
            raise UsageError(f"{one_line(word, 50)!r} is not one of {', '.join(names)}; /help lists the commands")

    def decide(self, name: str, rest: str) -> None:
        """Decide about the first step that waits, and go on. Raises `UsageError` if none waits."""
        run = self.current
        if not run.waiting:
            raise UsageError("nothing waits for a decision")
        if name == "respond" and not rest:
            raise UsageError("respond takes the answer, or what the tool would have returned")
        if name in ("approve", "reject"):
            remember, rest = _remember(rest)
            if name == "approve":
                arguments = arguments_of(rest) if rest else None
                self.perform(lambda: run.approve(arguments=arguments, remember=remember))
            else:
                self.perform(lambda: run.reject(rest, remember=remember))
        elif name == "respond":
            self.perform(lambda: run.respond(rest))
        else:
            self.perform(run.reuse)
        self._go_on()

    # -- waiting for what happens in other threads ---------------------------------------------------------------------

    def _wait(self, future: Future[Any], run: Run | None = None) -> Any:
        """Print what happens until a future is done, and return its result. Raises `Over` after Ctrl-C twice.

        The first Ctrl-C pauses the run.
        """
        has_told = False
        while not future.done():
            self._print_events()
            if not self._presses.count:
                continue
            if self._presses.count > 1 or not self.reader.is_typed:
                if run is not None:
                    run.stop("interrupted")
                raise Over(130)
            if run is not None and run.control.running and not run.control.stopping:
                run.pause()
            if not has_told:
                has_told = True
                what = "pausing: the step in progress ends first; " if run is not None else ""
                self.screen.line(f"{what}Ctrl-C again ends the conversation", dim=True)
        while self._print_events(0.0):
            pass
        self._printer.rest()
        return future.result()

    def _print_events(self, timeout: float = LOOK_INTERVAL) -> bool:
        """Print the events that have come, and return whether there was one; wait for the first."""
        found = False
        try:
            while True:
                event = self._events.get(timeout=0.0 if found else timeout) if timeout else self._events.get_nowait()
                found = True
                if self.run is not None and event.run == self.run.id:
                    self._printer.take(event)
                if self._presses.count:
                    return found
        except queue.Empty:
            return found

    def _say_session(self) -> None:
        """Say what the conversation was that goes on."""
        agent = self.agent
        turns = agent.memory.turns(self.session, user=self.user)
        self.screen.line(f"session {self.session}: {counted(len(turns), 'earlier turn')}", dim=True)
        for turn in turns[-1:]:
            self.screen.line(f"last: {one_line(turn.question)}", dim=True)
            self.screen.line(f"{self.screen.marks.result} {one_line(turn.answer)}", dim=True)
        journal = agent.journal
        unanswered = agent.memory.unanswered(self.session, user=self.user)
        status = {info.run: info.status for info in journal.runs()} if journal is not None and unanswered else {}
        for id in unanswered[-1:]:
            if status.get(id, "done") not in ("done", NOT_BEGUN):
                self.screen.line(f"its last message has no answer yet: agentkit chat --resume {id}")


def _remember(rest: str) -> tuple[Any, str]:
    """Return how long a decision is remembered, and the rest of a text that may begin with --remember or --always."""
    word, _, after = rest.partition(" ")
    return {"--remember": (True, after.strip()), "--always": ("always", after.strip())}.get(word, (False, rest))


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments of a call, as JSON. Raises `UsageError`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"arguments must be JSON ({error}): {one_line(text)}") from None
    if not isinstance(value, dict):
        raise UsageError(f'arguments must be a JSON object, such as {{"city": "Bern"}}, not {one_line(text)}')
    return value
