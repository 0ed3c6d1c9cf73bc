"""What is refused or warned about when a tool is given to an agent, and what becomes of generators."""

from __future__ import annotations

import datetime
import itertools
import json
import time
from typing import Any

import pytest

from agentkit import Agent, Answer, Call, Chat, Reply, Think, tool
from agentkit.errors import UsageError
from agentkit.models import Scripted
from agentkit.tools.toolset import ToolSet


class Shop:
    def price(self, item: str) -> int:
        return len(item)

    @tool(effect="pure")
    def stock(self, item: str) -> int:
        return len(item)


@pytest.mark.parametrize("method", [Shop.price, Shop.stock])
def test_a_method_without_its_object_is_refused(method: Any) -> None:
    with pytest.raises(UsageError, match="is a method without its object; pass the method of an object"):
        ToolSet.of([method])
    assert [found.name for found in ToolSet.of([Shop().price])] == ["price"]


def test_a_class_is_refused() -> None:
    with pytest.raises(UsageError, match="timedelta is a class, not a tool"):
        ToolSet.of([datetime.timedelta])


def test_parameters_without_a_type_are_warned_about() -> None:
    def double(number, times: int = 1):  # type: ignore[no-untyped-def]
        return number * 2

    with pytest.warns(RuntimeWarning, match="tool 'double' takes anything as number, also a text .* annotate number"):
        Agent("echo", [double], journal=None)


def test_two_tools_of_one_name_are_warned_about_but_not_the_same_tool_twice() -> None:
    @tool(name="price")
    def other(item: str) -> int:
        return 0

    own = Shop().price
    assert len(ToolSet.of([own, own])) == 1
    with pytest.warns(RuntimeWarning, match="two tools are named 'price', and only the first is used"):
        assert len(ToolSet.of([own, other])) == 1


def observed(function: Any, **options: Any) -> Any:
    """Return what an agent observes when it calls a tool."""
    model = Scripted([Reply("", (Call("lazy", {}, "c"),)), "done"])
    return Agent(model, [tool(name="lazy", **options)(function)], journal="memory").run("q").run[2].result


def generated() -> Any:
    yield "one"
    yield {"two": 2}


async def generated_later() -> Any:
    yield "one"
    yield {"two": 2}


@pytest.mark.parametrize(
    "function", [generated, generated_later, lambda: iter(["one", {"two": 2}]), lambda: map(dict, [])]
)
@pytest.mark.parametrize("timeout", [None, 5.0])
def test_the_model_reads_what_a_generator_yields(function: Any, timeout: float | None) -> None:
    message = observed(function, timeout=timeout)
    assert json.loads(message.text) in (["one", {"two": 2}], []) and message.ok


async def endless_later() -> Any:
    while True:
        yield 1


@pytest.mark.parametrize("function", [lambda: itertools.count(), endless_later])
def test_a_generator_that_never_ends_is_read_up_to_a_limit_which_its_result_tells(function: Any) -> None:
    values = json.loads(observed(function, timeout=60).text)
    assert len(values) == 100_001 and values[-1] == "[more than 100,000 values: the others were not read]"


def test_an_error_or_a_late_value_of_a_generator_is_that_of_the_tool() -> None:
    def failing() -> Any:
        yield 1
        raise ValueError("no more")

    def slow() -> Any:
        yield 1
        time.sleep(30)

    assert observed(failing).text == "Error: tool 'lazy' failed: ValueError: no more"
    assert "did not finish" in observed(slow, timeout=0.1).text


def test_tags_of_any_type_are_json_in_events() -> None:
    def engine(task: Any) -> Any:
        reply = yield Think(Chat.of(task), tags={"seen": {1}, "on": datetime.date(2026, 1, 2)})
        return Answer(reply.text, Chat.of(task))

    heard: list[Any] = []
    run = Agent("echo", engine=engine, journal="memory", on_event=heard.append).run("q").run
    for events in (heard, list(run.events())):
        data = [json.loads(json.dumps(event.to_dict(), allow_nan=False)) for event in events]
        tags = next(event["tags"] for event in data if event["kind"] == "thought")
        assert tags == {"seen": [1], "on": "2026-01-02"}


def test_a_parameter_that_is_no_json_is_refused_before_the_run_and_the_error_says_how_to_do_it() -> None:
    class Frame: ...

    def count(frame: Frame) -> int:
        return 0

    with pytest.raises(
        UsageError, match=r"a model cannot write as JSON .*Frame.* use a variable of the code around it"
    ) as e:
        Agent("echo", [count], journal=None).start("q", paused=True)
    assert "arbitrary_types" not in str(e.value)
