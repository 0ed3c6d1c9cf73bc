"""The approver of `agent.run`: it is awaited, it may fail, and without one the model and the developer are told so."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from agentkit import Agent, Answer, Ask, Call, Chat, Reply, tool
from agentkit.models import Scripted
from agentkit.run.run import Result

paid: list[float] = []


@tool
def pay(amount: float) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount:g}"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


def decided(approver: Any, timeout: float | None = None) -> Result:
    model = Scripted([Reply("", (Call("pay", {"amount": 90}, "p"),)), "done"])
    return Agent(model, [pay], dialect="native", journal="memory", approve=True, approver=approver).run(
        "q", timeout=timeout
    )


def warnings(result: Result) -> list[str]:
    return [event.data["text"] for event in result.run.events() if event.kind == "warning"]


def test_without_an_approver_model_and_developer_are_told_that_nobody_was_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = decided(None)
    entry = result.run[2]
    why = "it needs approval, and nobody was there to approve it"
    assert entry.result.text == f"The call of 'pay' was not run: {why}." and not entry.result.ok
    assert (entry.author, entry.reason, paid, result.answer) == ("nobody", why, [], "done")
    assert result.denied == (f"pay(amount=90): {why}",) and "denied=1" in repr(result)
    assert why in result._repr_html_() and why in result._repr_markdown_()
    (told,) = warnings(result)
    assert told.startswith(f"pay(amount=90) was not run: {why}; pass approver=")
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "agentkit") and told in record.getMessage()


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize(
    ("decision", "amounts"),
    [
        (True, [90]),
        ("allow", [90]),
        ("remember", [90]),
        ({"amount": 5}, [5]),
        (False, []),
        (None, []),
        (1, []),
        ("deny", []),
        ("no", []),
    ],
)
def test_an_async_approver_is_awaited(decision: Any, amounts: list[float], timeout: float | None) -> None:
    async def approver(call: Call) -> Any:
        await asyncio.sleep(0)
        return decision

    result = decided(approver, timeout)
    assert paid == amounts and result.answer == "done"
    assert result.denied == (() if amounts else ("pay(amount=90): rejected",))


def test_an_async_approver_is_awaited_if_an_event_loop_is_running() -> None:
    async def approver(call: Call) -> bool:
        await asyncio.sleep(0)
        return True

    async def cell() -> Result:
        return decided(approver)

    assert asyncio.run(cell()).answer == "done" and paid == [90]


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "error", [ValueError("no database"), TimeoutError("too slow"), SystemExit(3), asyncio.CancelledError()]
)
def test_an_approver_that_raises_is_a_no_with_its_reason(
    error: BaseException, asynchronous: bool, timeout: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    def approver(call: Call) -> Any:
        raise error

    async def approver_too(call: Call) -> Any:
        raise error

    result = decided(approver_too if asynchronous else approver, timeout)
    text = result.run[2].result.text
    assert paid == [] and result.answer == "done" and result.run[2].author == "approver"
    assert text.startswith("The call of 'pay' was not run: the approver raised ")
    told = str(error)
    assert told in text and told in result.denied[0] and told in warnings(result)[0] and told in caplog.text
    if isinstance(error, Exception):
        assert f"{type(error).__name__}: {error}" in text


def test_a_denial_by_the_approver_has_an_author_in_the_rows() -> None:
    result = decided(lambda call: False)
    entry = result.run[2]
    assert (entry.author, entry.reason) == ("approver", "rejected") and "rejected by the operator" in entry.result.text
    assert result.denied == ("pay(amount=90): rejected",) and warnings(result) == []


def test_arguments_that_an_approver_changed_have_an_author_and_are_not_a_denial() -> None:
    result = decided(lambda call: {"amount": 5})
    assert result.run[1].author == "approver" and result.denied == () and paid == [5]


def test_arguments_from_an_approver_that_cannot_be_used_are_a_no() -> None:
    result = decided(lambda call: {1: 2})
    assert result.answer == "done" and paid == [] and "cannot be used" in result.run[2].result.text


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_does_not_wait_longer_for_its_approver_than_its_timeout(asynchronous: bool) -> None:
    opened = threading.Event()

    def approver(call: Call) -> bool:
        opened.wait(60)
        return True

    async def approver_too(call: Call) -> bool:
        await asyncio.sleep(60)
        return True

    result = decided(approver_too if asynchronous else approver, 0.2)
    assert not opened.is_set() and (result.reason, result.run.status, paid) == ("timeout", "waiting", [])
    opened.set()
    assert result.denied == () and result.run.approve().drive().answer == "done" and paid == [90]


def test_a_question_that_nobody_answers_is_reported_too(caplog: pytest.LogCaptureFixture) -> None:
    def asking(task: Any) -> Any:
        reply = yield Ask("Which one?")
        return Answer(reply, Chat.of(task))

    result = Agent(Scripted([]), engine=asking, journal="memory").run("q")
    assert result.answer == "There is nobody here to answer." and result.run[1].author == "nobody"
    assert result.denied == ("Which one?: nobody was there to answer",)
    assert warnings(result) == ["nobody was there to answer the question 'Which one?'"] and len(caplog.records) == 1


def test_a_call_that_may_have_run_is_not_repeated_if_nobody_is_there_to_decide() -> None:
    over = threading.Event()
    begun: list[float] = []

    @tool(effect="irreversible", timeout=0.05)
    def send(amount: float) -> str:
        """Send an amount."""
        begun.append(amount)
        over.wait(60)
        return "sent"

    calls = [Reply("", (Call("send", {"amount": 9}, key),)) for key in "ab"]
    result = Agent(Scripted([*calls, "done"]), [send], dialect="native", journal="memory").run("q")
    over.set()
    text = result.run[4].result.text
    assert begun == [9] and "nobody was there to decide" in text and "may have run" in text
    assert result.answer == "done" and len(result.denied) == 1 and "may have run" in result.denied[0]


def test_a_tool_that_always_needs_approval_is_asked_about_whatever_the_agent_says() -> None:
    done = []

    @tool(effect="pure", approve=True)
    def act(what: str) -> str:
        """Act."""
        done.append(what)
        return what

    def agent(**options: Any) -> Agent:
        return Agent(Scripted([Reply("", (Call("ACT", {"what": "x"}),)), "end"]), [act], journal="memory", **options)

    for options in ({}, {"approve": False}, {"approve": []}, {"approver": lambda call: False}):
        agent(**options).run("Act.")
    assert done == []
    run = agent(approve=False).start("Act.", paused=True)
    run.drive()
    assert (run.status, done) == ("waiting", [])
    agent(approver=lambda call: True).run("Act.")
    assert done == ["x"]
