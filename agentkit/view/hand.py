"""The hand of a person in a view: takes commands from any thread, never waits, and answers each with `ack` or `nak`."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from agentkit.core import background
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.view.commands import AT_ONCE, IN_ORDER
from agentkit.view.feed import Feed
from agentkit.view.questions import QUESTIONS
from agentkit.view.wire import clean

Data = dict[str, Any]

MOST = 5_000_000
"""Bytes of a command, about: half of what a Jupyter server carries at the most."""

_ENVELOPE = ("t", "v", "cid", "cmd")
_checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))
_COMMANDS = {name: _checked(function) for name, function in {**AT_ONCE, **IN_ORDER, **QUESTIONS}.items()}


class Hand:
    """Carry out the commands of a view.

    What changes the run is done in order, in a thread beside the one that the command came in on, since whoever drives the
    run applies it between two steps; pausing and stopping is done at once, and questions wait for nobody.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._waiting: deque[Data] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def take(self, message: Data) -> None:
        """Take a command, and return at once."""
        name = str(message.get("cmd"))
        if name in AT_ONCE:
            self._do(message)
        elif name in IN_ORDER:
            self._feed.reply({"t": "taken", "cid": _cid(message)})
            with self._lock:
                self._waiting.append(message)
                if self._busy:
                    return
                self._busy = True
            background.in_thread(self._work)
        else:
            background.in_thread(lambda: self._do(message))

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy = False
                    return
                message = self._waiting.popleft()
            self._do(message)

    def _do(self, message: Data) -> None:
        name = str(message.get("cmd"))
        answer: Data = {"cid": _cid(message)}
        try:
            if (size := clean(message)[1]) > MOST:
                raise UsageError(f"{size:,} bytes are more than a view can hand over; do it in Python")
            if name not in _COMMANDS:
                raise Unknown("command", name, list(_COMMANDS))
            given = {key: value for key, value in message.items() if key not in _ENVELOPE}
            answer.update(t="ack", result=_COMMANDS[name](self._feed, **given))
        except BaseException as error:
            answer.update(t="nak", error=said(error), type=type(error).__name__)
        self._feed.reply(answer)


def _cid(message: Data) -> str:
    """Give the name under which the page waits for the answer."""
    return str(message.get("cid", ""))[:100]


def said(error: BaseException) -> str:
    """Give an error in a sentence for the person who asked."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    text = str(error) if isinstance(error, AgentkitError | ValueError) else f"{type(error).__name__}: {error}"
    return mask(one_line(text, 2_000))
