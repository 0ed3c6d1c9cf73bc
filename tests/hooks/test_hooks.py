"""What hooks decide: they block, change and add, it shows on the entry, and a replay runs none of them."""

from __future__ import annotations

import asyncio
import contextvars
import html
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from agentkit import (
    Act,
    Agent,
    All,
    Answer,
    Ask,
    Call,
    Chat,
    Loop,
    Message,
    Reply,
    Run,
    Status,
    Think,
    Usage,
    load,
    tool,
)
from agentkit.engines.react import react
from agentkit.errors import HookRefused, ReadOnly, UsageError
from agentkit.export.parts import parts_of
from agentkit.hooks import Hook, allow, ask, change, deny, finish, hook
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.view.cards import card

PAID: list[int] = []
SEEN: list[Any] = []


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


@tool(effect="pure")
def weather(city: str) -> str:
    """Return the weather."""
    SEEN.append(city)
    return f"rain in {city}"


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    PAID.clear()
    SEEN.clear()


def paying(*amounts: int) -> list[Reply]:
    return [Reply(f"I pay {amount}.", (Call("pay", {"amount": amount}, f"c{n}"),)) for n, amount in enumerate(amounts)]


def agent(*replies: Any, journal: Any = "memory", **options: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), [pay, weather], journal=journal, **options)


def observations(run: Run) -> list[str]:
    return [entry.result.text for entry in run.entries if entry.kind == "act"]


def reasons(run: Run) -> list[str]:
    return [entry.reason for entry in run.entries if entry.reason]


@hook("before", tool="pay")
def cautious(call: Call) -> Any:
    """Pay at most 10 without a question."""
    SEEN.append(call.arguments["amount"])
    return change(arguments={"amount": 10}, why="at most 10") if call.arguments["amount"] > 10 else None


@hook("before", tool="pay")
def never(call: Call) -> Any:
    """Never pay."""
    SEEN.append(call.arguments["amount"])
    return deny("not on Fridays")


# -- tools -------------------------------------------------------------------------------------------------------------


def test_a_hook_that_denies_keeps_the_tool_from_being_called_and_says_why() -> None:
    result = agent(*paying(50), "done", hooks=[never]).run("pay")
    assert PAID == [] and result.answer == "done"
    assert observations(result.run) == ["The call of 'pay' was not run: hook 'never': not on Fridays"]
    entry = result.run.entries[2]
    assert (entry.author, entry.reason) == ("hook", "hook 'never': not on Fridays")
    assert not entry.result.ok and not entry.result.may_have_run


def test_a_call_that_a_hook_denies_does_not_stand_in_the_ledger() -> None:
    run = agent(*paying(50), "done", hooks=[never]).run("pay").run
    assert run.trace.tree.ledger.calls == []
    assert [event.data["performed"] for event in run.events() if event.kind in ("tool_call", "tool_result")] == [
        False
    ] * 2


def test_a_hook_changes_the_arguments_and_the_entry_keeps_both() -> None:
    result = agent(*paying(50), "done", hooks=[cautious]).run("pay")
    entry: Any = result.run.entries[2]
    assert PAID == [10] and entry.author == "tool"
    assert entry.step.call.arguments == {"amount": 50} and entry.performed.call.arguments == {"amount": 10}
    assert entry.reason == "hook 'cautious' changed the arguments: pay(amount=10) (at most 10)"
    assert [past.arguments for past in result.run.trace.tree.ledger.calls] == [{"amount": 10}]
    called = [event.data["arguments"] for event in result.run.events() if event.kind == "tool_call"]
    assert called == [{"amount": 10}]


def test_a_hook_cannot_change_a_call_in_place() -> None:
    @hook("before")
    def changing(call: Call) -> None:
        call.arguments["amount"] = 1
        call.name = "weather"

    assert agent(*paying(50), "done", hooks=[changing]).run("pay").run and PAID == [50]


