"""The worked examples of the papers and of the engines' documentation: their answers, and the exact numbers of calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Reply, Run, tool
from agentkit.engines.registry import find, forecast
from agentkit.models.base import Abilities, Request
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def weather(city: str) -> str:
    """Return the weather in a city."""
    return {"Paris": "18 °C, partly cloudy", "London": "14 °C, rain"}[city]


@tool(effect="pure")
def web_search(query: str) -> str:
    """Search the web."""
    known = {
        "Which country won FIFA World Cup 2022?": "Argentina.",
        "Who is the president of Argentina?": "Javier Milei.",
        "Eiffel Tower construction year": "Construction 1887–1889; opened 1889.",
    }
    return known[query]


def play(engine: str, replies: list[Any], tools: Any = (), task: str = "q", **options: Any) -> tuple[Run, Scripted]:
    model = Scripted(replies)
    run = Agent(model, tools, journal="memory", **split(options, engine)).start(task, paused=True)
    run.drive()
    return run, model


def act(name: str, **arguments: Any) -> str:
    import json

    return f"Thought: I look.\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def last(model: Scripted, request: int = -1) -> str:
    return model.requests[request]["messages"][-1]["content"]


def test_chain_of_thought_makes_one_call_and_offers_no_tool() -> None:
    run, model = play(
        "chain_of_thought", ["Step 1: 17 × 6 = 102\nStep 2: 102 + 14 = 116\nFinal answer: 116"], [weather]
    )
    assert (run.answer, model.calls, model.requests[0]["tools"]) == ("116", 1, [])
    assert "weather" not in str(model.requests[0]["messages"])


def test_chain_of_thought_without_a_marker_returns_the_whole_text_and_instructions_come_first() -> None:
    run, model = play("chain_of_thought", ["Because it is so, 116."], instructions="Be kind.")
    assert run.answer == "Because it is so, 116."
    assert [m["role"] for m in model.requests[0]["messages"]] == ["system", "system", "user"]
    assert model.requests[0]["messages"][0]["content"] == "Be kind."


def test_react_asks_for_the_weather() -> None:
    run, model = play("react", [act("weather", city="Paris"), "FINAL_ANSWER: 18 °C and partly cloudy."], [weather])
    assert (run.answer, model.calls) == ("18 °C and partly cloudy.", 2)


def test_plan_and_execute_compares_the_weather() -> None:
    plan = "1. Get current weather in Paris\n2) Get current weather in London\n3. Compare and answer which is warmer"
    steps = [act("weather", city="Paris"), "FINAL_ANSWER: 18 °C", act("weather", city="London"), "FINAL_ANSWER: 14 °C"]
    run, model = play("plan_and_execute", [plan, *steps, "FINAL_ANSWER: Paris", "Paris is warmer."], [weather])
    assert (run.answer, model.calls) == ("Paris is warmer.", 7)
    assert "Step 1 (Get current weather in Paris): 18 °C" in last(model)
    assert "Step 1 (Get current weather in Paris): 18 °C" in last(model, 3)


def test_plan_and_execute_takes_four_calls_for_two_steps_without_tools() -> None:
    run, model = play("plan_and_execute", ["1. a\n2) b", "A", "B", "both"])
    assert (run.answer, model.calls) == ("both", 4)
    assert "Step 1 (a): A\nStep 2 (b): B" in last(model)


def test_a_plan_that_cannot_be_read_is_ignored() -> None:
    run, model = play("plan_and_execute", ["I know it already.", "42"])
    assert (run.answer, model.calls) == ("42", 2)


def test_of_twelve_steps_ten_are_carried_out_and_each_has_five_iterations() -> None:
    run, model = play("plan_and_execute", ["\n".join(f"{n}. step {n}" for n in range(1, 13)), *["ok"] * 10, "done"])
    assert (run.answer, model.calls) == ("done", 12)
    looks = [act("weather", city="Paris")] * 5
    run, model = play("plan_and_execute", ["1. a", *looks, "FINAL_ANSWER: best guess", "done"], [weather])
    assert (run.answer, model.calls) == ("done", 8)


def test_a_failed_step_is_planned_around() -> None:
    replies = ["1. a\n2. b", "FAILED: no such thing", "1. c\n2. d", "C", "D", "done"]
    run, model = play("plan_and_execute", replies, replan=True)
    assert (run.answer, model.calls) == ("done", 6) and "Step 1 (a): FAILED: no such thing" in last(model, 2)
    assert "Step 3 (d): D" in last(model)
    run, model = play("plan_and_execute", ["1. a\n2. b", "FAILED: no such thing", "B", "done"])
    assert model.calls == 4
    run, model = play(
        "plan_and_execute", ["1. a\n2. b", "**Failed:** no", "1. c", "C", "done"], replan=True, max_steps=2
    )
    assert run.answer == "done" and "Step 1 (a): FAILED: no\nStep 2 (c): C" in last(model)


def test_no_new_plan_is_requested_if_no_step_is_left() -> None:
    run, model = play("plan_and_execute", ["1. a", "FAILED: no", "done"], replan=True, max_steps=1)
    assert (run.answer, model.calls) == ("done", 3)


@pytest.mark.parametrize(
    ("engine", "replies", "answer"),
    [
        ("plan_and_execute", ["1. a\n2. b", "", "", "B", "done"], "done"),
        ("reflexion", ["", "", "UNSATISFACTORY", "say something", "B", "SATISFACTORY"], "B"),
        ("auto", ["CHOICE: PLANNED", "1. a\n2. b [after: 1]", "", "", "ANSWER: half"], "half"),
    ],
)
def test_an_inner_loop_without_an_answer_does_not_end_the_run(engine: str, replies: list[str], answer: str) -> None:
    run, model = play(engine, replies)
    assert (run.answer, run.result.reason, model.calls) == (answer, "", len(replies))


@pytest.mark.parametrize(
    ("engine", "replies"),
    [
        ("reflexion", ["", "", "UNSATISFACTORY", "say something", "", "", "UNSATISFACTORY"]),
        ("plan_and_execute", ["no plan", "", ""]),
        ("auto", ["CHOICE: STEPWISE", "", ""]),
    ],
)
def test_a_run_without_any_answer_says_so(engine: str, replies: list[str]) -> None:
    options = {"max_reflections": 2} if engine == "reflexion" else {}
    run, _ = play(engine, replies, **options)
    assert (run.result.reason, run.result.error) == ("empty_reply", None) and "no answer" in (run.answer or "")


def test_reflexion_tries_twice() -> None:
    reflection = "Reflection: I answered from memory. Next time I must use the tool."
    replies = ["FINAL_ANSWER: It is warm.", "UNSATISFACTORY — did not use the weather tool.", reflection]
    replies += [act("weather", city="Paris"), "FINAL_ANSWER: 18 °C", "SATISFACTORY — complete."]
    run, model = play("reflexion", replies, [weather])
    assert (run.answer, model.calls, run.result.reason) == ("18 °C", 6, "")
    chat = model.raw_requests[3].chat
    assert chat[0].role == "system" and f"- {reflection}" in chat[0].text and chat[1].text == "q"


def test_reflexion_does_not_reflect_after_the_last_episode() -> None:
    replies = ["a", "UNSATISFACTORY", "r1", "b", "UNSATISFACTORY", "r2", "c", "UNSATISFACTORY"]
    run, model = play("reflexion", replies)
    assert (run.answer, model.calls, run.result.reason) == ("c", 8, "max_reflections")


def test_reflexion_with_a_threshold_reads_scores_and_returns_the_best_answer() -> None:
    run, model = play("reflexion", ["a", "score: 0.4", "r", "b", "score: 0.9"], threshold=0.8)
    assert (run.answer, model.calls) == ("b", 5)
    run, model = play("reflexion", ["a", "score: 0.7", "r", "b", "score: 0.1"], threshold=0.8, max_reflections=2)
    assert (run.answer, model.calls) == ("a", 5)


WORLD_CUP = [
    "Are follow up questions needed here? Yes.\nFollow up: Which country won FIFA World Cup 2022?\nIntermediate "
    "answer: France.",
    "Follow up: Who is the president of Argentina?",
    "So the final answer is: Javier Milei.",
]


def test_self_ask_the_world_cup() -> None:
    run, model = play("self_ask", WORLD_CUP, [web_search])
    assert (run.answer, model.calls) == ("Javier Milei.", 3)
    assert last(model, 1) == "Intermediate answer: Argentina." and last(model) == "Intermediate answer: Javier Milei."
    assert "France" not in str(model.requests[1]["messages"])  # an answer that the model made up is ignored


def test_self_ask_can_name_a_tool_ask_in_parallel_and_be_made_to_finish() -> None:
    named = "Tool: web_search\nTool Input: Who is the president of Argentina?"
    run, model = play("self_ask", [named, "So the final answer is: Milei"], [weather, web_search])
    assert (run.answer, run[2].result.name) == ("Milei", "web_search")
    two = "Follow up: Which country won FIFA World Cup 2022?\nFollow up: Who is the president of Argentina?"
    run, model = play("self_ask", [two, "So the final answer is: Milei"], [web_search])
    assert last(model) == "Intermediate answer: Argentina.\nIntermediate answer: Javier Milei." and model.calls == 2
    more = ["Follow up: Which country won FIFA World Cup 2022?"] * 9
    run, model = play("self_ask", [*more, "So the final answer is: enough"], [web_search])
    assert (run.answer, model.calls, run.result.reason) == ("enough", 10, "max_follow_ups")


def test_self_ask_without_tools_asks_the_model() -> None:
    run, model = play("self_ask", ["Follow up: Who won?", "Argentina", "So the final answer is: Milei"])
    assert (run.answer, model.calls, last(model)) == ("Milei", 3, "Intermediate answer: Argentina")
    run, model = play("self_ask", ["Follow up: Who?\nIntermediate answer: Argentina.\nSo the final answer is: Milei"])
    assert (run.answer, model.calls) == ("Milei", 1)


EIFFEL = [
    "The Eiffel Tower was built in 1887.",
    "CLAIM: Built in 1887\nTOOL: web_search\nTOOL INPUT: Eiffel Tower construction year",
    "The Eiffel Tower was built between 1887 and 1889.",
]


def test_critic_corrects_the_eiffel_tower() -> None:
    run, model = play("critic", [*EIFFEL, "VERIFIED: all claims are correct"], [web_search])
    assert (run.answer, model.calls) == ("The Eiffel Tower was built between 1887 and 1889.", 4)
    assert 'Claim: "Built in 1887"\nTool result: Construction 1887–1889; opened 1889.' in last(model, 2)
    assert run[3].result.call_id == "claim_1" and run[3].step.call.arguments == {
        "query": "Eiffel Tower construction year"
    }


def test_critic_stops_after_two_rounds_and_without_tools_after_the_draft() -> None:
    run, model = play("critic", [EIFFEL[0], *EIFFEL[1:], *EIFFEL[1:]], [web_search])
    assert model.calls == 5
    run, model = play("critic", ["draft"])
    assert (run.answer, model.calls) == ("draft", 1)


def test_critic_does_not_confuse_unverified_with_verified_or_a_quoted_claim_with_a_claim() -> None:
    run, _ = play("critic", ["draft", 'UNVERIFIED: the year\nThe text says "claim: 1887".'], [web_search])
    assert run.answer == "draft" and [e.step.role for e in run.entries[1:]] == ["draft", "critique", "answer"]


def test_tree_of_thoughts_makes_43_calls_and_forecasts_them() -> None:
    replies = ["think"] * 3 + ["5"] * 3 + (["think"] * 6 + ["5"] * 6) * 3 + ["ANSWER: 42"]
    model = Scripted(replies)
    run = Agent(model, engine="tree_of_thoughts", journal="memory").start("q", paused=True)
    assert run.forecast.startswith("at most 43 model calls") and run.pending[0].step.tags["cost"] == 43
    run.drive()
    assert (run.answer, model.calls) == ("42", 43)


@pytest.mark.parametrize(
    ("options", "calls"), [({}, 43), ({"n_branches": 2}, 29), ({"max_depth": 1}, 7), ({"search": "dfs"}, 241)]
)
def test_the_forecast_is_the_number_of_calls(options: dict[str, Any], calls: int) -> None:
    assert f" {calls} " in forecast(find("tree_of_thoughts")[0], options)


@pytest.mark.parametrize("options", [{"search": "dfs", "max_depth": 20_000}, {"max_depth": 10**9}])
def test_an_endless_tree_is_forecast_before_it_starts(options: dict[str, Any]) -> None:
    run = Agent(Scripted([]), journal="memory", **split(options, "tree_of_thoughts")).start("q", paused=True)
    assert run.forecast.startswith("more than a million model calls")


def test_the_beam_keeps_the_best_branch_of_each_level() -> None:
    model = Scripted(["try X", "try Y", "try Z", "4", "9", "2", "refine Y", "Z next", "ANSWER: 42"])
    run = Agent(model, engine=Loop("tree_of_thoughts", beam_width=1, max_depth=2), journal="memory").start(
        "q", paused=True
    )
    while run.answer is None:
        next(run)
    assert (run.answer, model.calls) == ("42", 9)
    assert "1. try Y" in last(model) and "try X" not in last(model)
    conclude = run.entries[-1].step
    assert conclude.tags["pruned"] == ["1", "3"] and conclude.tags["chosen"] == ["2", "2.3"]
    assert conclude.tags["scores"] == {"2": 9.0, "1": 4.0, "3": 2.0}


def test_equal_scores_keep_the_order_of_the_proposals() -> None:
    model = Scripted(["a", "b", "c", "5", "5", "5", "ANSWER: done"])
    run = Agent(model, engine=Loop("tree_of_thoughts", beam_width=1, max_depth=1), journal="memory").start(
        "q", paused=True
    )
    for _ in run:
        pass
    assert "1. a" in last(model) and run.entries[-1].step.tags["chosen"] == ["1"]


def test_depth_first_turns_back_from_a_dead_end() -> None:
    replies = ["left", "right", "8", "6", "left of left", "right of left", "1", "1", "left of right", "ANSWER: found"]
    model = Scripted(replies)
    options: dict[str, Any] = {"search": "dfs", "n_branches": 2, "max_depth": 3}
    run = Agent(model, journal="memory", **split(options, "tree_of_thoughts")).start("q", paused=True)
    for _ in run:
        pass
    assert (run.answer, model.calls) == ("found", 10) and run.entries[-1].step.tags["chosen"] == ["2", "2.2"]


def test_all_proposals_of_a_level_reach_the_model_at_the_same_time() -> None:
    barriers = {"propose": threading.Barrier(3), "evaluate": threading.Barrier(3)}

    def model(request: Request) -> str:
        if request.role in barriers:
            barriers[request.role].wait(timeout=20)  # no call returns before all have arrived
        return "ANSWER: met" if request.role == "answer" else "5"

    run = Agent(model, engine=Loop("tree_of_thoughts", max_depth=1), journal="memory").start("q", paused=True)
    assert run.drive().answer == "met"


def test_critic_and_self_ask_check_in_parallel() -> None:
    barrier = threading.Barrier(2)

    @tool(effect="pure")
    def check(query: str) -> str:
        """Check."""
        barrier.wait(timeout=20)
        return "so it is"

    claims = "CLAIM: a\nTOOL: check\nTOOL INPUT: a\n\nCLAIM: b\nTOOL: check\nTOOL INPUT: b"
    run, _ = play("critic", ["draft", claims, "revised", "VERIFIED: all"], [check])
    assert run.answer == "revised"
    run, _ = play("self_ask", ["Follow up: a\nFollow up: b", "So the final answer is: c"], [check])
    assert run.answer == "c"


def test_self_refine_continues_until_nothing_is_left_to_improve() -> None:
    run, model = play("self_refine", ["draft", "too long", "shorter", "DONE: fine"])
    assert (run.answer, model.calls) == ("shorter", 4)
    run, model = play("self_refine", ["0", *(line for n in range(1, 5) for line in ("more", str(n)))])
    assert (run.answer, model.calls) == ("4", 9)


def test_rewoo_looks_up_in_parallel_and_inserts_the_results() -> None:
    plan = (
        "Plan: the country\n#E1 = web_search[Which country won FIFA World Cup 2022?]\n"
        'Plan: the weather\n#E2 = weather[{"city": "Paris"}]\nPlan: who\n#E3 = LLM[Who governs {{E1}} and #E2?]'
    )
    run, model = play("rewoo", [plan, "Milei", "Javier Milei"], [web_search, weather])
    assert (run.answer, model.calls, last(model, 1)) == (
        "Javier Milei",
        3,
        "Who governs Argentina. and 18 °C, partly cloudy?",
    )
    assert {entry.path for entry in run.entries if entry.kind == "act"} == {"[1.0]", "[1.1]"}


def test_auto_chooses() -> None:
    run, model = play("auto", ["CHOICE: STEPWISE", "42"])
    assert (run.answer, model.calls) == ("42", 2)
    run, model = play("auto", ["CHOICE: PLANNED", "1. a", "A", "ACHIEVED: yes\nCONFIDENCE: 1\nANSWER: 42"])
    assert (run.answer, model.calls) == ("42", 4)
    run, model = play("auto", ["**PLANNED**", "1. a", "A", "ACHIEVED: **yes**\nANSWER: 42"])
    assert (run.answer, model.calls) == ("42", 4)
    run, model = play("auto", ["hm", "42"])
    assert (run.answer, model.calls) == ("42", 2)


def test_a_model_for_each_role() -> None:
    judge, planner = Scripted(["SATISFACTORY"], name="judge"), Scripted(["1. a"], name="planner")
    model = Scripted(["A", "done"])
    roles = {"evaluate": judge, "plan": planner}
    agent = Agent(model, engine=Loop("reflexion", actor="plan_and_execute"), roles=roles, journal="memory")
    assert agent.run("q").answer == "done" and (judge.calls, planner.calls, model.calls) == (1, 1, 2)


def test_calls_are_requested_natively_if_the_model_supports_it() -> None:
    replies = ["1. look", Reply("", (Call("weather", {"city": "Paris"}, "c1"),)), "18 °C", "18 °C"]
    model = Scripted(replies, abilities=Abilities(tools=True))
    assert Agent(model, [weather], engine="plan_and_execute", journal="memory").run("q").answer == "18 °C"
    assert [bool(request["tools"]) for request in model.requests] == [False, True, True, False]
