"""A model with many tools is offered a few of them, and can load the others."""

from __future__ import annotations

from typing import Any

import pytest
from splitting import split

from agentkit import Agent, All, Answer, Call, Chat, Reply, Think, tool
from agentkit.around.tool_selection import catalogue, named
from agentkit.errors import Unknown
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


def numbered(n: int) -> Any:
    def function(x: int = 0) -> str:
        return f"tool {n} says {x}"

    return tool(name=f"tool_{n}", description=f"Does thing number {n}, " + "at length " * 30, effect="pure")(function)


TWENTY = [numbered(n) for n in range(20)]


def native(replies: list[Any]) -> Scripted:
    return Scripted(replies, abilities=Abilities(tools=True))


def agent(model: Scripted, tools: Any = TWENTY, **options: Any) -> Agent:
    return Agent(model, tools, journal="memory", **split({"select_tools": True, **options}))


def offered(model: Scripted, number: int) -> list[str]:
    return [sent["function"]["name"] for sent in model.requests[number]["tools"]]


def test_with_twenty_tools_the_first_call_chooses_and_the_next_one_offers_the_choice() -> None:
    model = native(['{"tools": ["tool_3", "tool_7"]}', "done"])
    result = agent(model).run("Do thing 3.")
    assert [request["role"] for request in model.requests] == ["select_tools", "thought"]
    assert model.requests[0]["tools"] == [] and "Do thing 3." in model.requests[0]["messages"][-1]["content"]
    assert offered(model, 1) == ["tool_3", "tool_7", "load_tools"]
    assert result.run[1].step.tags == {"total_tools": 20, "most": 6}


def test_the_choosing_model_is_shown_the_task_even_if_something_was_added_to_it() -> None:
    model = native(
        ['{"known": [], "missing": [], "next": "look", "confidence": 1}', '{"tools": ["tool_3"]}', "FINAL_ANSWER: done"]
    )
    agent(model, structured_thinking=True, dialect="text").run("Do thing 3.")
    assert [request["role"] for request in model.requests] == ["structured_thought", "select_tools", "thought"]
    assert model.requests[1]["messages"][-1]["content"].startswith("Do thing 3.\n\n[YOUR THINKING, as data]")


def test_the_catalogue_has_at_most_80_characters_per_tool_and_no_schema() -> None:
    lines = catalogue(TWENTY).splitlines()
    assert (
        len(lines) == 20
        and all(len(line) <= 80 for line in lines)
        and lines[4].startswith("tool_4: Does thing number 4")
    )
    model = native(["tool_1", "done"])
    agent(model).run("q")
    assert "argument_schema" not in str(model.requests[0])


@pytest.mark.parametrize("reply", ["no idea", "", '{"tools": ["nope"]}', '{"tools": 3}', "[" * 500, '{"tools": []}'])
def test_if_the_choice_cannot_be_read_all_tools_are_offered(reply: str) -> None:
    model = native([reply, "done"])
    assert agent(model).run("q").answer == "done"
    assert offered(model, 1) == [known.name for known in TWENTY]


def test_twelve_tools_are_offered_without_a_selection() -> None:
    model = native(["done"])
    agent(model, TWENTY[:12]).run("q")
    assert len(offered(model, 0)) == 12


def test_at_most_six_tools_are_chosen_in_addition_to_the_pins() -> None:
    model = native([str({"tools": [f"tool_{n}" for n in range(10)]}).replace("'", '"'), "done"])
    agent(model, select_tools={"pins": ["tool_19"]}).run("q")
    assert offered(model, 1) == [f"tool_{n}" for n in range(6)] + ["tool_19", "load_tools"]