def test_a_hook_changes_the_result_and_the_model_and_the_journal_have_only_that(tmp_path: Path) -> None:
    @hook("after", tool="wea*")
    def redacted(call: Call, message: Message) -> Any:
        return change(result=message.text.replace("Oslo", "…"), why="no places")

    asked = Reply("", (Call("weather", {"city": "x"}, "c1"),))

    @tool(name="weather", effect="pure")
    def secret(city: str) -> str:
        return "rain in Oslo"

    model = Scripted([asked, "done"], abilities=Abilities(tools=True))
    result = Agent(model, [secret], journal=tmp_path / "runs.db", hooks=[redacted]).run("q")
    assert observations(result.run) == ["rain in …"] and "Oslo" not in str(model.requests)
    assert reasons(result.run) == ["hook 'redacted' changed the result (12 characters before) (no places)"]
    rows = sqlite3.connect(tmp_path / "runs.db").iterdump()
    assert "Oslo" not in "".join(rows)


def test_a_message_of_a_hook_reaches_the_model_and_names_the_hook() -> None:
    @hook("after", tool="pay")
    def note(call: Call, message: Message) -> Any:
        return allow(message="This was the last payment.")

    run = agent(*paying(5), "done", hooks=[note]).run("pay").run
    heard = [message.text for message in run.entries[3].result.heard]
    assert heard == ["[hook 'note'] This was the last payment."]
    injected = next(event for event in run.events() if event.kind == "injected")
    assert injected.data["by"] == "hook 'note'"


def test_hooks_run_by_priority_and_each_sees_what_the_one_before_has_changed() -> None:
    def adding(number: int, priority: int) -> Hook:
        @hook("before", tool="pay", priority=priority, name=f"add {number}")
        def add(call: Call) -> Any:
            return change(arguments={"amount": call.arguments["amount"] * 10 + number})

        return add

    run = agent(*paying(1), "done", hooks=[adding(2, 0), adding(3, 5), adding(4, 0), adding(5, -1)]).run("pay").run
    assert PAID == [13245]
    assert [part.partition(" changed")[0] for part in run.entries[2].reason.split("; ")] == [
        *("hook 'add 3'", "hook 'add 2'", "hook 'add 4'", "hook 'add 5'")
    ]


def test_the_first_hook_that_denies_is_the_last_that_is_asked() -> None:
    last = hook("before", priority=-1)(lambda call: SEEN.append("asked"))
    agent(*paying(5), "done", hooks=[last, never]).run("pay")
    assert SEEN == [5]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*", True),
        ("pay", True),
        ("p*", True),
        ("?ay", True),
        ("[op]ay", True),
        ("Pay", False),
        ("pa", False),
        ("", None),
    ],
)
def test_a_pattern_chooses_the_tools(pattern: str, matches: bool | None) -> None:
    if matches is None:
        with pytest.raises(UsageError, match="pattern of tool names"):
            hook("before", tool=pattern)
        return
    agent(*paying(5), "done", hooks=[hook("before", tool=pattern)(lambda call: deny("no"))]).run("pay")
    assert ([] if matches else [5]) == PAID


@pytest.mark.parametrize("name", ["pay", "Pay", "functions.pay", "pay()", " pay "])
def test_a_pattern_matches_the_tool_that_is_called_however_the_model_spells_it(name: str) -> None:
    asked = Reply("I pay.", (Call(name, {"amount": 5}, "c1"),))
    agent(asked, "done", hooks=[never]).run("pay")
    assert PAID == []


def test_a_call_that_cannot_be_performed_is_not_shown_to_hooks() -> None:
    unknown = Reply("", (Call("nothing", {}, "c1"), Call("pay", {}, "c2", problem="no JSON")))
    agent(unknown, "done", hooks=[hook("before")(SEEN.append)]).run("pay")
    assert SEEN == []


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), "a lot", None, [[[1]]], {"a": {"b": 1}}])
def test_a_hook_that_allows_changes_nothing_about_a_call_that_does_not_fit(amount: Any) -> None:
    asked = Reply("I pay.", (Call("pay", {"amount": amount}, "c1"),))
    with_hook = agent(asked, "done", hooks=[hook("before")(lambda call: None)]).run("pay").run
    assert observations(with_hook) == observations(agent(asked, "done").run("pay").run) and PAID == []


def test_arguments_that_are_nested_too_deeply_to_be_shown_to_a_hook_are_not_used() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    asked = Reply("I pay.", (Call("pay", {"amount": deep}, "c1"),))
    assert agent(asked, "done", hooks=[hook("before")(lambda call: None)]).run("pay").answer == "done" and PAID == []


