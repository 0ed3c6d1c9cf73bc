"""Other objects as models."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from agentkit import Agent, Loop
from agentkit.core.messages import Call, Chat, Message, Reply, Usage, assistant
from agentkit.errors import ModelError, UsageError
from agentkit.models import dialects
from agentkit.models.adapters import as_model
from agentkit.models.base import Abilities, Request
from agentkit.models.reply_conversion import reply_of
from agentkit.models.scripted import Scripted
from agentkit.models.stream_collector import acollect, collect
from agentkit.tools.tool import tool


@tool
def now() -> str:
    """Tell the time."""
    return "noon"


CALLED = assistant("", calls=(Call("now", {}, "c1"),), dialect="native")
CHAT = Chat.of([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Time?"}])


def request(model: Any, chat: Chat = CHAT) -> Request:
    return Request(chat, dialects.choose(model.abilities), (now,))


class Client:
    """A client that takes the prompt in parts."""

    def __init__(self, **answer: Any) -> None:
        self.answer, self.seen = answer, {}

    async def complete(
        self, system_prompt: str, user_query: str, messages: list[Any], tools: Any = None
    ) -> dict[str, Any]:
        self.seen = {"system_prompt": system_prompt, "user_query": user_query, "messages": messages, "tools": tools}
        return self.answer


def test_a_client_that_takes_the_prompt_in_parts_gets_the_parts() -> None:
    client = Client(content="so", tool_calls=[{"id": "c2", "name": "now", "input": {"zone": "UTC"}}])
    model = as_model(client)
    assert model.abilities == Abilities(tools=True)
    chat = CHAT + CALLED + Message("tool", "noon", call_id="c1", name="now")
    reply = asyncio.run(acollect(model(request(model, chat))))
    assert reply == Reply("so", (Call("now", {"zone": "UTC"}, "c2"),))
    assert (client.seen["system_prompt"], client.seen["user_query"]) == ("Be brief.", "Time?")
    assert [message["role"] for message in client.seen["messages"]] == ["assistant", "tool"]
    assert client.seen["tools"] == [now.native]


def test_a_request_without_tools_passes_none() -> None:
    model = as_model(client := Client(content="hi"))
    assert asyncio.run(acollect(model(Request(CHAT, dialects.get("native"))))).text == "hi"
    assert client.seen["tools"] is None


@pytest.mark.parametrize("method", ["chat", "continue_chat", "complete"])
@pytest.mark.parametrize(
    "answer", ["hi", {"content": "hi"}, SimpleNamespace(content="hi"), {"message": {"content": "hi"}}]
)
def test_an_object_with_one_method_is_a_model(method: str, answer: Any) -> None:
    seen: list[Any] = []

    def converse(messages: list[dict[str, Any]]) -> Any:
        seen.extend(messages)
        return answer

    model = as_model(SimpleNamespace(**{method: converse}))
    assert model.abilities == Abilities()
    assert collect(model(request(model))).text == "hi"
    assert [message["role"] for message in seen] == ["system", "system", "user"]


def test_a_foreign_model_cannot_change_the_messages_of_the_request() -> None:
    model = as_model(SimpleNamespace(chat=lambda messages: messages[-1].update(content="?") or "hi"))
    model(request(model))
    assert request(model).messages[-1]["content"] == "Time?"


def test_flags_in_a_dict_become_abilities() -> None:
    foreign = SimpleNamespace(chat=lambda messages, tools=None: "x", abilities={"tool_call": False, "json_mode": True})
    assert as_model(foreign).abilities == Abilities(json=True)


def test_a_function_and_a_model_are_returned_unchanged() -> None:
    def answer(asked: Request) -> str:
        return "hi"

    model = Scripted([])
    assert as_model(answer) is answer and as_model(model) is model


@pytest.mark.parametrize("thing", ["offline", 3, None, object(), Scripted, lambda: "x", lambda a, b: "x"])
def test_anything_else_is_refused_with_a_description_of_a_model(thing: Any) -> None:
    with pytest.raises(UsageError, match=r"a model is a function"):
        as_model(thing)


def test_a_whole_chat_completion_is_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    reply = reply_of({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage})
    assert reply == Reply("", (Call("now", {}, "c1", "{}"),), reasoning="hm", usage=Usage(5, 2), finish="tool_calls")


class SdkReply:
    """What an SDK returns: an object with blocks as content."""

    content = ({"type": "text", "text": "from blocks"},)


async def later(request: Any) -> Any:
    return {"content": "later"}


@pytest.mark.parametrize(
    ("model", "text"),
    [(lambda _: {"content": "now"}, "now"), (later, "later"), (lambda _: SdkReply(), "from blocks")],
)
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_a_record_becomes_a_reply_in_the_foreground_and_in_the_background(
    model: Any, text: str, background: bool
) -> None:
    run = Agent(model, journal=None).start("q", paused=True)
    result = run.play().wait() if background else run.drive()
    assert (result.answer, result.error) == (text, None)


def test_a_call_among_the_blocks_of_a_content_is_a_call() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
    reply = reply_of({"content": [{"type": "text", "text": "I add."}, use], "stop_reason": "tool_use"})
    assert reply.text == "I add." and reply.calls == (Call("add", {"a": 1}, "t1"),)


def test_abilities_of_the_wrong_type_are_refused_at_once() -> None:
    def model(request: Any) -> str:
        return "x"

    model.abilities = {"tools": True}  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="must be an Abilities"):
        Agent(model)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(None),  # type: ignore[arg-type]
        Reply("x", reasoning=5),  # type: ignore[arg-type]
        Reply("x", usage=5),  # type: ignore[arg-type]
        Reply("x", usage=Usage("many")),  # type: ignore[arg-type]
        Reply("x", usage=Usage(1, cost=float("nan"))),
        Reply("x", usage=Usage(1, cost=float("inf"))),
        Reply("x", calls=["now"]),  # type: ignore[arg-type]
        Reply("x", calls=(Call("now", "noon"),)),  # type: ignore[arg-type]
    ],
)
def test_a_reply_with_fields_of_the_wrong_type_is_refused(reply: Reply) -> None:
    with pytest.raises(TypeError, match="of a Reply must be"):
        reply_of(reply)


@pytest.mark.parametrize(
    "record",
    [
        {"success": False, "error": "quota is gone"},
        {"success": False, "error": "quota is gone", "content": "", "tool_calls": []},
        {"success": False, "content": None, "error": {"message": "quota is gone", "code": 3}},
        {"success": False, "message": "quota is gone"},
        {"error": {"message": "quota is gone"}},
        SimpleNamespace(success=False, error="quota is gone", content=""),
        SimpleNamespace(content="", tool_calls=None, error=RuntimeError("quota is gone")),
    ],
)
def test_a_record_that_reports_an_error_is_that_error(record: Any) -> None:
    with pytest.raises(ModelError, match="quota is gone"):
        reply_of(record)
    result = Agent(SimpleNamespace(complete=lambda messages: record), journal=None).run("q")
    assert "quota is gone" in str(result.error)


@pytest.mark.parametrize("record", [{"success": True, "error": None, "content": "hi"}, {"error": "", "content": "hi"}])
def test_a_record_without_an_error_is_a_reply(record: Any) -> None:
    assert reply_of(record).text == "hi"


class KeywordOnly:
    def chat(self, *, messages: list[Any], tools: Any = None) -> str:
        return messages[-1]["content"]


class AnyKeyword:
    def complete(self, **given: Any) -> str:
        return given["messages"][-1]["content"]


class PartsByKeyword:
    def complete(self, *, system_prompt: str, user_query: str) -> str:
        return user_query


class AnythingAtAll:
    def chat(self, *given: Any, **more: Any) -> str:
        return given[0][-1]["content"]


@pytest.mark.parametrize("client", [KeywordOnly(), AnyKeyword(), PartsByKeyword(), AnythingAtAll()])
def test_a_method_is_called_as_its_signature_wants(client: Any) -> None:
    assert Agent(client, journal=None).run("Time?").answer == "Time?"


@pytest.mark.parametrize("supports", [True, False])
def test_an_object_that_says_whether_it_supports_tools_is_believed(supports: bool) -> None:
    model = SimpleNamespace(chat=lambda messages, tools=None: "x", supports_tools=supports)
    assert as_model(model).abilities == Abilities(tools=supports)


def test_an_object_that_supports_tools_gets_them_under_any_keyword() -> None:
    seen: dict[str, Any] = {}

    class Open(AnyKeyword):
        supports_tools = True

        def complete(self, **given: Any) -> str:
            seen.update(given)
            return "hi"

    assert Agent(Open(), [now], journal=None).run("q").answer == "hi"
    assert seen["tools"] == [now.native]


async def _async_words(messages: Any) -> Any:
    for word in ("One ", "two."):
        yield word


@pytest.mark.parametrize(
    "stream",
    [
        lambda messages: iter(["One ", "two."]),
        lambda messages: (word for word in ("One ", "two.")),
        lambda messages: iter([{"content": "One "}, {"content": "two.", "finish_reason": "stop"}]),
        lambda messages: iter([SimpleNamespace(text="One "), SimpleNamespace(text="two.")]),
        _async_words,
    ],
)
def test_an_object_that_only_streams_is_a_model(stream: Any) -> None:
    assert Agent(SimpleNamespace(stream=stream), journal=None).run("count").answer == "One two."


class Role(enum.Enum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass
class ChatMessage:
    role: Role
    content: str


@dataclass
class ForeignCall:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass
class ForeignReply:
    content: str
    tool_calls: list[ForeignCall]


class ChatEngine:
    """An engine in the style of OVOS: messages are objects with a role of an enum, and so is what it returns."""

    def continue_chat(
        self, messages: list[ChatMessage], session_id: str = "default", lang: str | None = None
    ) -> ChatMessage:
        assert all(isinstance(message.role, Role) for message in messages)
        asked = next(message for message in messages if message.role is Role.USER)
        return ChatMessage(Role.ASSISTANT, asked.content)


class UnannotatedEngine:
    def continue_chat(self, messages, session_id="default"):  # type: ignore[no-untyped-def]
        return SimpleNamespace(role="assistant", content=messages[-1].role + ": " + messages[-1].content)


def test_messages_come_as_the_class_that_the_annotation_names_and_else_with_attributes() -> None:
    assert Agent(ChatEngine(), journal=None).run("Time?").answer == "Time?"
    assert Agent(UnannotatedEngine(), journal=None).run("Time?").answer == "user: Time?"


def test_calls_in_records_of_any_class_are_calls() -> None:
    replies = iter([ForeignReply("", [ForeignCall("c1", "now", {})]), ForeignReply("noon", [])])
    result = Agent(SimpleNamespace(chat=lambda messages, tools=None: next(replies)), [now], journal=None).run("q")
    assert (result.answer, [entry.result.text for entry in result.run.entries if entry.kind == "act"]) == (
        "noon",
        ["noon"],
    )


def _mock(name: str, mock: Any) -> Any:
    model = MagicMock()
    setattr(model, name, mock)
    return model


def _configured(name: str) -> Any:
    model = MagicMock()
    getattr(model, name).return_value = {"content": "hi"}
    return model


@pytest.mark.parametrize(
    "model",
    [
        _mock("complete", AsyncMock(return_value={"content": "hi"})),
        _mock("chat", MagicMock(return_value="hi")),
        _mock("continue_chat", lambda messages: "hi"),
        _configured("chat"),
        _configured("complete"),
        MagicMock(return_value="hi"),
        AsyncMock(return_value="hi"),
    ],
)
def test_a_mock_with_one_method_or_a_return_value_is_a_model(model: Any) -> None:
    assert Agent(model, journal=None).run("q").answer == "hi"


# -- classes of calls --------------------------------------------------------------------------------------------------


class Speaker(enum.StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass
class ToolCall:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass
class Spoken:
    role: Speaker
    content: str
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None


class CallingEngine:
    """A chat engine in the interface of OVOS; one of its annotations cannot be looked up."""

    supports_tools = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def continue_chat(self, messages: list[Spoken], tools: NoSuchType = None) -> Spoken:  # noqa: F821
        self.seen.append((messages, tools))
        calls = [ToolCall("c1", "now", {})] if len(self.seen) == 1 else None
        return Spoken(Speaker.ASSISTANT, "" if calls else "It is noon.", calls)


def test_calls_are_objects_of_the_class_that_a_message_class_names() -> None:
    engine = CallingEngine()
    assert Agent(engine, [now], journal="memory").run("Time?").answer == "It is noon."
    asked, answered = engine.seen[1][0][-2:]
    assert asked == Spoken(Speaker.ASSISTANT, "", [ToolCall("c1", "now", {})])
    assert answered == Spoken(Speaker.TOOL, "noon", None, "c1")


def test_a_method_gets_no_tools_when_none_may_be_called() -> None:
    engine = CallingEngine()
    run = Agent(engine, [now], engine=Loop("react", max_iterations=1), journal="memory").run("Time?").run
    assert run.result.answer == "It is noon." and engine.seen[0][1] and engine.seen[1][1] is None


def test_messages_of_another_library_are_a_task() -> None:
    call = SimpleNamespace(id="c1", name="now", arguments={"zone": "UTC"})
    messages = [
        SimpleNamespace(role="developer", content="Be brief."),
        Spoken(Speaker.USER, "Time?"),
        SimpleNamespace(role="assistant", content="", tool_calls=[call]),
        SimpleNamespace(role="tool", content="noon", tool_call_id="c1", name="now"),
    ]
    system, _, asked, answered = Chat.of(messages)
    assert system.role == "system" and asked.calls == (Call("now", {"zone": "UTC"}, "c1"),) and answered.call_id == "c1"
    with pytest.raises(ValueError, match="must have the name of a tool"):
        Chat.of([SimpleNamespace(role="assistant", content="", tool_calls=[{"id": "c1"}])])
