"""Recorded runs, played against today's code: what counts as a difference, what does not, and what cannot be played."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crafted_recordings import with_new_digests
from fake_secrets import KEYS
from hostile_text import forged_lines, hostile_run, raw_characters, texts
from pydantic import BaseModel

import agentkit
from agentkit import Act, Agent, All, Answer, Call, Chat, Reply, Think, Usage, load, tool
from agentkit.engines import registry
from agentkit.engines.structured import structured
from agentkit.errors import ArgumentsError, ContextOverflow, Unknown, UsageError
from agentkit.experiments.regression import Suite, find, replay, update
from agentkit.hooks import change, deny, finish, hook
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.tools.tool import Tool

LOOK = Reply("I look it up.", (Call("price", {"item": "cake"}, "a"),))
AS_TEXT = 'Thought: I look it up.\nAction: price\nAction Input: {"item": "cake"}'
SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}, "currency": {"type": "string"}}}
called: list[Any] = []


@tool(effect="pure")
def price(item: str) -> float:
    """Look up the price of an item."""
    called.append(item)
    return 4.5


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    called.append(amount)
    return f"paid {amount}"


def model(*replies: Any, native: bool = True) -> Scripted:
    return Scripted(list(replies), abilities=Abilities(tools=native), usage=Usage(10, 1))


def agent(*replies: Any, tools: Any = (price,), native: bool = True, **options: Any) -> Agent:
    return Agent(model(*replies, native=native), tools, journal="memory", **options)


def recorded(*replies: Any, task: Any = "What does the cake cost?", **options: Any) -> dict[str, Any]:
    return agent(*(replies or (LOOK, "It costs 4.5.")), **options).run(task).run.to_json()


def only(found: Suite) -> Any:
    [result] = found
    return result


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    called.clear()


# -- the same ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", registry.ENGINES)
@pytest.mark.parametrize("dialect", [None, "text", "json"])
def test_a_run_of_each_engine_is_the_same_as_its_recording(engine: str, dialect: str | None) -> None:
    tested = Agent("offline", ["math"], engine=engine, dialect=dialect, journal="memory", instructions="Be brief.")
    data = tested.run("What is 17 * 23?").run.to_json()
    assert replay(data, tested).is_same and replay(data).is_same
    assert replay([data, data], tested)[1].name.endswith("(2)")


@pytest.mark.parametrize(
    "options",
    [
        {"self_check": 1, "check_completion": True},
        {"structured_thinking": True, "warn_cycles": True},
        {"compact": 100, "clear_results": 1, "offload": 100, "mark_results": True},
        {"synthesize": True, "window": 1, "discover": True},
        {"select_tools": 1, "repair": 0},
        {"settings": {"temperature": 0}, "roles": {"evaluate": "offline"}},
        {"guardrails": ["secrets"], "approve": ["calculate"], "approver": lambda call: True},
        {"budget": {"max_model_calls": 1}},
        {"max_tool_calls": 1},
    ],
)
def test_options_do_not_make_a_run_differ_from_itself(options: dict[str, Any]) -> None:
    tested = Agent("offline", ["math", "units"], journal="memory", **options)
    run = tested.run("What is 17 * 23, and how many km are 3 miles?").run
    assert replay(run, tested).is_same
    assert replay(run).is_same


class Price(BaseModel):
    amount: float


def test_a_typed_answer_and_a_session_are_played_as_they_were_recorded() -> None:
    tested = agent('{"amount": 4.5}', instructions="Be brief.")
    assert replay(tested.run("The price?", output=Price).run, tested).is_same
    talking = agent("Hello Ada.", "You are Ada.", instructions="Be brief.")
    talking.run("I am Ada.", session="s", user="grace")
    run = talking.run("Who am I?", session="s", user="grace").run
    assert len(run.task["history"]) == 2
    assert replay(run, talking).is_same and replay(run).is_same


def test_edits_messages_and_forks_are_played_as_they_were_recorded() -> None:
    tested = agent(LOOK, "It costs 4.5.", "Two cost 9.", "Three cost 13.5.")
    run = tested.start("What does the cake cost?", paused=True)
    next(run)
    run.inject("Two of them.")
    run.drive()
    run.edit(2, text="5.0")
    run.drive()
    fork = run.fork(1)
    fork.drive()
    called.clear()
    assert replay([run, fork], tested).is_same and not called
    assert replay([run, fork]).is_same


def test_parallel_steps_are_played_in_the_recorded_order() -> None:
    calls = tuple(Call("price", {"item": item}, item) for item in ("cake", "tea", "milk"))
    data = recorded(Reply("I look.", calls), "13.5")
    assert replay(data, agent()).is_same
    assert not called[3:]


def test_times_ids_and_prices_are_not_compared() -> None:
    data = recorded(LOOK, "It costs 4.5.")
    expensive = Agent(Scripted([], name="another", usage=Usage(9, 9, cost=7.0)), [price], journal="memory")
    assert replay(data, expensive).is_same


def test_no_model_is_asked_and_no_tool_is_called() -> None:
    def refuse(request: Any) -> Any:
        raise AssertionError("a model was asked")

    data = recorded(LOOK, Reply("", (Call("pay", {"amount": 5}, "b"),)), "Paid.", tools=[price, pay])
    assert called == ["cake", 5]
    tested = Agent(refuse, [price, pay], journal="memory", roles={"thought": refuse})
    assert replay(data, tested).is_same and called == ["cake", 5]


def test_nobody_is_told_of_what_is_played_and_nothing_is_recorded(tmp_path: Path) -> None:
    told: list[Any] = []
    audit = tmp_path / "audit.jsonl"
    tested = agent(on_event=told.append, on_step=lambda *step: told.append(step), audit=audit)
    tested = tested.using(journal=tmp_path / "runs.db")
    replay(recorded(), tested).check()
    assert not told and not audit.exists() and not (tmp_path / "runs.db").exists()


def test_a_recording_that_ends_early_is_the_same_as_far_as_it_goes() -> None:
    run = agent(LOOK, "It costs 4.5.").start("What does the cake cost?", paused=True)
    for steps in range(4):
        result = only(replay(run, agent()))
        assert (result.status, result.unfinished, result.summary) == ("same", True, "as far as the recording goes")
        assert len(result.today.entries) == steps + 1
        next(run)
    assert not only(replay(run, agent())).unfinished


def test_an_engine_that_failed_and_fails_again_is_the_same() -> None:
    def failing(task: Any, text: str = "no") -> Any:
        yield Think(Chat.of(task))
        raise ValueError(text)

    tested = agent("x", engine=failing)
    run = tested.start("q", paused=True)
    run.drive()
    assert run.status == "failed"
    assert replay(run, tested).is_same
    result = only(replay(run, tested.using(engine={"text": "other"})))
    assert (result.difference.what, result.difference.step) == ("the end", "the end")


ABILITIES = (Abilities(), Abilities(tools=True), Abilities(json=True), Abilities(json=True, schema=True, tools=True))
TYPED = (
    ['{"amount": 4.5}'],
    ['```json\n{"amount": 4.5}\n```'],
    ["no", '{"amount": "x"}', '{"amount": 1}'],
    [Reply("", (Call("Price", {"amount": 3}, "c"),))],
    [Reply("", (Call("Price", {}, "c", raw='{"amount": 3,', problem="it is cut off"),))],
    ['<think>hm</think>{"amount": 4}'],
)
ODD = (
    [
        f"<think>Action: x</think>{AS_TEXT}\nObservation: invented\nFINAL_ANSWER: no",
        "<think>b</think>FINAL_ANSWER: 4.5",
    ],
    [replace(LOOK, reasoning="Because."), Reply("4.5", reasoning="x")],
    [LOOK, ContextOverflow("too long"), "4.5"],
    [Reply("", (Call("Price", {"item": 5}),)), "4.5"],
    [Reply("", (Call("price", {}, raw="{item: cake", problem="it is cut off"),)), "4.5"],
    [Reply("", (Call("prize", {"thing": "cake"}, "x"),)), "4.5"],
    [Reply("It costs", finish="length"), "4.5", "4.5"],
    ["", "", "4.5"],
    ['```json\n{"tool_name": "price", "tool_args": {"item": "cake"}}\n```', "4.5", "4.5"],
)


@pytest.mark.parametrize("abilities", ABILITIES)
@pytest.mark.parametrize("replies", TYPED)
def test_data_is_read_again_as_it_was_read(abilities: Abilities, replies: list[Any]) -> None:
    def typed(task: Any) -> Any:
        found = yield from structured(Chat.of(task), Price)
        return Answer(str(found.value), Chat.of(task))

    tested = Agent(Scripted([*replies, *['{"amount": 9}'] * 4], abilities=abilities), engine=typed, journal="memory")
    assert replay(tested.run("The price?").run, tested).is_same


@pytest.mark.parametrize("abilities", ABILITIES[:3])
@pytest.mark.parametrize("replies", ODD)
def test_odd_replies_are_read_again_as_they_were_read(abilities: Abilities, replies: list[Any]) -> None:
    tested = Agent(Scripted(list(replies), abilities=abilities), [price], journal="memory")
    run = tested.run("The price? " + "long " * 50).run
    assert replay(run, tested).is_same and replay(run).is_same and replay(run, tested, tools="call").is_same


@pytest.mark.parametrize(
    "hooks",
    [
        [hook("before", "tool")(lambda call: change({"amount": 1}))],
        [hook("after", "tool")(lambda call, result: change(f"changed {result.text}"))],
        [hook("after", "model")(lambda step, reply: None if reply.calls else change("other"))],
        [hook("before", "model")(lambda step: change(step.chat + "Hurry."))],
        [hook("before", "tool")(lambda call: deny("never"))],
        [hook("before", "tool")(lambda call: finish("enough"))],
        [hook("after", "run")(lambda answer: None if "twice" in answer else "Say it twice.")],
        [hook("before", "run")(lambda task: change(task + "More."))],
    ],
)
def test_what_hooks_decided_is_taken_from_the_recording_and_they_are_not_run(hooks: list[Any]) -> None:
    replies = (Reply("", (Call("pay", {"amount": 5}, "a"),)), "Paid.", "Paid twice.")
    tested = agent(*replies, tools=[pay], hooks=hooks)
    run = tested.run("Pay 5.").run
    refusing = [hook(own.when, own.of)(lambda *subjects: deny("it was run")) for own in hooks]
    called.clear()
    assert replay(run, agent(tools=[pay], hooks=refusing)).is_same and replay(run).is_same and not called


@pytest.mark.slow
def test_progress_is_shown_over_a_second_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(effect="pure")
    def price(item: str) -> float:
        """Look up the price of an item."""
        time.sleep(0.7)
        return 4.5

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for screen, is_shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", screen)
        replay([recorded()] * 3, agent(tools=[price]), tools="call").check()
        assert ("of 3 recordings played, about" in screen.getvalue()) == is_shown


# -- differences -------------------------------------------------------------------------------------------------------


def test_instructions_that_changed_are_shown_side_by_side_with_their_words_marked() -> None:
    found = replay({**recorded(instructions="Be brief.")}, agent(instructions="Be very brief."))
    assert repr(only(found)).splitlines()[1:] == [
        "entry 1, model_call_1 (thought): the request differs",
        "           │ [system]",
        "  recorded │ Be brief.",
        "  today    │ Be {+very +}brief.",
        "           │ [user]",
        "           │ What does the cake cost?",
    ]
    assert '<ins style="background:#3c963c33;color:inherit">very </ins>' in found._repr_html_()
    assert "- Be brief.\n+ Be very brief.\n" in found.to_markdown()
    with pytest.raises(AssertionError, match=r"today .* Be "):
        found.check()
    with pytest.raises(AssertionError, match="model_call_1"):
        only(found).check()


def test_the_task_keeps_its_own_system_messages() -> None:
    task = [{"role": "system", "content": "You are a parrot."}, {"role": "user", "content": "Hello"}]
    data = recorded("Hello", task=task, instructions="Be brief.")
    assert replay(data, agent(instructions="Be brief.")).is_same
    assert "You are a parrot." in repr(only(replay(data, agent(instructions="Be long."))))
    assert replay(recorded("Hello", task=task), agent()).is_same


def test_of_an_older_recording_all_system_messages_at_the_beginning_are_those_of_its_agent(tmp_path: Path) -> None:
    (tmp_path / "NOTES.md").write_text("We sell cake.")
    options: dict[str, Any] = {"instructions": "Be brief.", "context": str(tmp_path / "NOTES.md")}
    data = recorded(**options)
    assert data["rows"][0]["row"]["result"]["json"]["told"] == 2
    assert replay(data, agent(**options)).is_same
    for told in (-1, 0, 1, 10**9):
        data["rows"][0]["row"]["result"]["json"]["told"] = told
        assert replay(with_new_digests(data), agent(**options)).is_same == (told > 1)
    del data["rows"][0]["row"]["result"]["json"]["told"]
    assert replay(with_new_digests(data), agent(**options)).is_same
    (tmp_path / "NOTES.md").write_text("We sell tea.")
    assert "We sell {+tea+}." in repr(replay(data, agent(**options)))


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"tools": ()}, '"name": "price"'),
        ({"tools": (price, pay)}, '"name": "pay"'),
        ({"settings": {"temperature": 1}}, '"temperature": 1'),
        ({"dialect": "text"}, "Action Input"),
        ({"instructions": "Be brief."}, "Be brief."),
        ({"engine": "plan_and_execute"}, "plan"),
        ({"tools": (Tool("price", "Look up a price.", SCHEMA, str, effect="pure"),)}, "currency"),
    ],
)
def test_what_would_be_sent_otherwise_is_a_difference_of_the_first_request(options: dict[str, Any], shown: str) -> None:
    result = only(replay(recorded(), agent(**options)))
    assert result.status == "differs" and result.difference.entry == 1
    assert shown in repr(result)


def asking(task: Any, item: str = "cake", twice: bool = False, answer: str = "") -> Any:
    """An engine whose calls and answer follow its options."""
    chat = Chat.of(task)
    reply = yield Think(chat)
    price = yield Act(Call("price", {"item": item}, "a"))
    if twice:
        price = yield Act(Call("price", {"item": item}, "b"))
    return Answer(answer or f"{reply.text} {price.text}", chat + reply)


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"item": "tea"}, (2, "tool_call_1_0", "the call")),
        ({"twice": True}, (3, "persist_episode_1", "the step")),
        ({"answer": "5"}, (3, "persist_episode_1", "the answer")),
    ],
)
def test_the_first_step_that_differs_is_named(options: dict[str, Any], difference: tuple[int, str, str]) -> None:
    tested = agent("I look.", engine=asking)
    result = only(replay(tested.run("q").run, tested.using(engine=options)))
    found = result.difference
    assert (found.entry, found.step, found.what) == difference
    assert [entry.kind for entry in result.today.entries] == ["begin", "think", "act", "conclude"][: found.entry]
    backwards = only(replay(tested.using(engine=options, model=model("I look.")).run("q").run, tested))
    assert backwards.difference.entry == found.entry


def test_a_reply_that_is_read_otherwise_today_is_a_difference() -> None:
    run = agent(AS_TEXT, "FINAL_ANSWER: It costs 4.5.", native=False).run("q").run
    run[1].result = replace(run[1].result, calls=(), answer="I look it up.")  # as another parser might have read it
    result = only(replay(run, agent(native=False)))
    assert (result.difference.entry, result.difference.what) == (1, "the reply as it is read")
    assert '"item": "cake"' in result.difference.today and result.difference.recorded == "I look it up."


def test_arguments_that_a_tool_refuses_today_are_a_difference() -> None:
    class Strict(Tool):  # the model is told the same
        def bind(self, call: Call) -> Any:
            raise ArgumentsError("the item must be a number")

    loose = Strict("price", price.description, price.parameters, price.function, price.returns, "pure")
    result = only(replay(recorded(), agent(tools=[loose])))
    assert (result.difference.entry, result.difference.what) == (2, "the result")
    assert result.difference.recorded == "4.5" and "must be a number" in result.difference.today


def test_a_call_that_was_refused_and_would_be_made_today_is_a_difference() -> None:
    data = recorded(Reply("", (Call("pay", {"amount": "much"}, "a"),)), "No.", tools=[pay])

    class Generous(Tool):  # the model is told the same
        def bind(self, call: Call) -> Any:
            return {"amount": 5}, ()

    generous = Generous("pay", pay.description, pay.parameters, pay.function, pay.returns, "irreversible")
    assert replay(data, agent(tools=[pay])).is_same
    result = only(replay(data, agent(tools=[generous])))
    assert (result.difference.entry, result.difference.today) == (2, "pay would be called")
    assert not called


def test_pure_tools_are_called_again_if_you_say_so_and_others_never() -> None:
    data = recorded(LOOK, Reply("", (Call("pay", {"amount": 5}, "b"),)), "Paid.", tools=[price, pay])
    called.clear()
    assert replay(data, agent(tools=[price, pay]), tools="call").is_same
    assert called == ["cake"]

    def dearer(item: str) -> float:
        """Look up the price of an item."""
        return 5.5

    changed = tool(name="price", effect="pure")(dearer)
    assert replay(data, agent(tools=[changed, pay])).is_same
    result = only(replay(data, agent(tools=[changed, pay]), tools="call"))
    assert (result.difference.recorded, result.difference.today) == ("4.5", "5.5")


def test_a_tool_of_which_only_the_description_is_known_is_taken_as_recorded() -> None:
    assert replay(recorded(), tools="call").is_same
    assert not [name for name in called if name != "cake"]


def test_an_engine_that_fails_ends_early_or_goes_on_today_is_a_difference() -> None:
    def engine(how: str) -> Any:
        def numbered(task: Any) -> Any:
            chat = Chat.of(task)
            for _ in range({"early": 1, "longer": 3}.get(how, 2)):
                chat = chat + (yield Think(chat))
                if how == "fails":
                    raise ValueError("broken")
            return Answer("done", chat)

        return numbered

    run = agent("a", "b", engine=engine("recorded")).run("q").run
    shown = {how: only(replay(run, agent(engine=engine(how)))) for how in ("early", "longer", "fails")}
    assert {how: result.status for how, result in shown.items()} == dict.fromkeys(shown, "differs")
    assert "the answer: done" in shown["early"].difference.today
    assert "ask the model (thought)" in shown["longer"].difference.today
    assert "ValueError: broken" in shown["fails"].difference.today


# -- runs that a result opens ------------------------------------------------------------------------------------------


def test_a_result_opens_the_recorded_run_and_todays_up_to_the_difference(tmp_path: Path) -> None:
    asked = model("I look.", "I look again.")
    tested = Agent(asked, [price], engine=asking, journal="memory")
    result = only(replay(tested.run("q").run, tested.using(engine={"item": "tea"})))
    assert result.recorded.status == "done" and len(result.recorded.entries) == 4
    today = result.today
    assert today.status == "paused" and today.pending[0].step.call.arguments == {"item": "tea"}
    assert len(asked.requests) == 1
    assert today.drive().answer == "I look. 4.5" and called == ["cake", "tea"]
    assert result.today.status == "paused"  # a new one each time


def test_calls_of_the_recording_stand_in_the_ledger_of_todays_run() -> None:
    data = recorded(Reply("", (Call("pay", {"amount": 5}, "a"),)), "Paid.", tools=[pay])
    today = only(replay(data, agent("Paid.", tools=[pay]))).today
    assert today.status == "done"
    today.undo().undo().undo()
    today.drive()
    assert today.status == "waiting" and called == [5]


# -- what cannot be played ---------------------------------------------------------------------------------------------


def test_a_recording_that_cannot_be_played_is_one_result_and_the_others_go_on(tmp_path: Path) -> None:
    data, changed = recorded(), recorded()
    changed["rows"][1] = dict(changed["rows"][1], row={"entry": "x"})
    contents: dict[str, Any] = {
        "a.json": data,
        "b.json": {**data, "rows": data["rows"][:-1]},
        "c.json": {"format": "other"},
        "d.json": [],
        "e.json": with_new_digests(changed),
        "g.json": data,
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "f.json").write_bytes(b"\xff\x00[[[[")
    found = replay(tmp_path, agent())
    assert [result.status for result in found] == ["same", *["cannot be played"] * 5, "same"]
    assert all(result.problem for result in found.unplayable) and not found.is_same
    with pytest.raises(UsageError):
        _ = found["b.json"].today
    with pytest.raises(AssertionError, match="5 cannot be played"):
        found.check()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_files_that_are_no_recordings_are_results_that_say_so_and_their_names_are_inert(tmp_path: Path) -> None:
    (tmp_path / "good\n\x1b[31m\u202e.json").write_text(json.dumps(recorded()))
    (tmp_path / "bad\n\x1b[31m.json").write_text("{")
    (tmp_path / "big.json").write_text("[" * 200_000)
    (tmp_path / "digits.json").write_text("1" * 5_000)
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "broken.json").symlink_to("nowhere.json")
    (tmp_path / "folder.json").mkdir()
    for name in ("pipe.json", "pipe.jsonl"):
        os.mkfifo(tmp_path / name)
    found = replay(tmp_path, agent())
    assert [result.status for result in found].count("same") == 1 and len(found.unplayable) == len(found) - 1 == 8
    assert "record one with" in found["empty.json"].problem
    for shown in (repr(found), found.to_markdown(), found._repr_html_()):
        assert not raw_characters(shown)


def test_without_its_engine_a_recording_asks_for_the_agent() -> None:
    run = agent("I look.", engine=asking).run("q").run
    result = only(replay(run))
    assert result.status == "cannot be played" and result.problem.endswith("pass the agent that is to be tested")
    run = agent("x", arounds=[lambda step, memory: (yield step)]).run("q").run
    assert "option 'arounds'" in only(replay(run)).problem


def test_an_engine_that_describes_its_tools_in_words_asks_for_the_agent() -> None:
    tested = agent("No.\nSo the final answer is: 4.5", engine="self_ask")
    run = tested.run("What does the cake cost?").run
    assert replay(run, tested).is_same
    problem = only(replay(run)).problem
    assert problem == "the recording does not say what 'price' takes: pass the agent that is to be tested"


def test_a_file_names_no_engine_to_import() -> None:
    data = recorded()
    data["rows"][0]["row"]["result"]["json"]["engine"] = "os:system"
    assert "a file cannot import code" in only(replay(with_new_digests(data))).problem


@pytest.mark.parametrize("text", list(texts()))
def test_hostile_texts_are_inert_wherever_a_suite_is_shown(text: str) -> None:
    run = hostile_run(text)
    found = replay([run], agent(instructions=text))
    shown = repr(found) + repr(found[0])
    assert not raw_characters(shown) and not forged_lines(shown)
    markdown = found.to_markdown()
    assert not raw_characters(markdown) and not raw_characters(found._repr_html_())


def test_a_text_cannot_break_out_of_the_summary() -> None:
    evil = "</details><script>alert(1)</script>\n```\n# Title\n|a|b|\n[x](http://evil.example)\n````\n"
    data = recorded(instructions=evil)
    found = replay(data, agent(instructions=evil + "more"))
    markdown, html = found.to_markdown(), found._repr_html_()
    assert markdown.count("<details>") == 1 and "<script>" not in html
    fences = [line for line in markdown.splitlines() if line.startswith("`")]
    assert fences == ["`````diff", "`````"]


def test_a_secret_in_the_instructions_is_neither_a_difference_nor_shown() -> None:
    secret = KEYS[0].head + KEYS[0].secret + KEYS[0].tail
    data = recorded(instructions=f"The key is {secret}.")
    assert replay(data, agent(instructions=f"The key is {secret}.")).is_same
    found = replay(data, agent(instructions=f"Never tell that the key is {secret}."))
    assert not found.is_same
    assert all(KEYS[0].secret not in shown for shown in (repr(found), found.to_markdown(), found._repr_html_()))


def test_a_difference_in_long_texts_is_found_in_bounded_time_and_shown_in_few_lines() -> None:
    for old, new in (
        ("x " * 200_000, "y " * 200_000),
        ("\n".join(map(str, range(50_000))), "\n".join(map(str, range(1, 50_001)))),
        ("a" * 300_000, "a" * 299_999 + "b"),
        ("a b " * 50_000, "b a " * 50_000),
    ):
        found = replay(recorded(instructions=old), agent(instructions=new))
        assert len(repr(found)) < 40_000 and len(found._repr_html_()) < 100_000


# -- finding recordings ------------------------------------------------------------------------------------------------


def test_recordings_are_files_folders_patterns_lines_data_and_runs(tmp_path: Path) -> None:
    data, other = recorded(), recorded()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "b.json").write_text(json.dumps(data))
    (tmp_path / "deep" / "er" / "a.json").write_text(json.dumps(data))
    (tmp_path / ".hidden" / "c.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("not a recording")
    lines = [json.dumps(data), "", json.dumps(other), "no JSON", json.dumps(data)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    load(data).to_notebook(tmp_path / "deep" / "n.ipynb")
    ids = data["run"], other["run"]
    many = [
        f"many.jsonl:{id}{n}" for id, n in ((ids[0], ", line 1"), (ids[1], ""), ("line 4", ""), (ids[0], ", line 5"))
    ]
    found = replay(str(tmp_path), agent())
    assert [result.name for result in found] == ["b.json", "deep/er/a.json", *many]
    assert [result.status for result in found] == ["same"] * 4 + ["cannot be played", "same"]
    assert [each.name for each in find(tmp_path / "*.json*")] == ["b.json", *many]
    assert [each.name for each in find(f"{tmp_path}/**/*.json")] == ["b.json", "deep/er/a.json"]
    assert replay([tmp_path / "deep" / "n.ipynb", data, load(data)], agent()).is_same
    assert found["b.json"] is found[0] and found[:1] == [found[0]]
    with pytest.raises(Unknown, match=r"b\.json"):
        _ = found["c.json"]


def test_runs_of_a_journal_are_found_by_tag(tmp_path: Path) -> None:
    tested = agent(LOOK, "4.5", LOOK, "4.5").using(journal=tmp_path / "runs.db")
    for n, suite in enumerate(("smoke", "other")):
        tested.run("q", name=f"run{n}", tags={"suite": suite})
    infos = agentkit.runs(tmp_path / "runs.db", tags={"suite": "smoke"})
    found = replay(infos, agent(), journal=tmp_path / "runs.db")
    assert [(result.name, result.status) for result in found] == [("run0", "same")]


@pytest.mark.parametrize("name", ["missing", "missing.json", "empty", "*.json"])
def test_where_there_is_nothing_the_error_says_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"record one with agent.run\(…\).run.to_json"):
        replay(tmp_path / name)
    with pytest.raises(UsageError, match="empty list"):
        replay([])


@pytest.mark.parametrize("wrong", [7, None, b"x", object(), "\0"])
def test_what_is_no_recording_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        replay(wrong)
    with pytest.raises(UsageError):
        replay(recorded(), tools=wrong)
    with pytest.raises(UsageError):
        replay(recorded(), "offline")  # type: ignore[arg-type]


# -- updating ----------------------------------------------------------------------------------------------------------


def saved(tmp_path: Path, data: dict[str, Any]) -> Any:
    (tmp_path / "one.json").write_text(json.dumps(data))
    return only(find(tmp_path / "one.json"))  # type: ignore[arg-type]


def test_an_updated_recording_is_the_same_as_today_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    data = recorded(LOOK, Reply("", (Call("pay", {"amount": 5}, "b"),)), "Paid.", tools=[price, pay])
    recording, tested = saved(tmp_path, data), agent(tools=[price, pay], instructions="Be brief.")
    assert update(recording, tested) == ("3 steps", "")
    assert replay(recording.path, tested).is_same and not replay(recording.path, agent(tools=[price, pay])).is_same
    now, then = load(recording.data(), tested), load(data, tested)
    assert (now.answer, now.usage, now.status) == (then.answer, then.usage, "done")
    assert recording.data()["run"] == data["run"]
    assert [event.kind for event in now.events()] == [event.kind for event in then.events()]
    before = recording.path.read_bytes()
    assert update(recording, tested) == ("nothing", "") and recording.path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda tested: tested.using(engine={"item": "tea"}), "it needs a model or a tool: entry 2"),
        (lambda tested: tested.using(engine={"twice": True}), "it needs a model or a tool: entry 3"),
    ],
)
def test_what_needs_a_model_is_not_updated(tmp_path: Path, change: Callable[[Agent], Agent], problem: str) -> None:
    tested = agent("I look.", engine=asking)
    recording = saved(tmp_path, tested.run("q").run.to_json())
    before = recording.path.read_bytes()
    changed, why = update(recording, change(tested))
    assert not changed and why.startswith(problem) and "record the run again" in why
    assert recording.path.read_bytes() == before


def test_what_was_changed_by_hand_or_is_unfinished_is_not_updated(tmp_path: Path) -> None:
    tested = agent(LOOK, "4.5", "5.0", instructions="Be brief.")
    run = tested.run("q").run
    run.edit(2, text="5.0")
    assert "changed by hand" in update(saved(tmp_path, run.to_json()), agent())[1]
    run = agent(LOOK, instructions="Be brief.").start("q", paused=True)
    next(run)
    assert "ends before" in update(saved(tmp_path, run.to_json()), agent())[1]
    (tmp_path / "one.json").write_text("{")
    assert "cannot read" in update(find(tmp_path)[0], agent())[1]


def test_one_line_of_many_is_updated_and_the_others_stay_as_they_are(tmp_path: Path) -> None:
    lines = [json.dumps(recorded()), '{"not": "a recording"}', "", json.dumps(recorded()), ""]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    first, _, last = find(tmp_path)
    tested = agent(instructions="Be brief.")
    assert update(first, tested) == ("2 steps", "")
    assert update(last, tested) == ("2 steps", "")  # its beginning has moved
    now = (tmp_path / "many.jsonl").read_text().split("\n")
    assert now[1:3] == lines[1:3] and len(now) == len(lines)
    assert [result.status for result in replay(tmp_path, tested)] == ["same", "cannot be played", "same"]


def test_tools_in_parallel_and_of_sources_are_those_of_the_recording() -> None:
    class Skills:
        readings = 0

        def get_tool_schemas(self) -> list[dict[str, Any]]:
            self.readings += 1
            return [{"name": "skill", "description": "A skill.", "parameters": {"type": "object", "properties": {}}}]

        def execute_tool(self, name: str, arguments: dict[str, Any]) -> str:
            return "done"

    skills = Skills()
    tested = Agent(model(Reply("", (Call("skill", {}, "a"),)), "Done."), [skills], journal="memory")
    run = tested.run("q").run
    assert skills.readings == 1
    assert replay(run, Agent(model(), [skills], journal="memory")).is_same and skills.readings == 1
    assert "agent.prepared()" in only(replay(recorded(), tested)).problem
    assert not replay(recorded(), Agent(model(), [skills], journal="memory").prepared()).is_same


def both(task: Any, first: str = "a") -> Any:
    chat = Chat.of(task)
    replies = yield All((Think(chat, role=first), Think(chat, role="b")))
    return Answer(" ".join(reply.text for reply in replies), chat)


def test_a_difference_in_one_lane_is_found_beside_others() -> None:
    tested = agent("x", "y", engine=both)
    result = only(replay(tested.run("q").run, tested.using(engine={"first": "c"})))
    assert result.difference.recorded.startswith("ask the model (a)") and result.difference.what == "the step"


def test_names_of_recordings_never_meet_whatever_they_are() -> None:
    data = [dict(recorded(), run=name) for name in ("a", "a", "a (2)", "a", "a (3)")]
    names = [each.name for each in find(data)]
    assert len(set(names)) == 5 and (names[0], names[2], names[4]) == ("a", "a (2)", "a (3)")


def test_links_that_lead_in_circles_lead_to_each_recording_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "one.json").write_text(json.dumps(recorded()))
    (tmp_path / "below" / "up").symlink_to(tmp_path)
    assert [each.name for each in find(tmp_path)] == ["below/one.json"]
    assert [each.name for each in find(tmp_path / "**" / "*.json")] == ["one.json"]


def test_a_path_that_is_too_long_and_a_list_that_contains_itself_are_refused() -> None:
    around: list[Any] = []
    around.append(around)
    for wrong in ("a" * 5000, "*" + "a" * 5000, around):
        with pytest.raises(UsageError, match=r"cannot read|contains itself|no file fits"):
            find(wrong)