def test_an_asynchronous_hook_decides_too() -> None:
    @hook("before")
    async def check(call: Call) -> Any:
        await asyncio.sleep(0.01)
        return deny("later")

    assert "later" in observations(agent(*paying(5), "done", hooks=[check]).run("pay").run)[0] and PAID == []


def test_a_hook_runs_in_the_context_of_the_caller() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    user.set("Ada")
    agent(*paying(5), "done", hooks=[hook("before")(lambda call: SEEN.append(user.get()))]).run("pay")
    assert SEEN == ["Ada"]


# -- gates -------------------------------------------------------------------------------------------------------------


def test_a_hook_that_asks_has_the_run_wait_for_a_person() -> None:
    asks = hook("before", tool="pay", name="asks")(lambda call: ask("is that right?"))
    run = agent(*paying(5), "done", hooks=[asks]).start("pay", paused=True)
    run.drive()
    assert run.status == Status.WAITING and PAID == [] and run.waiting[0][1].why == "hook 'asks': is that right?"
    run.guard(approve=[])  # the gates are asked again, and the hook's question is still there
    run.drive()
    assert run.status == Status.WAITING and PAID == []
    assert run.approve().drive().answer == "done" and PAID == [5]
    assert "approved by a person" in run.entries[2].reason


def test_nobody_answers_for_a_hook_that_asks() -> None:
    asks = hook("before", name="asks")(lambda call: ask("sure?"))
    denied = agent(*paying(5), "done", hooks=[asks]).run("pay")
    assert PAID == [] and len(denied.denied) == 1
    assert agent(*paying(5), "done", hooks=[asks], approver=lambda call: True).run("pay").answer and PAID == [5]


def test_a_person_approves_what_a_hook_has_made_of_a_call() -> None:
    run = agent(*paying(50), "done", hooks=[cautious], approve=["pay"]).start("pay", paused=True)
    run.drive()
    ((pending, _),) = run.waiting
    assert pending.step.call.arguments == {"amount": 10}  # type: ignore[union-attr]
    run.inject("hurry")
    run.approve().drive()
    assert PAID == [10] and SEEN == [50]  # the hook was not asked again
    assert run.entries[2].reason.startswith("approved by a person; hook 'cautious' changed the arguments")


def test_a_person_may_change_the_arguments_of_a_call_that_a_hook_has_changed() -> None:
    run = agent(*paying(50), "done", hooks=[cautious], approve=["pay"]).start("pay", paused=True)
    run.drive()
    run.approve(arguments={"amount": 7}).drive()
    assert PAID == [7] and SEEN == [50, 7]  # the hook is asked about the new call


def test_a_function_that_approves_sees_the_changed_call() -> None:
    judged: list[int] = []
    run = agent(
        *paying(50), "done", hooks=[cautious], approve=lambda call: judged.append(call.arguments["amount"])
    ).run("q")
    assert run.answer == "done" and judged == [10]


def test_a_changed_call_that_was_performed_before_is_asked_about() -> None:
    run = agent(*paying(10, 50), "done", hooks=[cautious]).start("pay", paused=True)
    next(run), next(run)
    run.rewind(0)
    run.drive()
    assert run.status == Status.WAITING and "pay(amount=10) was performed" in run.waiting[0][1].why
    assert PAID == [10]


def test_a_limit_of_calls_counts_no_call_that_a_hook_denies() -> None:
    first = hook("before", name="first")(lambda call: deny("no") if call.arguments["amount"] == 1 else None)
    agent(*paying(1, 2, 3), "done", hooks=[first], max_tool_calls=1).run("pay")
    assert PAID == [2]


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_hook_adds_to_the_chat_of_a_request() -> None:
    @hook("before", "model")
    def brief(step: Think) -> Any:
        return allow(message="Be brief.")

    run = agent("done", hooks=[brief]).run("q").run
    assert run.performer.model.requests[0]["messages"][-1]["content"] == "[hook 'brief'] Be brief."  # type: ignore[attr-defined]


