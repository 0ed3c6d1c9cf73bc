"""A stand-in for a model in a lesson: its replies were written beforehand, and it counts its tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import cycle
from textwrap import dedent
from typing import Any

from agentkit.core.messages import Reply, assistant, user
from agentkit.core.text import one_line
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Request
from agentkit.models.tokens import tokens

Pattern = str | tuple[str, ...]
"""A regular expression that the last message of a request contains; those before it in a tuple are found earlier."""

Line = tuple[str, Pattern, str | list[str] | Callable[..., str]]
"""The role of a request, the pattern in it, and the reply.

The reply can also be a list, from which one is taken in turn, or a function, which is called with the groups of the
pattern.
"""


class Written:
    """A model that knows some replies by heart: it looks for the first line that fits a request, and writes its reply.

    Unlike `Scripted`, it does not depend on the order of the requests, so a run can be edited, forked and compared with
    others. `usage` is an estimate: four bytes are a token. Raises `UsageError` if no line fits.
    """

    name = "written replies"
    abilities = Abilities()

    def __init__(self, *lines: Line) -> None:
        self._lines = [(role, pattern, _replier(reply)) for role, pattern, reply in lines]

    def __call__(self, request: Request) -> Reply:
        texts = [str(message["content"]) for message in request.messages]
        for role, pattern, reply in self._lines:
            if role == request.role and (groups := _groups(pattern, texts)) is not None:
                text = dedent(reply(*groups)).strip()
                read = sum(tokens(user(text)) for text in texts)
                return Reply(text, usage=Usage(input=read, output=tokens(assistant(text)), calls=1))
        raise UsageError(
            f"the model of this lesson has no reply for a request with the role {request.role!r} that ends with: "
            f"{one_line(texts[-1][-200:])!r}; undo your last change, or use a model of your own"
        )

    @inert
    def __repr__(self) -> str:
        return f"<Written: {len(self._lines)} replies>"


def action(thought: str, tool: str, **arguments: Any) -> str:
    """Return the reply of a model that calls a tool, as ReAct asks for it."""
    return f"Thought: {thought}\nAction: {tool}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}"


def finish(thought: str, answer: str) -> str:
    """Return the reply of a model that gives its final answer, as ReAct asks for it."""
    return f"Thought: {thought}\nFINAL_ANSWER: {answer}"


def _replier(reply: str | list[str] | Callable[..., str]) -> Callable[..., str]:
    """Return a function that returns the reply to a request with some groups."""
    if callable(reply):
        return reply
    replies: Iterator[str] = cycle([reply] if isinstance(reply, str) else reply)
    return lambda *groups: next(replies)


def _groups(pattern: Pattern, texts: list[str]) -> list[str] | None:
    """Return the groups of the expressions of a pattern in the messages of a request, or None if one does not fit."""
    *earlier, last = [pattern] if isinstance(pattern, str) else pattern
    before = "\n".join(texts[:-1])
    found = [*(re.search(each, before) for each in earlier), re.search(last, texts[-1])]
    return None if None in found else [group for match in found if match for group in match.groups()]
