"""Use other objects as models: anything with a method `complete`, `chat`, `continue_chat` or `stream` will do."""

from __future__ import annotations

import enum
import inspect
import json
import types
import typing
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, cast

from agentkit.errors import ModelError, UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Chunk, Model, Output, Request
from agentkit.models.reply_conversion import reply_of
from agentkit.models.stream_collector import acollect

_METHODS = ("complete", "chat", "continue_chat", "stream")
"""Methods that take a chat; the first that an object has is called."""

_EXPECTED = (
    "a model is a function of one request, or an object with complete(messages), chat(messages), "
    "continue_chat(messages) or stream(messages), or with complete(system_prompt=, user_query=, messages=, tools=)"
)


def as_model(obj: Any) -> Model:
    """Return an object as a model: itself if it is one, else an adapter. Raises `UsageError` for anything else."""
    if isinstance(obj, str | type) or obj is None:
        raise UsageError(f"{obj!r} is not a model; {_EXPECTED}")
    method = _method(obj)
    if callable(obj) and (inspect.isroutine(obj) or _has(obj, "abilities") or not method):
        _check_takes_one_argument(obj)
        if not _has(obj, "abilities") and hasattr(obj, "abilities"):
            return FunctionModel(obj)
        if not isinstance(abilities := getattr(obj, "abilities", Abilities()), Abilities):
            raise UsageError(f"the abilities of a model must be an Abilities(…), not {abilities!r:.100}")
        return cast(Model, obj)
    if method is None:
        raise UsageError(f"an object of type {type(obj).__name__} is not a model; {_EXPECTED}")
    return ForeignModel(obj, method)


class ForeignModel:
    """An adapter: it calls one method of another object with messages, and converts what that returns.

    Messages are dicts whose keys are attributes, too, or objects of the class that the method's annotation names. What
    a method cannot take is not passed.
    """

    def __init__(self, obj: Any, method: Callable[..., Any]) -> None:
        parameters = _parameters(method)
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        self.object = obj
        stated = getattr(obj, "supports_tools", None) if _has(obj, "supports_tools") else None
        self.name = str((_has(obj, "name") and getattr(obj, "name", None)) or type(obj).__name__)
        self.method = method
        self._takes_parts = bool({"user_query", "system_prompt"} & parameters.keys())
        self._takes_tools = "tools" in parameters or (takes_any and stated is True)
        self._parts = parameters.keys() if self._takes_parts and not takes_any else None
        self._field = _messages_field(parameters)
        self._message = messages_for(method, self._field or next(iter(parameters), ""))
        abilities = getattr(obj, "abilities", None) if _has(obj, "abilities") else None
        self.abilities = _abilities(abilities, self._takes_tools if stated is None else bool(stated))

    def __call__(self, request: Request) -> Output:
        messages = [dict(message) for message in request.messages]
        tools = None if request.choice == "none" else request.tools  # a method is told so in no other way
        more: dict[str, Any] = {"tools": tools or None} if self._takes_tools else {}
        if self._takes_parts:
            parts = _parts(messages)
            parts["messages"] = [self._message(message) for message in parts["messages"]]
            known = {name: part for name, part in parts.items() if self._parts is None or name in self._parts}
            output = self.method(**known, **more)
        elif self._field:
            output = self.method(**{self._field: [self._message(message) for message in messages]}, **more)
        else:
            output = self.method([self._message(message) for message in messages], **more)
        if inspect.isawaitable(output):
            return acollect(output)
        if hasattr(output, "__aiter__") and not _is_record(output):
            return _achunks(output)
        is_stream = inspect.isgenerator(output) or (hasattr(output, "__next__") and not _is_record(output))
        return _chunks(output) if is_stream else reply_of(output)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_model, (self.object,)

    @inert
    def __repr__(self) -> str:
        return f"<model {self.name!r}>"


class FunctionModel:
    """An adapter for a callable object that seems to have every attribute, as a mock has: only its call is used."""

    abilities = Abilities()

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = type(function).__name__

    def __call__(self, request: Request) -> Output:
        return cast(Output, self.function(request))

    @inert
    def __repr__(self) -> str:
        return f"<model {self.name!r}>"


def _chunks(pieces: Iterable[Any]) -> Iterator[Any]:
    """Yield the pieces of another library's stream as chunks or texts."""
    try:
        for piece in pieces:
            yield _chunk(piece)
    finally:
        if close := getattr(pieces, "close", None):
            close()


async def _achunks(pieces: AsyncIterable[Any]) -> AsyncIterator[Any]:
    try:
        async for piece in pieces:
            yield _chunk(piece)
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()