def test_a_hook_changes_the_chat_of_a_request_and_the_entry_keeps_both() -> None:
    @hook("before", "model")
    def without_names(step: Think) -> Any:
        return change(chat=Chat.of([Message(m.role, m.text.replace("Ada", "the user")) for m in step.chat]))

    run = agent("done", hooks=[without_names]).run("I am Ada.").run
    assert "Ada" not in str(run.performer.model.requests)  # type: ignore[attr-defined]
    thought: Any = run.entries[1]
    assert thought.step.chat[-1].text == "I am Ada." and thought.performed.chat[-1].text == "I am the user."
    assert thought.reason == "hook 'without_names' changed the chat"


def test_a_hook_that_denies_a_model_call_holds_the_run_which_can_be_driven_again() -> None:
    answers = [deny("not yet"), None]
    later = hook("before", "model", name="later")(lambda step: answers.pop(0))
    result = agent("done", hooks=[later]).run("q")
    assert str(result.error) == "hook 'later': not yet" and result.run.performer.model.requests == []  # type: ignore[attr-defined]
    assert result.run.drive().answer == "done"


def test_a_hook_changes_a_reply_which_the_dialect_reads() -> None:
    @hook("after", "model")
    def shorter(step: Think, reply: Reply) -> Any:
        return change(result="fine") if reply.text == "very fine" else None

    result = agent("very fine", hooks=[shorter]).run("q")
    assert result.answer == "fine" and "hook 'shorter' changed the result" in result.run.entries[1].reason
    assert result.run.entries[1].author == "model" and result.usage.calls == 1


def test_what_a_refused_reply_has_cost_counts() -> None:
    refusing = hook("after", "model", name="no")(lambda step, reply: deny("no"))
    result = agent(Reply("very fine", usage=Usage(5, 2)), hooks=[refusing]).run("q")
    assert isinstance(result.error, HookRefused) and (result.usage.calls, result.usage.input) == (1, 5)


# -- runs and stop hooks -----------------------------------------------------------------------------------------------


def test_a_hook_before_a_run_sees_its_task_once() -> None:
    first = hook("before", "run")(lambda chat: SEEN.append([message.text for message in chat]))
    agent(*paying(5), "done", hooks=[first], instructions="Pay.").run("pay 5")
    assert SEEN == [["Pay.", "pay 5"]]


def test_a_hook_ends_a_run_before_the_first_request() -> None:
    closed = hook("before", "run", name="closed")(lambda chat: finish("it is Sunday", "We are closed."))
    result = agent("done", hooks=[closed]).run("q")
    assert (result.answer, result.reason) == ("We are closed.", "hook:closed")
    assert result.run.performer.model.requests == [] and reasons(result.run) == ["hook 'closed': it is Sunday"]  # type: ignore[attr-defined]


def test_a_stop_hook_has_the_run_go_on_until_its_goal() -> None:
    @hook("after", "run")
    def until_done(answer: str) -> str | None:
        return None if "done" in answer else f"Not done: {answer}"

    result = agent("one", "two", "done", hooks=[until_done]).run("q")
    assert result.answer == "done"
    sent = [entry.result.text for entry in result.run.entries if entry.kind == "conclude" and entry.result]
    assert sent == ["Not done: one", "Not done: two"]
    assert {entry.author for entry in result.run.entries if entry.kind == "conclude" and entry.result} == {"hook"}


@pytest.mark.parametrize(("options", "times"), [({}, 15), ({"most": 3}, 3)])
def test_a_stop_hook_has_a_run_go_on_only_so_often(options: Any, times: int) -> None:
    again = hook("after", "run", name="again", **options)(lambda answer: "again")
    result = agent(*[f"answer {n}" for n in range(30)], hooks=[again]).run("q")
    assert result.answer == f"answer {times}"
    warnings = [event.data["text"] for event in result.run.events() if event.kind == "warning"]
    assert warnings == [f"the hook 'again' has had the run go on {times} times, which is its limit; the answer stays"]


def test_the_limit_of_a_stop_hook_counts_across_a_resume(tmp_path: Path) -> None:
    again = hook("after", "run", name="again", most=4)(lambda answer: "again")
    run = agent(*"abc", journal=tmp_path / "runs.db", hooks=[again]).start("q", paused=True)
    for _ in range(5):
        next(run)
    run.close()
    assert agent(*"defghi", journal=tmp_path / "runs.db", hooks=[again]).resume(run.id).drive().answer == "e"