def test_the_model_can_load_more_tools_and_call_them_from_then_on() -> None:
    load = Reply("", (Call("load_tools", {"names": ["tool_9"]}, "l"),))
    call = Reply("", (Call("tool_9", {"x": 5}, "c"),))
    model = native(["tool_1", load, call, "done"])
    result = agent(model).run("q")
    assert offered(model, 1) == ["tool_1", "load_tools"] and offered(model, 2) == ["tool_1", "tool_9", "load_tools"]
    assert [entry.result.text for entry in result.run.entries if entry.kind == "act"] == [
        "Loaded: tool_9. Call them now.",
        "tool 9 says 5",
    ]
    stubs = next(
        t["function"]["description"] for t in model.requests[1]["tools"] if t["function"]["name"] == "load_tools"
    )
    assert "tool_9: Does thing number 9" in stubs and "tool_1:" not in stubs


def test_loading_an_unknown_tool_lists_the_known_ones() -> None:
    load = Reply("", (Call("load_tools", {"names": ["tool_99"]}, "l"),))
    model = native(["tool_1", load, "done"])
    result = agent(model).run("q")
    assert not result.run[3].result.ok and "no tool 'tool_99'" in result.run[3].result.text


def test_a_tool_that_was_called_without_being_offered_runs_and_is_offered_from_then_on() -> None:
    model = native(["tool_1", Reply("", (Call("tool_8", {}, "c"),)), "done"])
    agent(model).run("q")
    assert offered(model, 2) == ["tool_1", "tool_8", "load_tools"]


def test_without_asking_only_the_pins_are_offered_until_the_model_loads_more() -> None:
    model = native(["done"])
    agent(model, select_tools={"ask": False, "pins": ["tool_2"]}).run("q")
    assert offered(model, 0) == ["tool_2", "load_tools"]


def test_the_text_dialect_describes_the_chosen_tools_only() -> None:
    model = Scripted(["tool_4", 'Action: tool_4\nAction Input: {"x": 1}', "FINAL_ANSWER: done"])
    assert agent(model).run("q").answer == "done"
    prompt = model.requests[1]["messages"][0]["content"]
    assert '"name": "tool_4"' in prompt and '"name": "tool_5"' not in prompt


def test_the_choice_is_part_of_the_run_and_is_made_only_once() -> None:
    model = native(["tool_1", Reply("", (Call("tool_1", {"x": 1}, "c"),)), "done", "other"])
    run = agent(model).start("q", paused=True)
    run.drive()
    run.edit(3, text="edited")
    assert run.drive().answer == "other" and model.calls == 4
    assert offered(model, 3) == ["tool_1", "load_tools"]


def test_a_pin_that_is_not_a_tool_is_refused_at_construction() -> None:
    with pytest.raises(Unknown, match="tool_1"):
        agent(native([]), select_tools={"pins": ["tol_1"]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"tools": ["a", "b"]}', ["a", "b"]),
        ('Here: ```json\n{"tools": ["b"]}\n```', ["b"]),
        ('["a", "c", "a"]', ["a"]),
        ("- `a`\n2. b\nc", ["a", "b"]),
        ("I would take a.", []),
        ('{"a": 1} {"tools": ["b"]}', ["b"]),
    ],
)
def test_names_are_read_from_the_text_of_a_reply(text: str, found: list[str]) -> None:
    assert named(text, ["a", "b"]) == found


def fan(task: Any, *, tools: tuple[Any, ...] = ()) -> Any:
    replies = yield All(tuple(Think(Chat.of(f"{task} {n}"), tools) for n in range(3)))
    text = " ".join(reply.text for reply in replies)
    return Answer(text, Chat.of(task))


def test_each_lane_of_a_parallel_step_has_its_own_choice_even_after_a_resume(tmp_path: Any) -> None:
    def say(request: Any) -> str:
        lane = request.chat[-1].text.split("\n")[0][-1]
        return f"tool_{lane}" if request.role == "select_tools" else ",".join(known.name for known in request.offered)

    model = native([say] * 6)
    own = Agent(model, TWENTY, engine=fan, journal=str(tmp_path / "runs.db"), select_tools=True)
    result = own.run("q")
    assert result.answer == "tool_0,load_tools tool_1,load_tools tool_2,load_tools"
    result.run.close()
    assert own.resume(result.run.id).answer == result.answer and model.calls == 6
