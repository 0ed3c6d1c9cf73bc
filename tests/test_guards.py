"""What guards a run is part of the run: it is recorded, and it holds wherever the run is opened again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.errors import ReadOnly, UsageError
from agentkit.gates.guards import Approval, Guards
from agentkit.gates.limits import Budget
from agentkit.journal.entries import Note
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

PAID: list[int] = []


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


@tool(effect="pure")
def look() -> str:
    """Look."""
    return "nothing"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def paying(*amounts: int) -> list[Reply]:
    return [Reply(f"I pay {amount}.", (Call("pay", {"amount": amount}, f"c{n}"),)) for n, amount in enumerate(amounts)]


def agent(folder: Path, *replies: Any, **options: Any) -> Agent:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, [pay, look], journal=folder / "runs.db", **options)


def resumed(run: Run, folder: Path, *replies: Any) -> Run:
    """Return the run as an agent without any guards opens it."""
    return agent(folder, *replies).resume(run.id)


def loaded(run: Run, folder: Path, *replies: Any) -> Run:
    return load(run.to_json(), agent(folder / "elsewhere", *replies))


def resumed_twice(run: Run, folder: Path, *replies: Any) -> Run:
    return resumed(resumed(run, folder), folder, *replies)


def fork_resumed(run: Run, folder: Path, *replies: Any) -> Run:
    return resumed(run.fork(), folder, *replies)


def loaded_and_resumed(run: Run, folder: Path, *replies: Any) -> Run:
    copy = loaded(run, folder)
    return agent(folder / "elsewhere", *replies).resume(copy.id)


AGAIN: list[Callable[..., Run]] = [resumed, resumed_twice, loaded, loaded_and_resumed, fork_resumed]
again = pytest.mark.parametrize("again", AGAIN, ids=[function.__name__ for function in AGAIN])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


@again
@pytest.mark.parametrize("approve", [True, ["pay"]])
def test_approvals_are_still_needed(again: Callable[..., Run], approve: Any, folder: Path) -> None:
    run = agent(folder, *paying(90), approve=approve).start("q", paused=True)
    run.drive()
    assert run.status == "waiting"
    run = again(run, folder, "done")
    run.drive()
    assert run.status == "waiting" and PAID == [] and run.guards.approve == Approval.of(approve)


@again
def test_a_remembered_no_still_holds(again: Callable[..., Run], folder: Path) -> None:
    run = agent(folder, *paying(90, 91), approve=["pay"]).start("q", paused=True)
    run.drive()
    run.reject("never", remember=True)
    next(run)
    run = again(run, folder, "done")
    assert run.drive().answer == "done" and PAID == []
    assert "rejected" in run[-2].result.text or "rejected" in run[-3].result.text


def test_a_remembered_yes_holds_in_the_own_journal_and_not_in_a_file(folder: Path) -> None:
    run = agent(folder, *paying(90, 91), approve=["pay"]).start("q", paused=True)
    run.drive()
    run.approve(remember=True)
    next(run)
    next(run)
    copy = loaded(run, folder, "done")
    copy.drive()
    assert copy.status == "waiting" and PAID == [90]
    run = resumed(run, folder, "done")
    assert run.drive().answer == "done" and PAID == [90, 91]


@again
def test_a_budget_holds_with_what_was_spent(again: Callable[..., Run], folder: Path) -> None:
    run = agent(folder, *paying(1, 2), budget={"max_model_calls": 3, "ask": True}).start("q", paused=True)
    for _ in range(4):
        next(run)
    run = again(run, folder, *paying(3, 4, 5, 6), "done")
    run.drive()
    spent_here = 3 if run.trace.tree.entries[1].run != run.id else 1  # a fork has its own count
    assert run.status == "waiting" and run.guards.budget.max_model_calls == 3
    assert sum(entry.kind == "think" for entry in run.entries) == 2 + spent_here


def test_a_budget_that_was_extended_stays_extended(folder: Path) -> None:
    run = agent(folder, *paying(1, 2, 3), budget={"max_model_calls": 1, "ask": True}).start("q", paused=True)
    run.drive()
    run.approve()
    next(run)
    run = resumed(run, folder, "done", "more")
    run.drive()
    assert PAID == [1, 2] and run.status == "waiting"


@again
def test_breakpoints_still_hold(again: Callable[..., Run], folder: Path) -> None:
    run = agent(folder, *paying(1)).start("q", paused=True)
    run.break_at(tool="pay")
    run.enable(run.break_at(role="thought"), False)
    gone = run.break_at(error=True)
    run.unbreak(gone)
    run = again(run, folder, *paying(1), "done")
    run.drive()
    assert run.hold == "breakpoint on tool pay" and PAID == []
    assert [(point.text, point.enabled) for point in run.guards.breakpoints] == [
        ("tool pay", True),
        ("role thought", False),
    ]


@again
@pytest.mark.parametrize("policy", ["reuse", {"pay": "reuse"}])
def test_the_policy_for_repeated_calls_holds(again: Callable[..., Run], policy: Any, folder: Path) -> None:
    run = agent(folder, *paying(7), "done", repeat=policy).start("q", paused=True)
    run.drive()
    run.rewind(1)
    run = again(run, folder, "again")
    assert run.drive().answer == "again" and PAID == [7] and run[2].result.text == "paid 7"


def test_an_agent_can_only_add_to_the_guards_of_a_run(folder: Path) -> None:
    strict: dict[str, Any] = {"approve": ["pay"], "budget": {"max_model_calls": 5}, "repeat": "reuse"}
    loose: dict[str, Any] = {"approve": False, "budget": {"max_model_calls": 50}, "repeat": "allow"}
    run = agent(folder, **strict).start("q", paused=True)
    opened = agent(folder, **loose).resume(run.id)
    assert opened.guards.to_json() == Guards.of(strict).to_json()
    stricter: dict[str, Any] = {"approve": ["look"], "budget": {"max_model_calls": 2, "max_tool_calls": 9}}
    opened = agent(folder, *paying(1), **stricter).resume(run.id)
    next(opened)
    expected = {
        "approve": ["look", "pay"],
        "budget": {"max_model_calls": 2, "max_tool_calls": 9},
        "repeat": {"": "reuse"},
    }
    assert opened.guards.to_json() == expected
    assert resumed(opened, folder).guards.to_json() == expected, "what an agent added is recorded when it goes on"


def test_changing_the_guards_is_recorded_with_its_author(folder: Path) -> None:
    run = agent(folder, *paying(90), "done", approve=True, budget={"max_tokens": 9}).start("q", paused=True)
    run.guard(approve=None, budget={"max_tokens": 10_000}, author="Ada", reason="only a test")
    note = [row for row in run.rows() if isinstance(row, Note)][-1]
    assert note.data == {
        "approve": None,
        "budget": {"max_tokens": 10_000},
        "author": "Ada",
        "reason": "only a test",
    }
    assert [event.data["author"] for event in run.events() if event.kind == "guarded"] == ["Ada"]
    run = resumed(run, folder, *paying(90), "done")
    assert run.drive().answer == "done" and PAID == [90]
    with pytest.raises(UsageError, match="guard"):
        run.guard(breakpoints=[])


@again
def test_a_function_that_decides_about_approvals_holds_the_run_until_it_is_given_again_or_waived(
    again: Callable[..., Run], folder: Path
) -> None:
    def is_expensive(call: Call) -> bool:
        return call.arguments["amount"] > 50

    run = agent(folder, *paying(90), approve=is_expensive).start("q", paused=True)
    run.drive()
    opened = again(run, folder)
    assert opened.status == "readonly" and "is_expensive" in opened.read_only
    assert opened.read_only.endswith("resume it with an agent that has what is missing, or waive approve")
    with pytest.raises(ReadOnly, match="is_expensive"):
        opened.drive()
    place = folder / "elsewhere" if "loaded" in again.__name__ else folder
    opened.close()
    other = agent(place, approve=lambda call: False).resume(opened.id)
    assert "is_expensive" in other.read_only, "another function is not the one that guarded the run"
    other.close()
    given = agent(place, approve=is_expensive).resume(opened.id)
    given.drive()
    assert given.status == "waiting" and PAID == []
    given.close()
    waived = agent(place, "done").resume(opened.id, waive=["approve"])
    assert waived.drive().answer == "done" and PAID == [90]
    assert {"approve": None, "author": "human", "reason": "the run was opened with other guards"} in [
        row.data for row in waived.rows() if isinstance(row, Note) and row.kind == "guards"
    ]


def test_a_condition_of_a_breakpoint_holds_the_run_until_it_is_waived(folder: Path) -> None:
    def is_long(entry: Any) -> bool:
        return len(entry.result.text) > 3

    run = agent(folder).start("q", paused=True)
    run.break_at(when=is_long)
    run.break_at(tool="pay")
    opened = resumed(run, folder)
    assert "when=is_long" in opened.read_only
    opened.close()
    waived = agent(folder, *paying(1)).resume(run.id, waive=["breakpoints"])
    waived.drive()
    assert [point.text for point in waived.guards.breakpoints] == ["tool pay"] and waived.hold
    with pytest.raises(UsageError, match="only 'approve', 'breakpoints', 'hooks', 'guardrails' can be waived"):
        agent(folder).resume(run.id, waive=["budget"])


def test_breakpoints_of_a_fork_are_its_own(folder: Path) -> None:
    run = agent(folder, *paying(1)).start("q", paused=True)
    point = run.break_at(tool="pay")
    fork = run.fork()
    fork.unbreak()
    assert run.guards.breakpoints == [point] and fork.guards.breakpoints == []


@pytest.mark.parametrize(
    "guards",
    [
        [],
        {"approve": 3},
        {"approve": {"tools": [1]}},
        {"budget": {"max_tokens": -1}},
        {"budget": {"max_magic": 1}},
        {"repeat": {"pay": "never"}},
        {"repeat": 7},
        {"remembered": {"pay": "yes"}},
        {"breakpoints": [{}]},
        {"breakpoints": [{"tool": 1}]},
        {"breakpoints": ["tool"]},
        {"breakpoints": [{"os.system": "x"}]},
    ],
)
def test_recorded_guards_that_cannot_be_read_are_refused(guards: Any) -> None:
    with pytest.raises(UsageError):
        Guards.from_json(guards)


def test_guards_are_the_same_after_a_round_trip() -> None:
    guards = Guards.of({"approve": ["b", "a"], "budget": Budget(max_cost=1.5, ask=False), "repeat": {"a": "allow"}})
    assert Guards.from_json(guards.to_json()).to_json() == guards.to_json()
    assert Guards().to_json() == {}


def test_an_extension_of_a_budget_counts_neither_for_a_stricter_one_nor_from_a_file(folder: Path) -> None:
    run = agent(folder, *paying(1, 2, 3), budget={"max_model_calls": 2, "ask": True}).start("q", paused=True)
    run.drive()
    run.approve()
    next(run)
    assert len(run.entries) == 6 and PAID == [1, 2]
    copy = load(run.to_json(), agent(folder / "elsewhere", *paying(3, 4), budget={"max_model_calls": 2, "ask": True}))
    copy.drive()
    assert copy.status == "waiting" and PAID == [1, 2, 3], "the call that was asked for is made, and no model is called"
    run.close()
    stricter = agent(folder, *paying(3, 4), budget={"max_model_calls": 1, "ask": True}).resume(run.id)
    stricter.drive()
    assert stricter.status == "waiting" and PAID == [1, 2, 3, 3]


def test_guards_show_themselves_as_a_table(tmp_path: Path) -> None:
    def is_large(call: Call) -> bool:
        return bool(call.arguments["amount"] > 10)

    guarded = agent(tmp_path, approve=is_large, budget={"max_tool_calls": 5}, repeat={"pay": "allow"})
    run = guarded.start("Pay.", paused=True)
    run.enable(run.break_at(tool="pay"), False)
    assert repr(run.guards).splitlines() == [
        "Guards",
        "  approve      calls for which test_guards_show_themselves_as_a_table.<locals>.is_large is true",
        "  budget       max_tool_calls=5",
        "  repeat       pay: allow, all other tools: ask",
        "  remembered   none",
        "  breakpoints  tool pay (disabled)",
        "  permissions  none",
        "  hooks        none",
        "  guardrails   none",
    ]
    assert "<td" in (run.guards._repr_html_() or "") and "| budget |" in (run.guards._repr_markdown_() or "")
    assert "is true, which is not available" in repr(Guards.from_json(run.guards.to_json()))