def test_a_stop_hook_does_not_prolong_a_run_whose_budget_is_used_up() -> None:
    again = hook("after", "run")(lambda answer: "again")
    result = agent(*"abcdef", hooks=[again], budget={"max_model_calls": 2, "ask": False}).run("q")
    assert result.reason.startswith("budget") and result.usage.calls == 2


def test_a_hook_after_a_run_changes_its_answer() -> None:
    polite = hook("after", "run", name="polite")(lambda answer: change(result=f"{answer}, please"))
    result = agent("wait", hooks=[polite]).run("q")
    assert result.answer == "wait, please" and "hook 'polite' changed the answer" in reasons(result.run)


# -- replay, resume, fork, edit ----------------------------------------------------------------------------------------


def test_a_replay_runs_no_hook(tmp_path: Path) -> None:
    run = agent(*paying(50), "done", journal=tmp_path / "runs.db", hooks=[cautious]).run("pay").run
    assert (SEEN, PAID) == ([50], [10])
    run.undo(), run.redo(), list(run.entries), run.to_html(), run.to_markdown(), run.to_json()
    again = agent(journal=tmp_path / "runs.db").look(run.id)
    assert [entry.reason for entry in again.entries] == [entry.reason for entry in run.entries]
    copy = load(run.to_json(), agent(journal=tmp_path / "other.db", hooks=[cautious]))
    entry: Any = copy.entries[2]
    assert entry.performed.call.arguments == {"amount": 10} and entry.step.call.arguments == {"amount": 50}
    assert (SEEN, PAID) == ([50], [10])


def test_a_resumed_run_asks_its_hooks_only_about_new_steps(tmp_path: Path) -> None:
    run = agent(*paying(50), journal=tmp_path / "runs.db", hooks=[cautious]).start("pay", paused=True)
    next(run), next(run)
    run.close()
    again = agent(*paying(1, 60)[1:], "done", journal=tmp_path / "runs.db", hooks=[cautious]).resume(run.id)
    assert SEEN == [50]
    assert again.drive().answer == "done" and (SEEN, PAID) == ([50, 60], [10, 10])


def test_a_hook_of_a_module_that_is_gone_is_a_clear_error(tmp_path: Path) -> None:
    run = agent(*paying(50), "done", journal=tmp_path / "runs.db", hooks=[cautious, never]).start("pay", paused=True)
    next(run)
    run.close()
    opened = agent("done", journal=tmp_path / "runs.db", hooks=[never]).resume(run.id)
    assert "without the hook" in opened.read_only and ":cautious' (before the tools pay)" in opened.read_only
    assert "never" not in opened.read_only and "waive hooks" in opened.read_only
    with pytest.raises(ReadOnly):
        opened.drive()
    opened.close()
    waived = agent("done", journal=tmp_path / "runs.db").resume(run.id, waive=["hooks"])
    assert waived.drive().answer == "done" and PAID == [50]
    changed = next(event.data for event in waived.events() if event.kind == "guarded")
    assert changed["hooks"] is None


def test_a_hook_with_another_pattern_is_another_hook(tmp_path: Path) -> None:
    run = agent("done", journal=tmp_path / "runs.db", hooks=[never]).start("pay", paused=True)
    run.close()
    narrower = hook("before", tool="weather", name=never.name)(never.function)  # type: ignore[arg-type]
    assert "without the hook" in agent("done", journal=tmp_path / "runs.db", hooks=[narrower]).resume(run.id).read_only


def test_an_agent_that_opens_a_run_adds_its_hooks(tmp_path: Path) -> None:
    run = agent(*paying(50), journal=tmp_path / "runs.db").start("pay", paused=True)
    next(run)
    run.close()
    assert agent("done", journal=tmp_path / "runs.db", hooks=[never]).resume(run.id).drive().answer and PAID == []
    assert agent("done", journal=tmp_path / "runs.db").resume(run.id).read_only  # it is guarded by it from now on


