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

FULL = Reply(
    "so",
    (Call("add", {"a": 1}, "c1"),),
    reasoning="why",
    usage=Usage(3, 4),
    finish="tool_calls",
    opaque={"signed": "x"},
)


def request(text: str = "q") -> Request:
    return Request(Chat.of(text), dialects.get("native"))


def test_a_recording_is_played_back_without_the_model(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tape.json"
    model = Scripted([FULL, "two"], abilities=Abilities(tools=True), name="real")
    recorder = Cassette(path, model, "record")
    assert [recorder(request("a")), recorder(request("b")).text] == [FULL, "two"]
    player = Cassette(path)
    assert (player.name, player.abilities) == ("real", Abilities(tools=True))
    assert player(request("b")).text == "two" and player(request("a")) == FULL


def test_a_repeated_request_gets_the_recorded_replies_in_order_and_then_the_last_one() -> None:
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


def test_a_missing_request_raises_and_shows_the_closest_recording_and_the_difference() -> None:
    tape: dict[str, Any] = {}
    recorder = Cassette(tape, Scripted(["one", "two"]), "record")
    recorder(request("the weather in Oslo")), recorder(request("something else"))
    with pytest.raises(NotRecorded) as miss:
        Cassette(tape)(request("the weather in Rome"))
    text = str(miss.value)
    assert "closest is number 1" in text and "weather in Oslo" in text and "weather in Rome" in text


def test_a_missing_request_with_a_huge_message_is_described_briefly() -> None:
    tape: dict[str, Any] = {}
    Cassette(tape, Scripted(["one"]), "record")(request("ab" * 200_000))
    with pytest.raises(NotRecorded) as miss:
        Cassette(tape)(request("ab" * 200_000 + "c"))
    assert len(str(miss.value)) < 3_000


def test_the_file_is_readable_and_the_same_every_time(tmp_path: Path) -> None:
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


def test_streams_and_awaitables_are_recorded_as_whole_replies() -> None:
    async def slow(asked: Request) -> str:
        await asyncio.sleep(0)
        return "slow"

    tape: dict[str, Any] = {}
    assert Cassette(tape, Scripted(["streamed"], chunks=2), "record")(request("a")).text == "streamed"
    assert asyncio.run(Cassette(tape, slow, "auto")(request("b"))).text == "slow"
    player = Cassette(tape)
    assert [player(request(text)).text for text in "ab"] == ["streamed", "slow"]


def test_an_unusable_cassette_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="record it first"):
        Cassette(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="not a cassette"):
        Cassette(tmp_path / "text")
    with pytest.raises(JournalTooNew):
        Cassette({"agentkit_cassette": 99})
    with pytest.raises(UsageError, match="needs the model"):
        Cassette({}, mode="record")
    with pytest.raises(UsageError, match="replay, record, auto"):
        Cassette({}, mode="play")  # type: ignore[arg-type]
    with pytest.raises(NotRecorded, match="no recording at all"):
        Cassette({})(request())
