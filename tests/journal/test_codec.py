"""Rows become JSON and are read back equal, and nothing is written twice."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import pytest

from agentkit.core import secrets
from agentkit.core.messages import Call, Chat, Message, Reply, Token, assistant, system, user
from agentkit.core.schema import Shape
from agentkit.core.steps import Act, Ask, Conclude, End, Think
from agentkit.core.usage import Usage
from agentkit.journal import Entry, Note
from agentkit.journal.reader import Reader
from agentkit.journal.writer import Writer
from agentkit.tools.tool import Tool

CHAT = Chat.of([system("be brief"), user("2+2?", pinned=True)])
CALLS = (
    Call("add", {"a": 2, "b": 2}, "c1", raw="{'a':2", coerced=("quotes",)),
    Call("no", {}, "c2", problem="no such tool"),
)
HEARD = (user("[USER INTERRUPT] hurry", notes=("n1",), pinned=True),)
REPLY = Reply(
    "I add", CALLS, None, "hm", "Thought: I add", "text", ("two actions",), "Observation: 5", False, 2, HEARD,
    Usage(9, 8, 7, 6, 0.5, 2), "m1", "stop", {"sig": "x"}, (Token("I", 0.75, {"We": 0.2}), Token(" add", 1.0)),
)  # fmt: skip
SHAPE = Shape("sum", {"type": "object", "properties": {"sum": {"type": "integer"}}})
SUM = Message("tool", "4", (), "c1", "add", value=4)
FAILED = Message("tool", "Error: no", (), "c2", "no", ok=False)

ENTRIES = [
    Entry(0, "begin", result={"engine": "agentkit.engines.react:react", "parameters": {"n": 10}}),
    Entry(
        1,
        "think",
        "react",
        0,
        Think(CHAT, (), "plan", {"episode": 2}, "none", False),
        Think(CHAT + HEARD[0]),
        REPLY,
        "model",
    ),
    Entry(2, "act", "[1.0]", 0, Act(CALLS[0]), None, SUM, "tool", started=1.25, ended=2.5, original=7, reason="typo"),
    Entry(2, "act", "[1.1]", 0, Act(CALLS[1], "lookup", {"episode": 2}), None, FAILED, "tool"),
    Entry(3, "ask", "", 2, Ask("which?", choices=("a", "b")), None, "a", "human"),
    Entry(4, "end", "", 3, Act(CALLS[0]), None, End("as far as it came", "budget", ".1")),
    Entry(6, "conclude", "", 4, Conclude("four"), None, None),
    Entry(6, "conclude", "", 4, Conclude("four", "answer", {"ok": True}, "max_turns"), None, HEARD[0]),
    Entry(
        7,
        "think",
        "",
        5,
        Think(CHAT + REPLY + (SUM, FAILED)),
        None,
        Reply("4", answer="4"),
        usage=Usage(1),
        model="m",
        dialect="json",
    ),
    Entry(7, "think", "", 5, Think(CHAT, shape=SHAPE, optional=True), None, Reply("FINAL: 4", answer="4")),
    Note("inject", {"text": "hurry", "anchor": 3}, 12.5),
]


def there_and_back(*rows, writer=None, mask=None):
    writer, reader, bodies, found = writer or Writer(mask), Reader(), [], []
    for row in rows:
        bodies.append(writer.encode(row))
        writer.keep()
        found.append(reader.decode(bodies[-1]))
    return found, bodies


def test_every_kind_of_row_is_read_back_equal():
    found, _ = there_and_back(*ENTRIES)
    for row, again in zip(ENTRIES, found, strict=True):
        assert again == row
    assert found[2].step.call is found[1].result.calls[0]  # a call is written once, in the reply that asks for it


def test_chats_are_read_back_with_their_messages_and_share_their_past():
    found, _ = there_and_back(*ENTRIES)
    first, later = found[1].step.chat, found[8].step.chat
    assert list(later) == [*CHAT, *HEARD, REPLY.messages[-1], SUM, FAILED]
    assert first in list(later.nodes()) and any(node is first for node in later.nodes())
    assert found[1].performed.chat.notes == {"n1"}


def test_every_line_is_json_that_any_parser_can_read():
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    odd = Message("tool", "NaN \ud800 Infinity", value=[math.nan, math.inf, {"a": -math.inf}])
    rows = [
        *ENTRIES,
        Entry(0, "act", result=odd, started=math.nan),
        Note("warning", {"x": math.nan, "\udfff": "\ud800"}),
    ]
    _, bodies = there_and_back(*rows)
    for body in bodies:
        assert body.isascii()
        for line in body.split("\n"):
            json.loads(line, parse_constant=refuse)


def test_nan_and_lone_surrogates_are_preserved():
    odd = Message("tool", "\ud800", value={"n": math.nan, "i": math.inf, "s": "\udfff"})
    (entry, note), _ = there_and_back(Entry(0, "act", result=odd), Note("warning", {"x": -math.inf, "s": "\ud800"}))
    value = entry.result.value
    assert (
        math.isnan(value["n"]) and value["i"] == math.inf and value["s"] == "\udfff" and entry.result.text == "\ud800"
    )
    assert note.data == {"x": -math.inf, "s": "\ud800"}


def test_data_that_is_not_json_is_stored_as_the_nearest_json():
    cyclic: list = [1]
    cyclic.append(cyclic)

    class Rude:
        def __str__(self):
            raise RuntimeError("no text")

    rows = [
        Entry(0, "act", result=Message("tool", "t", value=value))
        for value in (cyclic, {1: "a", "b": 2}, b"bytes", Rude())
    ]
    found, _ = there_and_back(*rows, Note("warning", {"c": cyclic, "r": Rude()}))
    assert [row.result.value for row in found[:3]] == [[1, "…"], {"1": "a", "b": 2}, "b'bytes'"]
    assert found[4].data == {"c": [1, "…"], "r": "<Rude>"}


def test_deeply_nested_data_can_be_read_from_any_depth_of_calls():
    deep: list = []
    for _ in range(sys.getrecursionlimit() - 150):
        deep = [deep]
    body = Writer(secrets.mask).encode(Entry(0, "act", result=Message("tool", "t", value=deep)))

    def down(levels):
        return down(levels - 1) if levels else Reader().decode(body)

    assert down(200).result.text == "t"


def test_a_message_is_stored_once_even_if_many_rows_repeat_it(make):
    writer, chat, sizes = Writer(), Chat.of("the task"), []
    for number in range(100, 160):
        rows, chat = make.turn(chat, number)
        sizes.append(0)
        for row in rows:
            sizes[-1] += len(writer.encode(row))
            writer.keep()
    assert max(sizes[1:]) - min(sizes[1:]) < 10
    assert sizes[-1] < 2000


def test_an_append_reads_only_new_messages():
    class Watched(Chat):
        seen = 0

        def nodes(self):
            for node in super().nodes():
                Watched.seen += 1
                yield node

    writer, chat = Writer(), Watched()
    for number in range(2000):
        chat = Watched(chat, user(f"m{number}"))
    writer.encode(Entry(0, "think", step=Think(chat)))
    writer.keep()
    Watched.seen = 0
    writer.encode(Entry(0, "think", step=Think(Watched(chat, user("one more")))))
    assert Watched.seen < 10


def test_a_row_that_could_not_be_stored_is_encoded_the_same_way_again(make):
    rows, _ = make.turn(CHAT, 1)
    writer = Writer()
    first = [writer.encode(row) for row in rows for _ in range(2)]
    assert first[0] == first[1]
    assert Reader().decode(first[1]) == replace(rows[0], run="")
    assert Reader().decode(first[5]) == replace(
        rows[2], run=""
    )  # the reply was never stored, so its calls are written in full


def test_twenty_thousand_messages_are_stored_and_read_without_recursion():
    chat = Chat.of([user(f"m{n}") for n in range(20_000)])
    (entry,), _ = there_and_back(Entry(0, "think", step=Think(chat)))
    assert entry.step.chat == chat and len(list(entry.step.chat)) == 20_000


def test_tools_are_stored_once_with_name_digest_and_schema():
    tool = Tool(
        "add", "Add two numbers.", {"type": "object", "properties": {"a": {"type": "number"}}}, print, effect="pure"
    )
    rows = [Entry(0, "think", step=Think(CHAT, (tool,))), Entry(0, "think", step=Think(CHAT, (tool,)))]
    found, bodies = there_and_back(*rows)
    (kept,) = found[0].step.tools
    assert (kept.name, kept.description, kept.parameters, kept.effect) == (
        "add",
        "Add two numbers.",
        tool.parameters,
        "pure",
    )
    assert kept.digest and found[1].step.tools == found[0].step.tools
    assert "Add two" in bodies[0] and "Add two" not in bodies[1]


@pytest.mark.parametrize("at", [1, 2])
def test_the_digest_of_a_changed_message_reveals_the_change(at):
    body = Writer().encode(Entry(0, "think", step=Think(CHAT)))
    lines = body.split("\n")
    lines[at] = lines[at].replace("b", "p", 1) if at == 1 else lines[at].replace("2+2", "2+3")
    with pytest.raises((KeyError, ValueError)):
        Reader().decode("\n".join(lines))


def test_no_row_contains_secrets_and_the_chat_still_matches_its_digest():
    token = "sk-ant-" + "a1b2" * 10
    chat = CHAT + f"my key is {token}" + assistant("thanks")
    reply = Reply(
        f"use {token}", (Call("get", {"password": "swordfish", "url": token}, "c"),), raw=token, reasoning=token
    )
    rows = [
        Entry(1, "think", step=Think(chat, tags={"note": token}), result=reply, reason=token),
        Entry(2, "act", step=Act(reply.calls[0]), result=Message("tool", token, (), "c", "get", value=[token])),
        Entry(
            3,
            "think",
            step=Think(chat + reply + Message("tool", token, (), "c", "get", value=[token])),
            result=Reply("ok", answer=token),
        ),
        Entry(4, "think", step=Think(chat + reply + "and on"), result=None),
        Note("inject", {"text": token}),
    ]
    found, bodies = there_and_back(*rows, mask=secrets.mask)
    assert not [body for body in bodies if token in body or "swordfish" in body]
    assert found[0].step.chat[2].text == "my key is [secret sk-…]"
    assert (
        (found[1].step.call,)
        == found[0].result.calls
        == (Call("get", {"password": "[secret password]", "url": "[secret sk-…]"}, "c"),)
    )
    assert list(found[2].step.chat)[:4] == list(found[0].step.chat)
    assert found[2].step.chat[4:5] == list(found[0].result.messages)
    assert found[3].step.chat[-1].text == "and on"


def test_masking_leaves_rows_without_secrets_unchanged():
    assert there_and_back(*ENTRIES, mask=secrets.mask)[1] == there_and_back(*ENTRIES)[1]