def test_a_fork_shares_what_hooks_have_decided_and_may_have_other_hooks() -> None:
    run = agent(*paying(50), "done", "done", hooks=[cautious]).start("pay", paused=True)
    next(run), next(run)
    fork = run.fork(at=1, hooks=[never])
    fork.drive()
    assert observations(fork)[0].endswith("not on Fridays") and observations(run) == ["paid 10"]
    assert run.fork().drive().answer == "done" and PAID == [10] and SEEN == [50, 50]


def test_an_edited_call_is_asked_about_again() -> None:
    run = agent(*paying(50), "done", "done", hooks=[cautious], repeat="allow").start("pay", paused=True)
    next(run), next(run)
    run.edit(1, calls=[Call("pay", {"amount": 70}, "c0")])
    run.drive()
    assert SEEN == [50, 70] and PAID == [10, 10]


def test_a_person_changes_the_hooks_of_a_run_and_that_is_recorded() -> None:
    run = agent(*paying(50), "done", hooks=[never]).start("pay", paused=True)
    next(run)
    run.guard(hooks=None, reason="it is Saturday")
    assert run.drive().answer == "done" and PAID == [50] and SEEN == []
    assert "hooks" in repr(run.guards) and next(e for e in run.events() if e.kind == "guarded").data["reason"]


# -- lanes and nested engines ------------------------------------------------------------------------------------------


def lanes(task: Any, tools: Any = ()) -> Generator[Any, Any, Answer]:
    """Pay 0 to 5 at once."""
    results = yield All(tuple(Act(Call("pay", {"amount": n}, f"c{n}")) for n in range(6)))
    return Answer(" | ".join(message.text for message in results), Chat.of(task))


def test_hooks_of_parallel_lanes_run_at_once() -> None:
    barrier = threading.Barrier(6)

    @hook("before")
    def together(call: Call) -> Any:
        barrier.wait(20)
        return deny("odd") if call.arguments["amount"] % 2 else None

    result = Agent("offline", [pay], engine=lanes, journal="memory", hooks=[together]).run("pay")
    assert sorted(PAID) == [0, 2, 4] and result.answer.count("odd") == 3


def test_the_hooks_before_a_run_come_before_all_lanes() -> None:
    slow = hook("before", "run")(lambda chat: SEEN.append(list(PAID)))
    Agent("offline", [pay], engine=lanes, journal="memory", hooks=[slow]).run("pay")
    assert SEEN == [[]] and len(PAID) == 6


def test_hooks_see_the_calls_of_nested_engines() -> None:
    def outer(task: Any, tools: Any = ()) -> Generator[Any, Any, Answer]:
        """Delegate twice, once in lanes."""
        first = yield from react(task, tools=tools)
        more = yield All((react(task, tools=tools), react(task, tools=tools)))
        return Answer(f"{first.text} {[part.text for part in more]}", first.chat)

    result = Agent(
        Scripted([*paying(1), "one", *paying(2, 3), "two", "three"], abilities=Abilities(tools=True)),
        *([pay],),
        engine=Loop(outer),
        journal="memory",
        hooks=[never],
    ).run("pay")
    assert PAID == [] and sorted(SEEN) == [1, 2, 3] and result.answer


def test_a_question_to_a_person_is_none_of_the_hooks() -> None:
    def asking(task: Any) -> Generator[Any, Any, Answer]:
        """Ask."""
        text = yield Ask("who?")
        return Answer(text, Chat.of(task))

    everything = [hook("before")(SEEN.append), hook("before", "model")(SEEN.append)]
    run = Agent("offline", engine=asking, journal="memory", hooks=everything).start("q", paused=True)
    run.drive()
    run.respond("Ada")
    assert run.drive().answer == "Ada" and SEEN == []


def test_a_hook_that_ends_the_run_in_one_lane_ends_it_for_all() -> None:
    begun = threading.Barrier(6)
    ended = threading.Event()

    @hook("before", timeout=60)
    def last(call: Call) -> Any:
        begun.wait(30)
        if call.arguments["amount"] == 0:
            return finish("enough", "That is enough.")
        ended.wait(30)
        return deny("too late")

    lanes_agent = Agent("offline", [pay], engine=lanes, journal="memory", hooks=[last])
    run = lanes_agent.start("pay", paused=True)
    run.on_event(lambda event: ended.set() if event.kind == "completed" else None)
    result = run.drive(timeout=60)
    assert (result.answer, result.error, PAID) == ("That is enough.", None, [])
    assert [entry.kind for entry in run.entries] == ["begin", "end"] and run.status == Status.DONE


