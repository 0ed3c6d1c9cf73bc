"""Carries out the commands of a view: takes them in any thread, never waits, and answers each with `ack` or `nak`."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.view.commands import DRIVING, IMMEDIATE, QUEUED
from agentkit.view.forecasts import forecast
from agentkit.view.guesses import judge
from agentkit.view.luck import make_trials, open_trial, resample, samples, stop_resample, stop_trials, trials
from agentkit.view.outbox import Outbox
from agentkit.view.queries import QUERIES
from agentkit.view.talk_on import talk_on
from agentkit.view.wire import clean

Data = dict[str, Any]

MAX_BYTES = 5_000_000
"""Approximate size of the largest command: half of what a Jupyter server accepts."""

KEPT_ANSWERS = 100
"""The number of answers that are kept in case they are lost on their way."""

_ENVELOPE = ("t", "v", "cid", "cmd")
_validated = validate_call(config=ConfigDict(arbitrary_types_allowed=True))
SLOW: dict[str, Any] = {
    "talk_on": talk_on,
    "resample": resample,
    "make_trials": make_trials,
    "open_trial": open_trial,
}
"""Commands that may take any time, and that wait for no other one."""

_QUICK = {
    **QUERIES,
    "forecast": forecast,
    "judge": judge,
    "samples": samples,
    "stop_resample": stop_resample,
    "trials": trials,
    "stop_trials": stop_trials,
}


@dataclass(frozen=True)
class Commands:
    """The commands that a view may send, by name, and how each is carried out; see `Dispatcher`.

    Of the queued ones, `driving` make something go on, and `harmless` may be sent again if their answer is lost.
    """

    immediate: Mapping[str, Callable[..., Any]]
    queued: Mapping[str, Callable[..., Any]]
    slow: Mapping[str, Callable[..., Any]]
    queries: Mapping[str, Callable[..., Any]]
    driving: Collection[str] = ()
    harmless: Collection[str] = ()

    @cached_property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """All commands, which raise `ValidationError` for arguments of another type."""
        every = {**self.immediate, **self.queued, **self.slow, **self.queries}
        return {name: _validated(function) for name, function in every.items()}

    def is_answered_once(self, name: str) -> bool:
        """Return whether a command cannot simply be sent again, if its answer is lost."""
        return name not in self.harmless and any(name in each for each in (self.immediate, self.queued, self.slow))


OF_RUN = Commands(IMMEDIATE, QUEUED, SLOW, _QUICK, DRIVING, ("export", "freeze"))
_COMMANDS = OF_RUN.functions


class Dispatcher:
    """Carries out the commands of a view.

    Commands that change the run are carried out in order in a background thread, because the thread that drives the run
    applies them between two steps. Pausing and stopping happen at once, and overtake what is still in the queue: a
    command in it that would make the run go on is refused. Queries do not wait for anything.
    """

    def __init__(self, feed: Outbox, commands: Commands = OF_RUN) -> None:
        self._feed, self._commands = feed, commands
        self._queue: deque[Data] = deque()
        self._lock = threading.Lock()
        self._is_busy = False
        self._unanswered: set[str] = set()
        self._answers: OrderedDict[str, Data] = OrderedDict()

    def answer_again(self, ids: Any) -> None:
        """Answer the commands that a view has sent and still waits for, unless they are in progress; the last ones, if
        there are more than answers are kept.
        """
        for command in [str(id)[:100] for id in ids[-KEPT_ANSWERS:]] if isinstance(ids, list) else []:
            with self._lock:
                if command in self._unanswered:
                    continue
                answer = self._answers.get(command)
            lost = "the command or its answer was lost on the way; look at the run, and repeat it if it is still needed"
            self._feed.reply(answer or {"t": "nak", "cid": command, "error": lost, "type": "Lost"})

    def take(self, message: Data) -> None:
        """Accept a command, and return at once."""
        name = str(message.get("cmd"))
        with self._lock:
            self._unanswered.add(_command_id(message))
        if name in self._commands.immediate and not self._feed.is_elsewhere:
            self._perform(message)
            self._refuse_driving(name)
        elif name in self._commands.queued:
            self._feed.reply({"t": "taken", "cid": _command_id(message)})
            with self._lock:
                self._queue.append(message)
                if self._is_busy:
                    return
                self._is_busy = True
            background.in_thread(self._work)
        else:
            if name in self._commands.slow:
                self._feed.reply({"t": "taken", "cid": _command_id(message)})
            background.in_thread(lambda: self._perform(message))

    def _refuse_driving(self, name: str) -> None:
        """Refuse the commands in the queue that would make the run go on: they are older than the one to halt it."""
        with self._lock:
            refused = [message for message in self._queue if message.get("cmd") in self._commands.driving]
            self._queue = deque(message for message in self._queue if message.get("cmd") not in self._commands.driving)
        for message in refused:
            error = f"not carried out, because {name!r} was asked for after it"
            self._answer(message, {"t": "nak", "error": error, "type": "UsageError"})

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._is_busy = False
                    return
                message = self._queue.popleft()
            self._perform(message)

    def _perform(self, message: Data) -> None:
        name = str(message.get("cmd"))
        answer: Data = {}
        try:
            if (size := clean(message)[1]) > MAX_BYTES:
                raise UsageError(f"{size:,} bytes are too much for a view to send; do it in Python instead")
            if name not in (functions := self._commands.functions):
                raise Unknown("command", name, list(functions))
            arguments = {key: value for key, value in message.items() if key not in _ENVELOPE}
            answer.update(t="ack", result=functions[name](self._feed, **arguments))
        except BaseException as error:
            answer.update(t="nak", error=refusal(error), type=type(error).__name__)
        self._answer(message, answer)

    def _answer(self, message: Data, answer: Data) -> None:
        """Answer a command. The answer is kept for a while if the command cannot simply be sent again."""
        command = _command_id(message)
        answer = {"cid": command, **answer}
        with self._lock:
            self._unanswered.discard(command)
            if self._commands.is_answered_once(str(message.get("cmd"))):
                self._answers[command] = answer
                while len(self._answers) > KEPT_ANSWERS:
                    self._answers.popitem(last=False)
        self._feed.reply(answer)


def _command_id(message: Data) -> str:
    """Return the id by which the page recognizes the answer."""
    return str(message.get("cid", ""))[:100]


def refusal(error: BaseException) -> str:
    """Return an error as one sentence for the person who sent the command."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    text = str(error) if isinstance(error, AgentkitError | ValueError) else f"{type(error).__name__}: {error}"
    return mask(one_line(text, 2_000))
