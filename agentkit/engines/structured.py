"""Data from any model: `data = yield from structured(chat, schema)`, within an engine or an around.

A plain sub-generator of `Think`s: each call is a step of the run, to be seen, edited, retried, counted and replayed like
any other. Who performs a step asks at the best level that its model can do: a function that must be called, else JSON
mode, else plain text. A level that fails is left for the next; the last two are asked once more, with what was wrong.
So a model is asked 5 times at the most, 4 without function calls, 2 with plain text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import Chat, Reply, user
from agentkit.core.schema import LEVELS, Level, in_words, shape_of
from agentkit.core.steps import NO_TAGS, Think, replace
from agentkit.core.usage import Usage
from agentkit.errors import OutputValidationError

AGAIN = "That could not be used: {problem}\nSay it again, as the JSON data that was asked for and nothing else."

_RAISE: Any = object()


@dataclass(slots=True)
class Structured:
    """What came of asking for data.

    `value` is the validated object, `level` how it was come by ("native", "json", "text"; "person" where
    one wrote it, "default" where none was), `calls` and `usage`
    what that took, `reply` the last reply, for a chat to go on from.
    """

    value: Any
    level: str
    calls: int
    usage: Usage
    reply: Reply


def structured(
    chat: Any,
    schema: Any,
    *,
    name: str = "",
    parse: Callable[[Any], Any] | None = None,
    fallback: Callable[[str], Any] | None = None,
    default: Any = _RAISE,
    role: str = "structured",
    tags: Mapping[str, Any] = NO_TAGS,
    hears: bool = True,
) -> Generator[Think, Reply, Structured]:
    """Ask a model for data of a schema: a pydantic model, a pydantic `TypeAdapter`, or a JSON schema as a dict.

    `parse(value)` makes more of the validated value; what it raises counts as a misfit. `fallback(text)` may find the
    data in plain text where no JSON is, and gives None where it cannot. With a `default` nothing is raised: it is the
    value when all else failed, the model included. The tags of each step say which attempt it is, and what was wrong
    with the one before. Raises `OutputValidationError`, which keeps the last text as `raw`.
    """
    shape, load = shape_of(schema, name)
    is_optional = default is not _RAISE
    asked = chat = Chat.of(chat)
    level: Level | None = LEVELS[0]
    spent, calls, is_again, problem = Usage(), 0, False, ""
    while level:
        about = {**tags, "attempt": calls + 1, **({"problem": problem} if problem else {})}
        reply = yield Think(asked, (), role, about, "auto", hears, replace(shape, at_most=level), is_optional)
        calls, spent, used = calls + 1, spent + (reply.usage or Usage()), _level(reply, level)
        try:
            return Structured(
                _value(reply, used, load, parse, fallback), reply.dialect or "person", calls, spent, reply
            )
        except Exception as error:
            problem = in_words(error)
        level, is_again = (
            _next(used, is_again or reply.finish == "rejected") if reply.finish != "error" else (None, False)
        )
        asked = chat + reply + user(AGAIN.format(problem=problem)) if is_again else chat
    if is_optional:
        return Structured(default, "default", calls, spent, reply)
    raise OutputValidationError(_failure(shape.name, calls, problem), raw=reply.raw or reply.text, problem=problem)


def _next(level: Level, is_again: bool) -> tuple[Level | None, bool]:
    """Give the level to ask at after one did not work, and whether that is a second request at it; None after the last."""
    if level != "native" and not is_again:
        return level, True
    return (None if level == LEVELS[-1] else LEVELS[LEVELS.index(level) + 1]), False


def _level(reply: Reply, asked_at: Level) -> Level:
    """Say at which level a reply was asked for; one that a person wrote is taken for what was asked."""
    return next((level for level in LEVELS if level == reply.dialect), asked_at)


def _value(reply: Reply, level: str, load: Callable[[str], Any], parse: Any, fallback: Any) -> Any:
    """Give the validated value of a reply. Raises whatever is wrong with it."""
    if reply.readable and reply.answer is not None:
        value = load(reply.answer)
    elif level == "text" and fallback and (found := fallback(reply.raw or reply.text)) is not None:
        value = found
    else:
        raise ValueError("; ".join(reply.problems) or "there is no JSON in it")
    return parse(value) if parse else value


def _failure(name: str, calls: int, problem: str) -> str:
    asked = "once" if calls == 1 else f"{calls} times"
    return f"the model, asked {asked}, gave no data that fits {name}: {problem}. Edit its last reply, or undo() to ask it again"
