"""Data from any model: `data = yield from structured(chat, schema)`, in an engine or an around.

`structured` is a sub-generator that yields `Think`s: each attempt is a step of the run, which can be seen, edited,
retried, counted and replayed like any other. The model is asked at the best level that it supports: a function that
must be called, or JSON mode, or plain text. If a level fails, the next one is tried; at the last two, the model is
asked a second time and told what was wrong. So a model is asked at most 5 times: 4 times if it has no function calls,
twice if it only has plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import Chat, Reply, user
from agentkit.core.schema import LEVELS, Level, Shape, in_words, json_of, shape_of
from agentkit.core.steps import NO_TAGS, Think, replace
from agentkit.core.usage import Usage
from agentkit.errors import OutputValidationError
from agentkit.tools.json_schema import interface_of_json_schema

AGAIN = "Your reply could not be used: {problem}\nSend it again, as the requested JSON data and nothing else."

_RAISE: Any = object()


@dataclass(slots=True)
class Structured:
    """The result of asking a model for data.

    `value` is the validated object. `level` says how the data was obtained: "native", "json", "text", "person" if a
    person wrote it, or "default" if no attempt succeeded. `calls` and `usage` are those of all attempts, and `reply` is
    the last reply, which can be added to a chat.
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
    """Ask a model for data that fits a schema, and return the data with what it took to get it.

    `schema` is a pydantic model, a pydantic `TypeAdapter`, or a JSON schema as a dict. `parse(value)` converts the
    validated value; if it raises, the attempt has failed. `fallback(text)` may find the data in a text without JSON,
    and returns None if it cannot; what it finds is validated like any other data. With a `default`, nothing is raised:
    the default is the value if every attempt, or the model itself, fails. The tags of each step hold the number of the
    attempt and the problem of the previous one. Raises `OutputValidationError`, whose `raw` is the last text.
    """
    shape, load = shape_of(schema, name)
    is_optional = default is not _RAISE
    ask = chat = Chat.of(chat)
    level: Level | None = LEVELS[0]
    usage, calls, is_again, problem = Usage(), 0, False, ""
    while level:
        about = {**tags, "attempt": calls + 1, **({"problem": problem} if problem else {})}
        reply = yield Think(ask, (), role, about, "auto", hears, replace(shape, at_most=level), is_optional)
        calls, usage = calls + 1, usage + (reply.usage or Usage()) + Usage(calls=1)
        used_level = _level(reply, level)
        try:
            value = _value(reply, used_level, shape, load, parse, fallback)
            return Structured(value, reply.dialect or "person", calls, usage, reply)
        except Exception as error:
            problem = in_words(error)
        level, is_again = (
            _next(used_level, is_again or reply.finish == "rejected") if reply.finish != "error" else (None, False)
        )
        ask = chat + reply + user(AGAIN.format(problem=problem)) if is_again else chat
    if is_optional:
        return Structured(default, "default", calls, usage, reply)
    raise OutputValidationError(_failure(shape.name, calls, problem), raw=reply.raw or reply.text, problem=problem)


def _next(level: Level, is_again: bool) -> tuple[Level | None, bool]:
    """Return the level to try after a failed attempt (None after the last), and whether it was tried before."""
    if level != "native" and not is_again:
        return level, True
    return (None if level == LEVELS[-1] else LEVELS[LEVELS.index(level) + 1]), False


def _level(reply: Reply, asked_at: Level) -> Level:
    """Return the level at which a reply was requested; if a person wrote the reply, the level that was asked for."""
    return next((level for level in LEVELS if level == reply.dialect), asked_at)


def _value(reply: Reply, level: str, shape: Shape, load: Callable[[str], Any], parse: Any, fallback: Any) -> Any:
    """Return the validated value of a reply. Raises an error that says what is wrong with it."""
    if reply.readable and reply.answer is not None:
        value = load(reply.answer)
    elif level == "text" and fallback and (data := fallback(reply.raw or reply.text)) is not None:
        value = load(json_of(_checked(data, shape)))
    else:
        raise ValueError("; ".join(reply.problems) or "the reply contains no JSON")
    return parse(value) if parse else value


def _checked(data: Any, shape: Shape) -> Any:
    """Return data that was found in a text, if it fits a JSON schema; a class checks its data itself."""
    if shape.strict:
        check = interface_of_json_schema(shape.parameters, {})
        check.validate(data if shape.is_object else {"value": data}, strict=True)
    return data


def _failure(name: str, calls: int, problem: str) -> str:
    times = "once" if calls == 1 else f"{calls} times"
    return (
        f"the model was asked {times} but returned no data that fits {name}: {problem}. Edit its last reply, or call "
        "undo() to ask it again"
    )
