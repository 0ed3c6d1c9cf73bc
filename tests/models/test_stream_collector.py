"""Streams are collected into replies, and one that just stops is an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from random import Random
from typing import Any

import pytest

from agentkit.core.messages import Call, Reply, Token, Usage
from agentkit.errors import ModelError
from agentkit.models.base import CallDelta, Chunk
from agentkit.models.stream_collector import acollect, collect


def calls(*deltas: CallDelta) -> tuple[Call, ...]:
    return collect([*(Chunk(call=delta) for delta in deltas), Chunk(finish="tool_calls")]).calls


def test_chunks_become_one_reply() -> None:
    stream = [Chunk("a", reasoning="x"), Chunk("b", reasoning="y"), Chunk(usage=Usage(1, 2)), Chunk(finish="stop")]
    assert collect(stream) == Reply("ab", reasoning="xy", usage=Usage(1, 2), finish="stop")


def test_the_tokens_of_a_stream_are_collected_and_those_of_a_call_that_was_tried_again_are_not() -> None:
    first, second = Token("a", 0.5, {"b": 0.4}), Token("c", 0.9)
    stream = [Chunk("a", token=first), Chunk(again="the host was busy"), Chunk("c", token=second), Chunk(finish="stop")]
    assert collect(stream).tokens == (second,)


def test_parallel_calls_are_distinguished_by_their_index() -> None:
    parallel = calls(CallDelta(0, "a", "one", '{"x"'), CallDelta(1, "b", "two", "{}"), CallDelta(0, arguments=": 1}"))
    assert [(call.id, call.name, call.arguments) for call in parallel] == [("a", "one", {"x": 1}), ("b", "two", {})]


def test_a_name_that_is_repeated_in_every_piece_is_one_name() -> None:
    (call,) = calls(CallDelta(0, "a", "one", '{"x"'), CallDelta(0, "a", "one", ": 1}"))
    assert (call.name, call.arguments) == ("one", {"x": 1})


def test_two_names_under_one_index_are_two_calls() -> None:
    parallel = calls(CallDelta(0, name="one", arguments="{}"), CallDelta(0, name="two", arguments='{"x": 1}'))
    assert [(call.name, call.arguments) for call in parallel] == [("one", {}), ("two", {"x": 1})]


def test_two_ids_under_one_index_are_two_calls() -> None:
    parallel = calls(CallDelta(0, "a", "one", "{}"), CallDelta(0, "b", "one", '{"x": 1}'))
    assert [(call.id, call.arguments) for call in parallel] == [("a", {}), ("b", {"x": 1})]


def test_two_calls_of_one_tool_under_one_index_without_ids_are_two_calls() -> None:
    parallel = calls(CallDelta(0, "", "one", '{"x": 1}'), CallDelta(0, "", "one", '{"x": 2}'))
    assert [call.arguments for call in parallel] == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize("name", ["", "one"])
def test_a_new_id_in_every_piece_does_not_begin_a_new_call(name: str) -> None:
    pieces = [CallDelta(0, f"c{n}", name, piece) for n, piece in enumerate(['{"x"', ": ", "1}"], start=2)]
    (call,) = calls(CallDelta(0, "c1", "one"), *pieces)
    assert (call.id, call.name, call.arguments) == ("c1", "one", {"x": 1})


def test_a_name_in_pieces_is_one_name() -> None:
    (call,) = calls(CallDelta(0, "a", "get_"), CallDelta(0, name="weather"), CallDelta(0, arguments='{"x": 1}'))
    assert (call.name, call.arguments) == ("get_weather", {"x": 1})


@pytest.mark.parametrize("written", ['{"x": ', "", "[]", "x"])
def test_arguments_that_are_not_an_object_are_a_problem_and_are_kept(written: str) -> None:
    (call,) = calls(CallDelta(0, "a", "one", written))
    assert call.problem and call.arguments == {} and call.raw == written


@pytest.mark.parametrize(
    "stream", [[], [Chunk("half a sent")], [Chunk(call=CallDelta(0, "a", "one", "{}"))], ["text", Chunk("x")]]
)
def test_a_stream_that_just_stops_is_an_error(stream: list[Any]) -> None:
    with pytest.raises(ModelError, match="without a finish reason"):
        collect(stream)


def test_strings_are_a_stream_too() -> None:
    assert collect(iter(["a", "b"])) == Reply("ab", finish="stop")


def test_a_stream_is_closed_when_its_listener_stops() -> None:
    closed: list[str] = []

    def stream() -> Iterator[Chunk]:
        try:
            yield Chunk("a")
            yield Chunk("b", finish="stop")
        finally:
            closed.append("sync")

    async def later() -> AsyncIterator[Chunk]:
        try:
            yield Chunk("a")
            yield Chunk("b", finish="stop")
        finally:
            closed.append("async")

    def listener(chunk: Chunk) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(stream(), listener)
    assert closed == ["sync"]

    async def listen() -> None:
        with pytest.raises(KeyError):
            await acollect(later(), lambda chunk: {}["stop"])
        assert closed == ["sync", "async"]
        assert (await acollect(later())).text == "ab"

    asyncio.run(listen())


@pytest.mark.parametrize("thing", [3, object(), {"answer": "x"}, [3]])
def test_an_output_that_is_not_a_reply_is_an_error_that_names_its_type(thing: Any) -> None:
    with pytest.raises(ModelError, match=type(thing[0] if isinstance(thing, list) else thing).__name__):
        collect(thing)


HOSTS = {
    "as documented": lambda n, i, id, name: (n, id if not i else "", name if not i else ""),
    "everything in every piece": lambda n, i, id, name: (n, id, name),
    "an empty id after the first piece": lambda n, i, id, name: (n, "" if i else id, name if not i else ""),
    "one index for all": lambda n, i, id, name: (0, id if not i else "", name if not i else ""),
    "one index and no ids": lambda n, i, id, name: (0, "", name if not i else ""),
    "the index of the piece, with the id": lambda n, i, id, name: (n if not i else n + i, id, name if not i else ""),
    "another index after the first piece": lambda n, i, id, name: (n if not i else n + 7, id if not i else "", name if not i else ""),
    "a new id in every piece": lambda n, i, id, name: (n, f"{id}-{i}", name),
}  # fmt: skip
"""How hosts number and name the pieces of call `n`: the index, the id and the name of its piece `i`."""


@pytest.mark.parametrize("host", HOSTS)
def test_calls_are_put_together_however_a_host_numbers_and_names_their_pieces(host: str) -> None:
    random = Random(13)
    for _ in range(300):
        made = [
            (random.choice(["look", "add"]), {"x": n, "text": "{é}" * random.randint(0, 3)})
            for n in range(random.randint(1, 4))
        ]
        deltas = []
        for n, (name, arguments) in enumerate(made):
            written = json.dumps(arguments)
            size = random.randint(2, len(written))
            for i, piece in enumerate([written[at : at + size] for at in range(0, len(written), size)]):
                deltas.append(CallDelta(*HOSTS[host](n, i, f"c{n}", name), piece))
        assert [(call.name, call.arguments, call.problem) for call in calls(*deltas)] == [(*call, "") for call in made]