def _chunk(piece: Any) -> Any:
    """Return a piece as it is if it is a chunk or a text, else the text in it; the finish reason makes it a chunk."""
    if isinstance(piece, Chunk | str):
        return piece
    reply = reply_of(piece)
    if reply.calls:
        raise ModelError("a piece of a stream holds a whole call; return a reply instead of a stream")
    return Chunk(reply.text, reply.reasoning, usage=reply.usage, finish=reply.finish) if reply.finish else reply.text


def _is_record(output: Any) -> bool:
    return any(hasattr(output, name) for name in ("content", "choices", "tool_calls"))


class _AttributeDict(dict[str, Any]):
    """A message as a dict whose keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def messages_for(method: Callable[..., Any], parameter: str) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a message of the class that an annotation such as `list[AgentMessage]` names, else a dict."""
    kind = _listed_class(_hint(method, parameter))
    fields = _parameters(kind) if kind else {}
    if kind is None or not {"role", "content"} <= fields.keys():
        return _AttributeDict
    known = _parameter_types(kind, "role")
    role, call = known.get("role"), _calls_for(_listed_class(known.get("tool_calls")))

    def make(message: dict[str, Any]) -> Any:
        given = {name: value for name, value in message.items() if name in fields}
        if isinstance(role, type) and issubclass(role, enum.Enum):
            given["role"] = next((each for each in role if message["role"] in _spellings(each)), message["role"])
        if call and given.get("tool_calls"):
            given["tool_calls"] = [call(each) for each in given["tool_calls"]]
        return kind(**given)

    return make


def _hint(method: Callable[..., Any], parameter: str) -> Any:
    """Return the evaluated annotation of one parameter; None if it has none, or if it cannot be looked up."""
    try:
        alone = type("alone", (), {"__annotations__": {parameter: method.__annotations__[parameter]}})
        return typing.get_type_hints(alone, getattr(inspect.unwrap(method), "__globals__", None))[parameter]
    except Exception:
        return None


def _listed_class(hint: Any) -> type | None:
    """Return the class in an annotation such as `list[AgentMessage]` or `list[ToolCall] | None`; None for any other."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(filter(None, map(_listed_class, typing.get_args(hint))), None)
    listed = [each for each in typing.get_args(hint) if isinstance(each, type)]
    return listed[0] if len(listed) == 1 and not issubclass(listed[0], dict | str) else None


def _calls_for(kind: type | None) -> Callable[[dict[str, Any]], Any] | None:
    """Return what makes a call of a class with `name` and `arguments`, which are a dict if it is annotated so."""
    fields = _parameters(kind) if kind else {}
    if kind is None or not {"name", "arguments"} <= fields.keys():
        return None
    arguments = _parameter_types(kind, "arguments").get("arguments")
    takes_dict = dict in (arguments, typing.get_origin(arguments))

    def make(call: dict[str, Any]) -> Any:
        function = call["function"]
        given = {"id": call["id"], "type": call["type"], **function}
        if takes_dict:
            given["arguments"] = json.loads(function["arguments"])
        return kind(**{name: value for name, value in given.items() if name in fields})

    return make


def _spellings(role: enum.Enum) -> tuple[str, str]:
    return str(role.value).lower(), role.name.lower()


def _parameter_types(kind: type, wanted: str) -> dict[str, Any]:
    """Return the types of what a class is made of: of its fields, else of `__init__`, with that of `wanted`; or {}."""
    for annotated in (kind, getattr(kind, "__init__", None)):
        try:
            if wanted in (hints := typing.get_type_hints(annotated)):
                return hints
        except Exception:  # as above
            continue
    return {}


def _messages_field(parameters: dict[str, Any]) -> str:
    """Return the name under which a method takes the messages if it does not take them by position; else ""."""
    by_position = [each for each in parameters.values() if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL)]
    either = [each for each in parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
    if by_position or not parameters or (either and "messages" not in parameters):
        return ""
    by_name = [name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY and name != "tools"]
    return "messages" if "messages" in parameters or not by_name else by_name[0]


def _has(obj: Any, name: str) -> bool:
    """Return whether an object has an attribute; of a mock, which has any, only those that somebody has set or used."""
    attributes = getattr(obj, "__dict__", {})
    children = attributes.get("_mock_children")
    return hasattr(obj, name) if children is None else name in children or name in attributes


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
    return next((getattr(obj, name) for name in _METHODS if _has(obj, name) and callable(getattr(obj, name))), None)


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


def _abilities(stated: Any, has_tools: bool) -> Abilities:
    """Return the abilities that an object states, also as a dict; else whether it can call tools is known apart."""
    if isinstance(stated, Abilities):
        return stated
    if isinstance(stated, dict):
        tools = bool(stated.get("tool_call", stated.get("tools")))
        has_json_mode = bool(stated.get("json_mode", stated.get("json")))
        return Abilities(tools, has_json_mode, reasoning=bool(stated.get("reasoning")))
    return Abilities(tools=has_tools)