def test_asking_again_asks_the_hooks_again() -> None:
    look_at = hook("before", "model")(lambda step: SEEN.append(step.role))
    run = agent("one", "two", "three", hooks=[look_at]).run("q").run
    assert len(run.resample(1, times=2).go()) == 2
    assert SEEN == ["thought"] * 3


# -- stopping ----------------------------------------------------------------------------------------------------------


def test_nothing_has_begun_while_a_hook_decides(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    @hook("before", timeout=60)
    def slow(call: Call) -> None:
        begun.set()
        go.wait(60)

    run = agent(*paying(5), "done", journal=tmp_path / "runs.db", hooks=[slow]).start("pay")
    begun.wait(30)
    other = agent(journal=tmp_path / "runs.db").look(run.id)
    assert [row.kind for row in other.rows()][-1] == "think" and other.trace.tree.ledger.calls == []
    run.stop()
    run.wait(30)
    go.set()
    assert run.status == Status.STOPPED and PAID == []
    run.drive()
    assert PAID == [5] and observations(run) == ["paid 5"]


def test_a_step_in_the_view_performs_the_step_and_not_only_its_hooks() -> None:
    run = agent(*paying(50), "done", hooks=[cautious]).start("pay", paused=True)
    for length in (2, 3, 4):
        run.play_step()
        run.wait(30)
        assert len(run.entries) == length
    assert PAID == [10]


def test_an_edit_while_a_hook_decides_has_the_hook_asked_about_the_new_call() -> None:
    begun, go = threading.Event(), threading.Event()

    @hook("before", timeout=60)
    def slow(call: Call) -> None:
        SEEN.append(call.arguments["amount"])
        begun.set()
        go.wait(60)

    run = agent(*paying(5), "done", hooks=[slow]).start("pay")
    begun.wait(30)
    run.edit(1, calls=[Call("pay", {"amount": 6}, "c0")])
    go.set()
    run.drive() if run.status != Status.RUNNING else run.wait(30)
    assert PAID == [6] and SEEN == [5, 6]


# -- showing -----------------------------------------------------------------------------------------------------------


def test_a_change_by_a_hook_is_shown_with_its_author() -> None:
    run = agent(*paying(50), "done", hooks=[cautious]).run("pay").run
    other = agent(*paying(50), "done", hooks=[never]).run("pay").run
    for text in (run.to_html(), run.to_markdown()):
        assert "changed the arguments: pay(amount=10)" in html.unescape(text)
    for text in (other.to_html(), other.to_markdown()):
        assert "entered by a hook" in text and "not on Fridays" in text
    assert "hook 'never'" in parts_of(other.entries[2]).mark
    assert card(run.entries[2], 2)["reason"] == run.entries[2].reason and "changed the arguments" in repr(run)
    assert card(other.entries[2], 2)["author"] == "hook"


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (("during",), {}, 'runs "before" or "after" a "tool"'),
        (("before", "tools"), {}, 'runs "before" or "after" a "tool"'),
        ((lambda call: None,), {}, 'runs "before" or "after" a "tool"'),
        (("before", "model"), {"tool": "pay"}, "has no tool"),
        (("before",), {"timeout": 0}, "timeout must be"),
        (("before",), {"timeout": None}, "timeout must be"),
        (("before",), {"timeout": float("inf")}, "timeout must be"),
        (("before",), {"priority": 1.5}, "priority must be"),
        (("after", "run"), {"most": 0}, "most must be"),
    ],
)
def test_a_hook_that_is_wrongly_declared_is_an_error(arguments: Any, options: Any, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        hook(*arguments, **options)


@pytest.mark.parametrize("hooks", [[print], ["secrets"], [lambda call: None], "never", [None], 3])
def test_a_function_without_the_decorator_is_no_hook(hooks: Any) -> None:
    with pytest.raises((UsageError, ValueError)):
        agent("done", hooks=hooks)


def test_a_hook_can_be_called_like_its_function() -> None:
    assert never(Call("pay", {"amount": 3})).kind == "deny" and SEEN == [3]
