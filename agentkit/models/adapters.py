"""Use other objects as models: anything with a method `complete`, `chat` or `continue_chat` will do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from agentkit.errors import UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Model, Output, Request
from agentkit.models.reply_conversion import reply_of
from agentkit.models.stream_collector import acollect

_METHODS = ("complete", "chat", "continue_chat")
_EXPECTED = (
    "a model is a function of one request, or an object with complete(messages), chat(messages) or "
    "continue_chat(messages), "
    "or with complete(system_prompt=, user_query=, messages=, tools=)"
)


def as_model(obj: Any) -> Model:
    """Return an object as a model: itself if it is one, else an adapter. Raises `UsageError` for anything else."""
    if isinstance(obj, str | type) or obj is None:
        raise UsageError(f"{obj!r} is not a model; {_EXPECTED}")
    if callable(obj) and (inspect.isroutine(obj) or hasattr(obj, "abilities") or not _method(obj)):
        _check_takes_one_argument(obj)
        if not isinstance(abilities := getattr(obj, "abilities", Abilities()), Abilities):
            raise UsageError(f"the abilities of a model must be an Abilities(…), not {abilities!r:.100}")
        return cast(Model, obj)
    method = _method(obj)
    if method is None:
        raise UsageError(f"an object of type {type(obj).__name__} is not a model; {_EXPECTED}")
    return ForeignModel(obj, method)


class ForeignModel:
    """An adapter: it calls one method of another object with messages as dicts, and converts what that returns."""

    def __init__(self, obj: Any, method: Callable[..., Any]) -> None:
        parameters = _parameters(method)
        self.name = str(getattr(obj, "name", None) or type(obj).__name__)
        self.method = method
        self._takes_parts = bool({"user_query", "system_prompt"} & parameters.keys())
        self._takes_tools = "tools" in parameters
        self.abilities = _abilities(getattr(obj, "abilities", None), self._takes_tools)

    def __call__(self, request: Request) -> Output:
        messages = [dict(message) for message in request.messages]
        more: dict[str, Any] = {"tools": request.tools or None} if self._takes_tools else {}
        output = self.method(**_parts(messages), **more) if self._takes_parts else self.method(messages, **more)
        if inspect.isawaitable(output):
            return acollect(output)
        is_stream = hasattr(output, "__aiter__") or inspect.isgenerator(output)
        return output if is_stream else reply_of(output)

    @inert
    def __repr__(self) -> str:
        return f"<model {self.name!r}>"


def _parts(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Split messages into the system prompt, the question (the last one before the first call), and all others."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    others = [message for message in messages if message["role"] != "system"]
    question = None
    for message in others:
        if message.get("tool_calls"):
            break
        question = message if message["role"] == "user" else question
    return {
        "system_prompt": system,
        "user_query": question["content"] if question else "",
        "messages": [message for message in others if message is not question],
    }


def _method(obj: Any) -> Callable[..., Any] | None:
    return next((method for name in _METHODS if callable(method := getattr(obj, name, None))), None)


def _parameters(method: Callable[..., Any]) -> dict[str, Any]:
    try:
        return dict(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return {}


def _check_takes_one_argument(function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(None)
    except ValueError:
        return
    except TypeError as error:
        raise UsageError(f"{function!r} cannot be called with one request ({error}); {_EXPECTED}") from None


def _abilities(stated: Any, takes_tools: bool) -> Abilities:
    """Return the abilities that an object states, also as a dict; an object that takes tools can call them."""
    if isinstance(stated, Abilities):
        return stated
    if isinstance(stated, dict):
        tools = bool(stated.get("tool_call", stated.get("tools")))
        has_json_mode = bool(stated.get("json_mode", stated.get("json")))
        return Abilities(tools, has_json_mode, reasoning=bool(stated.get("reasoning")))
    return Abilities(tools=takes_tools)
