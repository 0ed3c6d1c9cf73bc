"""Carries out the commands of a view: takes them in any thread, never waits, and answers each with `ack` or `nak`."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.view.commands import CHANGING, DRIVING, IMMEDIATE, QUEUED
from agentkit.view.feed import Feed
from agentkit.view.forecasts import forecast
from agentkit.view.guesses import judge
from agentkit.view.luck import resample, samples, stop_resample
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
SLOW: dict[str, Any] = {"talk_on": talk_on, "resample": resample}
"""Commands that may take any time, and that wait for no other one."""

_FUNCTIONS = {
    **IMMEDIATE,
    **QUEUED,
    **QUERIES,
    **SLOW,
    "forecast": forecast,
    "judge": judge,
    "samples": samples,
    "stop_resample": stop_resample,
}
_COMMANDS = {name: _validated(function) for name, function in _FUNCTIONS.items()}


class Dispatcher:
    """Carries out the commands of a view.

    Commands that change the run are carried out in order in a background thread, because the thread that drives the run
    applies them between two steps. Pausing and stopping happen at once, and overtake what is still in the queue: a
    command in it that would make the run go on is refused. Queries do not wait for anything.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
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
        if name in IMMEDIATE:
            self._perform(message)
            self._refuse_driving(name)
        elif name in QUEUED:
            self._feed.reply({"t": "taken", "cid": _command_id(message)})
            with self._lock:
                self._queue.append(message)
                if self._is_busy:
                    return
                self._is_busy = True
            background.in_thread(self._work)
        else:
            if name in SLOW:
                self._feed.reply({"t": "taken", "cid": _command_id(message)})
            background.in_thread(lambda: self._perform(message))

    def _refuse_driving(self, name: str) -> None:
        """Refuse the commands in the queue that would make the run go on: they are older than the one to halt it."""
        with self._lock:
            refused = [message for message in self._queue if message.get("cmd") in DRIVING]
            self._queue = deque(message for message in self._queue if message.get("cmd") not in DRIVING)
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
            if name not in _COMMANDS:
                raise Unknown("command", name, list(_COMMANDS))
            arguments = {key: value for key, value in message.items() if key not in _ENVELOPE}
            answer.update(t="ack", result=_COMMANDS[name](self._feed, **arguments))
        except BaseException as error:
            answer.update(t="nak", error=refusal(error), type=type(error).__name__)
        self._answer(message, answer)

    def _answer(self, message: Data, answer: Data) -> None:
        """Answer a command. The answer is kept for a while if the command cannot simply be sent again."""
        command = _command_id(message)
        answer = {"cid": command, **answer}
        with self._lock:
            self._unanswered.discard(command)
            if str(message.get("cmd")) in {*CHANGING, *SLOW}:
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
