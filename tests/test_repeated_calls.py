"""The world does not go back: what happens when a run would call a tool again that was called before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, compare, load, tool
from agentkit.errors import Undecided, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

DONE: list[str] = []


@tool(effect="irreversible")
def pay(amount: int) -> str:
    """Pay an amount."""
    DONE.append(f"pay {amount}")
    return f"paid {amount}"


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    DONE.append(f"look {city}")
    return "rain"


@tool(effect="idempotent")
def put(value: int) -> str:
    """Put a value."""
    DONE.append(f"put {value}")
    return "ok"


@tool
def write(text: str) -> str:
    """Write a text."""
    DONE.append(f"write {text}")
    return f"wrote {text}"


TOOLS = [pay, look, put, write]


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


def call(name: str, **arguments: Any) -> Reply:
    return Reply(f"I {name}.", (Call(name, arguments, f"{name}-{len(arguments)}"),))


def start(*replies: Any, tools: Any = TOOLS, journal: Any = "memory", **options: Any) -> Run:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, tools, journal=journal, **options).start("q", paused=True)


def done(*replies: Any, **options: Any) -> Run:
    run = start(*replies, **options)
    run.drive()
    return run


def why(run: Run) -> str:
    return run.waiting[0][1].why


# -- each way to leave a line and come back ----------------------------------------------------------------------------

BACK: dict[str, Callable[[Run], Any]] = {
    "undo": lambda run: [run.undo() for _ in range(3)],
    "rewind": lambda run: run.rewind(1),
    "edit the text of the thought": lambda run: run.edit(1, text="I will pay."),
    "fork": lambda run: run.fork(1),
    "fork of a fork": lambda run: run.fork(1).fork(1),
}


@pytest.mark.parametrize("again", [lambda run: run, lambda run: run.agent.resume(run.id)], ids=["same", "resumed"])
@pytest.mark.parametrize("back", BACK.values(), ids=list(BACK))
def test_a_call_that_was_performed_on_a_line_that_was_left_is_asked_about(
    back: Callable[[Run], Any], again: Callable[[Run], Run]
) -> None:
    run = done(call("pay", amount=50), "paid", "again")
    moved = back(run)
    run = again(moved if isinstance(moved, Run) else run)
    run.drive()
    assert (run.status, DONE) == ("waiting", ["pay 50"])
    assert "pay(amount=50) was performed at" in why(run) and "(result: paid 50); it would be called again" in why(run)
    entry = run.reuse()
    assert (entry.result.text, entry.author, DONE) == ("paid 50", "human", ["pay 50"])
    assert "not performed again" in entry.reason
    assert run.drive().answer == "again" and DONE == ["pay 50"]


def test_other_arguments_of_an_irreversible_tool_are_asked_about_with_what_stands() -> None:
    run = done(call("pay", amount=50), "paid", "again")
    run.rewind(1)
    run.edit(run.pending[0], arguments={"amount": 5})
    run.drive()
    assert "pay(amount=50) was performed at" in why(run) and why(run).endswith("now it would be pay(amount=5)")
    with pytest.raises(UsageError, match="no result for this call"):
        run.reuse()
    run.approve()
    assert run.drive().answer == "again" and DONE == ["pay 50", "pay 5"]


def test_calls_of_the_present_line_are_not_repeated_calls() -> None:
    run = done(call("pay", amount=1), call("pay", amount=1), call("pay", amount=2), "done")
    assert run.answer == "done" and DONE == ["pay 1", "pay 1", "pay 2"]


def test_a_call_whose_result_was_used_again_belongs_to_the_present_line() -> None:
    run = done(call("pay", amount=1), call("pay", amount=2), "done", call("pay", amount=3), "all")
    run.rewind(1)
    run.drive()
    run.reuse()
    run.edit(run.pending[0], calls=[Call("pay", {"amount": 2}, "x")])
    run.drive()
    run.reuse()
    assert run.drive().answer == "all"
    assert DONE == ["pay 1", "pay 2", "pay 3"], (
        "everything that was paid before is on the line, so 3 was not asked about"
    )


def test_a_redo_brings_a_call_back_to_the_line() -> None:
    run = done(call("pay", amount=1), "done", call("pay", amount=2), "end")
    run.undo()
    run.undo()
    run.redo()
    run.inject("Go on.")
    assert run.drive().answer == "end" and DONE == ["pay 1", "pay 2"]


@pytest.mark.parametrize("name, arguments", [("look", {"city": "Oslo"}), ("put", {"value": 1})])
def test_pure_and_idempotent_tools_are_never_asked_about(name: str, arguments: dict[str, Any]) -> None:
    run = done(call(name, **arguments), "first", *["again"] * 10)
    for _ in range(10):
        run.rewind(1)
        assert run.drive().answer == "again"
    assert len(DONE) == 11


@pytest.mark.parametrize("decide", ["approve", "reuse", "reject", "respond"])
def test_a_tool_without_a_declared_effect_is_asked_about_once(decide: str) -> None:
    run = done(call("write", text="a"), "first", *["again"] * 10)
    asked = 0
    for _ in range(10):
        run.rewind(1)
        run.drive()
        while run.waiting:
            assert "write does not declare its effect" in why(run)
            asked += 1
            run.respond("ok") if decide == "respond" else getattr(run, decide)()
            run.drive()
        assert run.answer == "again"
    assert asked == 1 and len(DONE) == (11 if decide == "approve" else 1)


def test_a_fork_is_not_asked_again_about_what_its_run_was_asked() -> None:
    run = done(call("write", text="a"), "first", "second", "third")
    run.rewind(1)
    run.drive()
    run.reuse()
    assert run.drive().answer == "second"
    fork = run.fork(1)
    assert fork.drive().answer == "third" and DONE == ["write a"]
    assert fork.agent.resume(fork.id).guards.repeat == {"write": "reuse"}


def test_a_failed_call_is_asked_about_too() -> None:
    @tool(effect="irreversible")
    def fail(amount: int) -> str:
        """Fail."""
        DONE.append("fail")
        raise OSError("no connection")

    run = done(call("fail", amount=1), "first", "again", tools=[fail])
    run.rewind(1)
    run.drive()
    assert "fail(amount=1) was called at" in why(run) and "no connection" in why(run)
    run.reuse()
    assert run.drive().answer == "again" and DONE == ["fail"] and not run[2].result.ok


def test_a_call_with_wrong_arguments_never_ran() -> None:
    run = done(call("pay", sum=1), call("pay", amount=1), "done", call("pay", amount=1), "again")
    assert DONE == ["pay 1"]
    run = done(call("pay", sum=1), "first", call("pay", amount=2), "again")
    run.rewind(0)
    assert run.drive().answer == "again" and DONE == ["pay 1", "pay 2"]


def test_an_engine_that_ends_is_not_disturbed_by_what_stands_elsewhere() -> None:
    run = done(call("pay", amount=1), "first", "no more")
    run.rewind(0)
    assert run.drive().answer == "no more" and DONE == ["pay 1"]


# -- policies ----------------------------------------------------------------------------------------------------------


def test_with_repeat_reuse_the_recorded_result_is_used_without_asking() -> None:
    run = done(call("pay", amount=50), "paid", "again", repeat="reuse")
    run.rewind(1)
    assert run.drive().answer == "again" and DONE == ["pay 50"]
    assert (run[2].result.text, run[2].author, run[2].repeats) == ("paid 50", "gate", 3)


def test_with_repeat_reuse_other_arguments_are_still_asked_about() -> None:
    run = done(call("pay", amount=50), "paid", call("pay", amount=6), repeat="reuse")
    run.rewind(0)
    run.drive()
    assert run.status == "waiting" and DONE == ["pay 50"]


@pytest.mark.parametrize("policy", ["allow", {"pay": "allow"}, {"": "ask", "pay": "allow"}])
def test_with_repeat_allow_calls_are_made_again(policy: Any) -> None:
    run = done(call("pay", amount=50), "paid", "again", repeat=policy)
    run.rewind(1)
    assert run.drive().answer == "again" and DONE == ["pay 50", "pay 50"]


def test_a_tool_declares_its_own_policy() -> None:
    @tool(effect="irreversible", repeat="reuse")
    def order(item: str) -> str:
        """Order an item."""
        DONE.append(item)
        return f"ordered {item}"

    @tool(effect="idempotent", repeat="ask")
    def publish(item: str) -> str:
        """Publish an item."""
        return "published"

    run = done(call("order", item="tea"), call("publish", item="tea"), "first", "again", tools=[order, publish])
    run.edit(1, text="I order.")
    run.drive()
    assert DONE == ["tea"] and run.answer == "again"
    run.rewind(0)
    run.edit(run.pending[0], calls=[Call("publish", {"item": "tea"}, "p")])
    run.drive()
    assert "publish(item='tea') was performed" in why(run)


@pytest.mark.parametrize("policy", ["sometimes", {"pay": "never"}, {"pya": "allow"}, 3])
def test_an_unknown_policy_or_tool_is_refused(policy: Any) -> None:
    with pytest.raises((UsageError, ValueError), match=r"ask|pya"):
        Agent("offline", TOOLS, repeat=policy)
    with pytest.raises(UsageError, match="repeat of tool 'f' must be one of ask, reuse, allow"):
        tool(name="f", repeat="no")(lambda: 1)  # type: ignore[call-overload]


def test_approving_with_remember_lets_a_tool_repeat_its_calls_in_this_run() -> None:
    run = done(call("pay", amount=50), "paid", "second", "third")
    run.rewind(1)
    run.drive()
    run.approve(remember=True)
    assert run.drive().answer == "second"
    run.rewind(1)
    assert run.drive().answer == "third" and DONE == ["pay 50"] * 3
    rows = [row for row in run.rows() if getattr(row, "kind", "") == "guards"]
    assert rows[-1].data == {"repeat": {"pay": "allow"}, "author": "human", "reason": "repeated calls of pay: allow"}


def test_a_remembered_approval_does_not_cover_a_repeated_call() -> None:
    run = done(call("pay", amount=50), "paid", "again", approve=["pay"])
    run.approve(remember=True)
    assert run.drive().answer == "paid"
    run.rewind(1)
    run.drive()
    assert run.status == "waiting" and DONE == ["pay 50"]


def test_a_person_is_asked_once_about_a_call_that_needs_approval_and_would_be_repeated() -> None:
    run = done(call("pay", amount=50), "paid", "again", approve=["pay"])
    run.approve()
    run.drive()
    run.rewind(1)
    run.drive()
    assert "was performed" in why(run)
    run.approve()
    assert run.drive().answer == "again" and DONE == ["pay 50"] * 2


def test_a_tool_that_is_always_rejected_is_not_asked_about_again() -> None:
    run = done(call("pay", amount=50), "paid", *["again"] * 2)
    run.rewind(1)
    run.drive()
    run.reject("Never.", remember=True)
    assert run.drive().answer == "again"
    run.rewind(1)
    assert run.forecast == "Not undone: pay(amount=50); pay is always rejected in this run."
    assert run.drive().answer == "again" and DONE == ["pay 50"]
    assert not run[2].result.ok and run[2].author == "gate"


def test_a_tool_without_a_declared_effect_that_is_always_rejected_does_not_return_its_earlier_result() -> None:
    run = done(call("write", text="a"), "first", *["again"] * 2)
    run.rewind(1)
    run.drive()
    run.reject("Never.", remember=True)
    run.drive()
    run.rewind(1)
    assert run.drive().answer == "again" and not run[2].result.ok and DONE == ["write a"]


def test_a_call_that_was_rejected_is_asked_about_when_the_model_makes_it_again() -> None:
    run = done(call("write", text="a"), "first", call("write", text="b"), call("write", text="b"), "end")
    run.rewind(0)
    run.drive()
    run.reject("Not this.")
    run.drive()
    assert (run.status, DONE) == ("waiting", ["write a"])


def test_approving_a_repeated_call_with_remember_covers_its_approval_too() -> None:
    run = done(call("pay", amount=50), "paid", *["again"] * 2, approve=["pay"])
    run.approve()
    run.drive()
    run.rewind(1)
    run.drive()
    run.approve(remember=True)
    assert run.drive().answer == "again"
    run.rewind(1)
    assert run.drive().answer == "again" and DONE == ["pay 50"] * 3
    assert (run.guards.repeat, run.guards.remembered) == ({"pay": "allow"}, {"pay": True})


@pytest.mark.parametrize(
    "leave",
    [lambda run: run.undo().redo(), lambda run: run.rewind(0).rewind(run.branches()[1][1])],
    ids=["undo and redo", "rewind"],
)
def test_an_approval_is_withdrawn_when_the_run_leaves_the_call(leave: Callable[[Run], Any]) -> None:
    run = done(call("pay", amount=50), "paid", "again")
    run.rewind(1)
    run.drive()
    run.approve()
    leave(run)
    assert run.pending[0].step.kind == "act"
    run.drive()
    assert (run.status, DONE) == ("waiting", ["pay 50"])


def test_each_of_two_equal_calls_of_a_batch_is_answered_with_its_own_result() -> None:
    both = Reply("I pay twice.", tuple(Call("pay", {"amount": 1}, f"c{n}") for n in range(2)))
    run = done(both, "paid", "again")
    made = [past.begun.id for past in run.trace.tree.ledger.calls]
    run.rewind(1)
    run.drive()
    run.reuse(1)
    run.reuse(0)
    assert [entry.repeats for entry in run.entries[2:]] == made and run.forecast == ""
    assert run.drive().answer == "again" and DONE == ["pay 1", "pay 1"]


def test_a_result_that_was_used_again_says_so_in_every_export() -> None:
    run = done(call("pay", amount=50), "paid", "again")
    run.rewind(1)
    assert (
        "Not undone: pay(amount=50)" in run.to_html() and "the run asks before it calls pay again" in run.to_markdown()
    )
    run.drive()
    assert "it would be called again" in run.to_html() and "it would be called again" in run.to_markdown()
    run.reuse()
    run.drive()
    texts = run.to_html(), run.to_markdown(), str(run.to_notebook()), str(run.to_json())
    assert all("not performed again: pay(amount" in text for text in texts)
    assert not any("entered by" in text for text in texts)


def test_a_breakpoint_that_was_passed_does_not_pass_a_repeated_call() -> None:
    run = start(call("pay", amount=50), "first", "in the fork", "end")
    run.break_at(tool="pay")
    run.drive()
    fork = run.fork()
    fork.unbreak()
    assert fork.drive().answer == "first" and DONE == ["pay 50"]
    run.drive()
    assert run.status == "waiting" and DONE == ["pay 50"] and f"in run {fork.id}" in why(run)


# -- calls that may have run -------------------------------------------------------------------------------------------


def test_an_edit_while_a_call_is_out_asks_before_the_call_is_made_again() -> None:
    out, back = threading.Event(), threading.Event()

    @tool(effect="irreversible", timeout=None)
    def wire(amount: int) -> str:
        """Wire an amount."""
        DONE.append("wire")
        out.set()
        assert back.wait(30)
        return "wired"

    replies = [call("look", city="Oslo"), call("wire", amount=5), call("wire", amount=5), "done"]
    run = start(*replies, tools=[look, wire]).play()
    assert out.wait(30)
    run.edit(2, text="sun")
    result = run.wait()
    back.set()
    assert (run.status, DONE) == ("waiting", ["look Oslo", "wire"]) and result.answer == ""
    assert "wire(amount=5) began at" in why(run) and "may have run: its result is not known" in why(run)
    with pytest.raises(UsageError, match="no result"):
        run.reuse()
    run.reject("I check the account first.")
    assert run.drive().answer == "done" and DONE == ["look Oslo", "wire"]


def test_an_equal_call_after_one_that_may_have_run_is_asked_about_on_the_same_line() -> None:
    release = threading.Event()

    @tool(effect="irreversible", timeout=0.05)
    def wire(amount: int) -> str:
        """Wire an amount."""
        DONE.append(f"wire {amount}")
        release.wait(30)
        return "wired"

    run = start(call("wire", amount=5), call("wire", amount=6), call("wire", amount=5), "done", tools=[wire])
    run.drive()
    assert DONE == ["wire 5", "wire 6"] and run.status == "waiting"
    assert "wire(amount=5) began at" in why(run)
    run.respond("it arrived")
    release.set()
    assert run.drive().answer == "done" and DONE == ["wire 5", "wire 6"]


def test_a_call_that_runs_in_a_fork_is_asked_about() -> None:
    out, back = threading.Event(), threading.Event()

    @tool(effect="irreversible", timeout=None)
    def wire(amount: int) -> str:
        """Wire an amount."""
        out.set()
        assert back.wait(30)
        return "wired"

    run = start(call("wire", amount=5), "one", "two", tools=[wire])
    next(run)
    fork = run.fork().play()
    assert out.wait(30)
    run.drive()
    assert run.status == "waiting"
    back.set()
    fork.wait()
    assert run.reuse().result.text == "wired"


# -- in files ----------------------------------------------------------------------------------------------------------


def test_the_ledger_is_the_same_in_a_copy_that_is_loaded(tmp_path: Path) -> None:
    run = done(call("pay", amount=50), "paid", "again", journal=tmp_path / "runs.db")
    run.rewind(1)
    copy = load(run.to_json(), Agent(Scripted(["again"], abilities=Abilities(tools=True)), TOOLS, journal="memory"))
    copy.drive()
    assert copy.status == "waiting" and DONE == ["pay 50"]
    assert copy.reuse().result.text == "paid 50"


def test_a_file_cannot_allow_anything() -> None:
    run = done(call("pay", amount=50), "paid", approve=["pay"], repeat="allow")
    run.approve(remember=True)
    run.drive()
    run.rewind(1)
    agent = Agent(Scripted(["again"], abilities=Abilities(tools=True)), TOOLS, journal="memory")
    copy = load(run.to_json(), agent)
    copy.drive()
    assert copy.status == "waiting" and DONE == ["pay 50"]
    copy.reuse()
    assert copy.drive().answer == "again"


def test_a_secret_argument_is_recognised_after_a_resume(tmp_path: Path) -> None:
    @tool(effect="irreversible")
    def login(key: str) -> str:
        """Log in."""
        DONE.append("login")
        return "in"

    key = "sk-" + "a1" * 20
    run = done(call("login", key=key), "first", "again", tools=[login], journal=tmp_path / "runs.db")
    run.rewind(1)
    run = run.agent.resume(run.id)
    with pytest.raises(Undecided, match="would be called again"):
        next(run)
    assert DONE == ["login"] and key not in why(run)


# -- where nobody is there ---------------------------------------------------------------------------------------------


def paying() -> Scripted:
    return Scripted([call("pay", amount=5), "done"] * 3, abilities=Abilities(tools=True))


def test_a_comparison_pays_once_and_tells_the_other_runs_the_truth() -> None:
    compared = compare("q", ["react", "react", "chain_of_thought"], model=paying(), tools=TOOLS, journal="memory")
    assert DONE == ["pay 5"]
    second = compared.results[1]
    told = second.run[2].result.text
    assert "was not run: nobody was there to decide whether to repeat it: pay(amount=5) was performed at" in told
    assert "(result: paid 5)" in told and second.denied[0].startswith("pay(amount=5): nobody was there")


@pytest.mark.parametrize("decision, times", [("reuse", 1), (True, 2), (False, 1)])
def test_the_approver_decides_in_a_comparison(decision: Any, times: int) -> None:
    compared = compare(
        "q", ["react", "react"], model=paying(), tools=TOOLS, journal="memory", approver=lambda call: decision
    )
    assert len(DONE) == times
    assert (compared.results[1].run[2].result.text == "paid 5") == (decision is not False)


def test_a_comparison_calls_tools_without_a_declared_effect_once_for_each_run() -> None:
    model = Scripted([call("write", text="a"), "done"] * 2, abilities=Abilities(tools=True))
    compare("q", ["react", "react"], model=model, tools=TOOLS, journal="memory")
    assert DONE == ["write a"] * 2


def test_a_run_where_nobody_is_there_tells_the_model_that_a_call_may_have_run() -> None:
    release = threading.Event()

    @tool(effect="irreversible", timeout=0.05)
    def wire(amount: int) -> str:
        """Wire an amount."""
        DONE.append("wire")
        release.wait(30)
        return "wired"

    model = Scripted([call("wire", amount=5), call("wire", amount=5), "done"], abilities=Abilities(tools=True))
    result = Agent(model, [wire], journal="memory").run("q")
    release.set()
    assert result.answer == "done" and DONE == ["wire"]
    assert "may have run: its result is not known" in result.run[4].result.text


# -- several objects and processes -------------------------------------------------------------------------------------


def test_a_fork_that_was_opened_again_knows_what_the_run_has_done_since(tmp_path: Path) -> None:
    run = start(call("pay", amount=5), "done", journal=tmp_path / "runs.db")
    next(run)
    fork = run.fork()
    again = Agent(Scripted(["again"], abilities=Abilities(tools=True)), TOOLS, journal=tmp_path / "runs.db")
    fork = again.resume(fork.id)
    assert run.drive().answer == "done"
    fork.drive()
    assert fork.status == "waiting" and DONE == ["pay 5"]
    assert fork.reuse().result.text == "paid 5"


def test_forks_that_reach_a_call_at_the_same_moment_make_it_once() -> None:
    for _ in range(20):
        DONE.clear()
        together = threading.Barrier(2)

        def model(request: Any, together: threading.Barrier = together) -> Reply:
            if any(message.role == "tool" for message in request.chat):
                return Reply("done")
            together.wait(10)
            return call("pay", amount=5)

        run = Agent(model, [pay], journal="memory", dialect="native").start("q", paused=True)
        fork = run.fork()
        run.play()
        fork.play()
        run.wait()
        fork.wait()
        assert DONE == ["pay 5"] and sorted([run.status, fork.status]) == ["done", "waiting"]


def test_a_call_that_is_being_made_again_does_not_hide_the_earlier_one_at_its_place() -> None:
    out, back = threading.Event(), threading.Event()

    @tool(effect="irreversible", timeout=None)
    def wire(amount: int) -> str:
        """Wire an amount."""
        DONE.append("wire")
        if len(DONE) == 3:
            out.set()
            assert back.wait(30)
        return "wired"

    def model(request: Any) -> Reply:
        if request.role == "plan":
            return Reply('[{"id": 1, "task": "wire once"}, {"id": 2, "task": "wire twice"}]')
        wired = sum(message.role == "tool" for message in request.chat)
        task = next(message.text for message in reversed(request.chat) if message.role == "user")
        is_twice = task.rfind("twice") > task.rfind("once")
        return call("wire", amount=5) if wired < 1 + is_twice else Reply("done")

    run = Agent(model, [wire], journal="memory", engine="dag", dialect="native").start("q", paused=True)
    for _ in range(6):  # the plan, the first step of it to its end, and a thought and a call of the second
        next(run)
    assert DONE == ["wire"] * 2
    once = next(entry for entry in run.entries if entry.kind == "think" and "[1.0]" in entry.path)
    run.edit(once, text="I wire.")
    run.approve([pending.step.kind for pending in run.pending].index("act"))
    run.play()
    assert out.wait(30)
    while not run.waiting:
        assert len(DONE) == 3
    assert "was performed at" in why(run)
    back.set()
    run.wait()
    assert DONE == ["wire"] * 3 and run.status == "waiting"


def test_a_yes_counts_only_for_the_repetition_that_was_asked_about() -> None:
    run = done(call("pay", amount=5), "paid", "once more", "again")
    run.rewind(1)
    run.drive()
    run.approve()
    fork = run.fork()
    fork.drive()
    fork.approve()
    assert fork.drive().answer == "once more" and DONE == ["pay 5"] * 2
    run.drive()
    assert run.status == "waiting" and f"in run {fork.id}" in why(run) and DONE == ["pay 5"] * 2
    run.approve()
    assert run.drive().answer == "again" and DONE == ["pay 5"] * 3
