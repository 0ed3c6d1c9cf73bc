"""A secret that a run works with appears in no event, repr or log, wherever it came from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.core import secrets
from agentkit.errors import ModelError, Undecided
from agentkit.models.base import Abilities, Chunk
from agentkit.models.scripted import Scripted

SECRET = "wk-5f1d0c77aa2244f0-and-so-on"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WEATHER_API_KEY", SECRET)
    secrets.refresh()
    yield
    monkeypatch.delenv("WEATHER_API_KEY")
    secrets.refresh()


USED: list[str] = []


@tool(effect="pure")
def fetch(key: str) -> str:
    """Fetch with a key."""
    USED.append(key)
    return "fetched"


def begin(*replies: Any, **options: Any) -> tuple[Run, list[str]]:
    heard: list[str] = []
    model = Scripted([*replies], abilities=Abilities(tools=True), chunks=options.pop("chunks", 0))
    run = Agent(model, [fetch], journal="memory", **split(options)).start("q", paused=True)
    run.on_event(lambda event: heard.append(str(event.to_dict())))
    return run, heard


def everything(run: Run, heard: list[str]) -> str:
    shown = [repr(run), repr(run.result), repr(run.branches()), run.hold, *map(repr, run.entries), *heard]
    return "\n".join([*shown, *(str(event.to_dict()) for event in run.events())])


def fetching(key: str = SECRET, name: str = "fetch") -> Reply:
    return Reply("I fetch", (Call(name, {"key": key}, "c"),))


def test_arguments_are_used_unmasked_and_shown_masked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    run, heard = begin(fetching(), "done")
    next(run)
    shown = everything(run, heard)
    run.drive()
    shown += everything(run, heard)
    assert USED[-1] == SECRET and SECRET not in shown and "[secret WEATHER_API_KEY]" in shown


def test_the_name_of_a_tool_is_masked() -> None:
    run, heard = begin(fetching(name=SECRET), "done", approve=True)
    run.drive()
    assert SECRET not in everything(run, heard)
    with pytest.raises(Undecided) as raised:
        next(run)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("drive", [Run.drive, lambda run: run.play().wait(10)])
def test_errors_of_a_model_a_listener_a_gate_and_a_breakpoint_are_masked(drive: Any) -> None:
    run, heard = begin(ModelError(f"401 for {SECRET}"), fetching(), "done", approve=raising)
    run.break_at(when=raising)
    run.on_event(raising)
    shown = ""
    for _ in range(4):
        drive(run)
        shown += everything(run, heard)
    assert SECRET not in shown and shown.count("[secret WEATHER_API_KEY]") > 6 and run.waiting


def raising(*args: Any) -> Any:
    raise ValueError(f"no {SECRET} here")


def test_the_reason_and_the_author_of_an_edit_are_masked() -> None:
    run, heard = begin(fetching(), "done")
    next(run)
    run.edit(1, text="x", reason=f"not with {SECRET}", author=f"bot {SECRET}")
    assert SECRET not in everything(run, heard) and SECRET not in str(run[1].reason + run[1].author)


@pytest.mark.parametrize("size", [1, 3, 8, 50])
def test_the_pieces_of_a_stream_are_masked_even_if_a_secret_is_cut(size: int) -> None:
    text = f"I use {SECRET}, and password: 'swordfish1' as ordered.\nNothing else"
    run, _ = begin(Reply(text), chunks=size)
    pieces: list[str] = []
    run.on_event(lambda event: pieces.append(event.data["text"]) if event.kind == "model_chunk" else None)
    run.drive()
    assert "".join(pieces) == secrets.mask(text) == run.answer and "swordfish1" not in "".join(pieces)
    assert len(pieces) > 3 or size == 50


def test_the_stream_of_a_failing_model_shows_what_came_before_the_failure() -> None:
    def model(request: Any) -> Any:
        yield Chunk("half a sent")
        raise ModelError("cut off")

    pieces: list[str] = []
    run = Agent(model, journal="memory").start("q", paused=True)
    run.on_event(lambda event: pieces.append(event.data["text"]) if event.kind == "model_chunk" else None)
    run.drive()
    assert "".join(pieces) == "half a sent" and run.status == "failed"


def test_no_half_of_a_secret_is_left_where_a_line_is_cut() -> None:
    run, heard = begin(fetching("x" * 170 + " " + SECRET), "done")
    run.drive()
    assert SECRET[:6] not in everything(run, heard)
