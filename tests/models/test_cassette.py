"""Recording and playing back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.core.messages import Call, Chat, Reply, Usage
from agentkit.errors import JournalTooNew, NotRecorded, UsageError
from agentkit.models import dialects
from agentkit.models.base import Abilities, Request
from agentkit.models.cassette import Cassette
from agentkit.models.scripted import Scripted

WHOLE = Reply(
    "so",
    (Call("add", {"a": 1}, "c1"),),
    reasoning="why",
    usage=Usage(3, 4),
    finish="tool_calls",
    opaque={"signed": "x"},
)


def request(text: str = "q") -> Request:
    return Request(Chat.of(text), dialects.get("native"))


def test_what_was_recorded_is_played_back_without_the_model(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tape.json"
    model = Scripted([WHOLE, "two"], abilities=Abilities(tools=True), name="real")
    recorder = Cassette(path, model, "record")
    assert [recorder(request("a")), recorder(request("b")).text] == [WHOLE, "two"]
    player = Cassette(path)
    assert (player.name, player.abilities) == ("real", Abilities(tools=True))
    assert player(request("b")).text == "two" and player(request("a")) == WHOLE


def test_the_same_request_is_answered_in_the_recorded_order_and_then_by_the_last() -> None:
    tape: dict[str, Any] = {}
    recorder = Cassette(tape, Scripted(["one", "two"]), "record")
    recorder(request()), recorder(request())
    player = Cassette(tape)
    assert [player(request()).text for _ in range(3)] == ["one", "two", "two"]


def test_auto_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    first, second = Scripted(["one"]), Scripted(["two"])
    Cassette(path, first, "auto")(request("a"))
    both = Cassette(path, second, "auto")
    assert [both(request(text)).text for text in "aba"] == ["one", "two", "one"]
    assert (len(first.requests), len(second.requests)) == (1, 1)


def test_a_miss_is_loud_and_shows_the_nearest_and_the_difference() -> None:
    tape: dict[str, Any] = {}
    recorder = Cassette(tape, Scripted(["one", "two"]), "record")
    recorder(request("the weather in Oslo")), recorder(request("something else"))
    with pytest.raises(NotRecorded) as miss:
        Cassette(tape)(request("the weather in Rome"))
    said = str(miss.value)
    assert "nearest is number 1" in said and "weather in Oslo" in said and "weather in Rome" in said


def test_a_miss_among_huge_messages_is_told_in_few_words() -> None:
    tape: dict[str, Any] = {}
    Cassette(tape, Scripted(["one"]), "record")(request("ab" * 200_000))
    with pytest.raises(NotRecorded) as miss:
        Cassette(tape)(request("ab" * 200_000 + "c"))
    assert len(str(miss.value)) < 3_000


def test_the_file_is_for_people_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Cassette(tmp_path / name, Scripted(["größer"]), "record")(request("ü"))
    written = (tmp_path / "one").read_text(encoding="utf-8")
    assert written == (tmp_path / "two").read_text(encoding="utf-8")
    assert "größer" in written and list(json.loads(written)) == sorted(json.loads(written))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one", "two"]


def test_secrets_stay_off_the_tape(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    recorder = Cassette(tmp_path / "tape", Scripted([f"your key is {key}"]), "record")
    assert key in recorder(request(f"use {key}")).text
    assert key not in (tmp_path / "tape").read_text(encoding="utf-8")
    assert "your key is" in Cassette(tmp_path / "tape")(request(f"use {key}")).text


def test_streams_and_awaitables_are_recorded_whole() -> None:
    async def slow(asked: Request) -> str:
        await asyncio.sleep(0)
        return "slow"

    tape: dict[str, Any] = {}
    assert Cassette(tape, Scripted(["streamed"], chunks=2), "record")(request("a")).text == "streamed"
    assert asyncio.run(Cassette(tape, slow, "auto")(request("b"))).text == "slow"
    player = Cassette(tape)
    assert [player(request(text)).text for text in "ab"] == ["streamed", "slow"]


def test_what_is_no_cassette_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="record it first"):
        Cassette(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="no cassette"):
        Cassette(tmp_path / "text")
    with pytest.raises(JournalTooNew):
        Cassette({"agentkit_cassette": 99})
    with pytest.raises(UsageError, match="needs the model"):
        Cassette({}, mode="record")
    with pytest.raises(UsageError, match="replay, record, auto"):
        Cassette({}, mode="play")  # type: ignore[arg-type]
    with pytest.raises(NotRecorded, match="no recording at all"):
        Cassette({})(request())
