"""Only the beginning of long results is shown; the model can read on, from the trace."""

from __future__ import annotations

import re
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Reply, tool
from agentkit.errors import UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

BOOK = "".join(f"line {n:04}\n" for n in range(900))  # 9,000 characters


@tool(effect="pure")
def book(name: str = "the book") -> str:
    """Return a whole book."""
    return BOOK


@tool(effect="pure", timeout=None)
async def scroll() -> str:
    """Return a longer book."""
    return BOOK * 2


def call(name: str, id: str, **arguments: Any) -> Reply:
    return Reply("", (Call(name, arguments, id),))


def read(id: str, start: int) -> Any:
    """Return a reply that reads on in the newest result with an address."""
    return lambda request: call(
        "read_result", id, address=re.findall(r"result://\w+", str(request.chat.last.text))[-1], start=start
    )


def tool_results(model: Scripted, request: int = -1) -> list[str]:
    return [message["content"] for message in model.requests[request]["messages"] if message["role"] == "tool"]


def start(*replies: Any, tools: Any = (book, scroll), **options: Any) -> tuple[Scripted, Any]:
    model = Scripted(list(replies), abilities=Abilities(tools=True))
    return model, Agent(model, list(tools), journal="memory", **split(options)).start("Read.", paused=True)


DRIVE = {
    "to the end": lambda run: run.drive(),
    "step by step": lambda run: list(run),
    "in the background": lambda run: run.play().wait(),
}


@pytest.mark.parametrize("drive", DRIVE.values(), ids=DRIVE)
@pytest.mark.parametrize("name", ["book", "scroll"])
def test_a_long_result_is_a_preview_with_an_address_and_the_rest_is_read(drive: Any, name: str) -> None:
    model, run = start(call(name, "c"), read("c", 2_000), "read", offload=True)
    drive(run)
    full_text = BOOK if name == "book" else BOOK * 2
    preview, piece = tool_results(model)
    assert preview.startswith(full_text[:2_000] + "\n[Truncated]") and len(preview) < 2_200
    assert piece.startswith(full_text[2_000:6_000] + "\n[Characters 2,000 to 6,000")
    assert run[2].result.text == full_text


def test_a_short_result_is_shown_in_full_and_without_the_option_every_result_is() -> None:
    model, run = start(call("book", "c"), "read", offload=9_000)
    run.drive()
    assert (
        tool_results(model) == [BOOK]
        and [spec["function"]["name"] for spec in model.requests[-1]["tools"]][-1] == "read_result"
    )
    model, run = start(call("book", "c"), "read")
    run.drive()
    assert tool_results(model) == [BOOK] and len(model.requests[-1]["tools"]) == 2


def test_an_edited_result_has_its_own_address() -> None:
    model, run = start(call("book", "c1"), read("c2", 2_000), "read", read("c2", 2_000), "read", offload=True)
    run.drive()
    run.edit(2, text=BOOK.upper())
    run.drive()
    assert tool_results(model)[0].startswith("LINE 0000") and tool_results(model)[1].startswith(
        BOOK.upper()[2_000:6_000]
    )


def test_a_resumed_run_can_read_on(tmp_path: Any) -> None:
    model = Scripted([call("book", "c1"), read("c2", 8_000), "read"], abilities=Abilities(tools=True))
    agent = Agent(model, [book], journal=tmp_path / "runs.db", offload=True)
    run = agent.start("Read.", paused=True)
    next(run), next(run)
    run.close()
    resumed = agent.resume(run.id)
    resumed.drive()
    assert tool_results(model)[1] == BOOK[8_000:] + "\n[Characters 8,000 to 9,000 of 9,000; this is the end.]"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"address": "result://made up"}, "no such result"),
        ({"address": "ADDRESS", "start": 9_000}, "start must be from 0 to 8,999"),
    ],
)
def test_the_model_is_told_if_a_result_cannot_be_read(arguments: dict[str, Any], problem: str) -> None:
    from agentkit.around.offload import address

    call_arguments = {**arguments, "address": arguments["address"].replace("ADDRESS", address(BOOK))}
    model, run = start(call("book", "c1"), call("read_result", "c2", **call_arguments), "read", offload=True)
    assert run.drive().answer == "read" and problem in tool_results(model)[1]


def test_parallel_results_and_those_of_a_nested_engine_also_have_addresses() -> None:
    both = Reply("", (Call("book", {"name": "a"}, "c1"), Call("scroll", {}, "c2")))
    model, run = start(
        "1. read it", both, read("c3", 17_000), "read", "all read", offload=True, engine="plan_and_execute"
    )
    assert run.drive().answer == "all read"
    first, second, piece = tool_results(model, 3)
    assert first.count("result://") == second.count("result://") == 1 and piece.startswith((BOOK * 2)[17_000:])


@pytest.mark.parametrize("value", [0, -1, "many", {"preview": 0}, {"over": 1.5}])
def test_numbers_out_of_range_are_refused_at_construction(value: Any) -> None:
    with pytest.raises(ValueError, match="offload"):
        Agent("offline", offload=value)


def test_true_means_the_defaults_and_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(UsageError, match="preveiw"):
        Agent("offline", offload={"preveiw": 3})
