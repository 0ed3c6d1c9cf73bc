"""Driving a fork of a run to its end: what calls it may make, and what became of it.

The world does not go back, and a fork walks a way a second time. So it uses the results of the calls that the run and
its other forks have made, and makes no call that acts on the world unless a person has allowed that before it began.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from agentkit.agent import approver
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text, counted, error_line
from agentkit.errors import Control, UsageError
from agentkit.experiments.outcome import ELSEWHERE, FAILED, STOPPED, WAITING, Outcome, outcome_of
from agentkit.gates.approval import approval
from agentkit.gates.base import ask_gates
from agentkit.gates.budget import BudgetGate
from agentkit.gates.state import State, gate
from agentkit.gates.verdict import Verdict
from agentkit.run.run import Result, Run
from agentkit.stepper.stepper import Pending
from agentkit.tools.tool import UNDECLARED
from agentkit.trace.ledger import LostCall

ACTING = ("irreversible", UNDECLARED)
"""The effects of tools whose calls are not made for a second time without asking."""


def acting_tools(run: Run) -> dict[str, str]:
    """Return the effects of the tools of a run that may act on the world, by their names."""
    return {tool.name: tool.effect for tool in run.performer.tools.tools if tool.effect in ACTING}


def question_about(tools: dict[str, str], runs: int, limit: float | None) -> str:
    """Return the question that is asked once before forks begin that may call such tools; "" if there are none.

    `limit` is how many calls each of the runs may make, if that is known.
    """
    if not tools:
        return ""
    named = ", ".join(f"{name} ({effect})" for name, effect in tools.items())
    often = "each as often as its model asks" if limit is None else f"at most {runs * limit:,.0f} times in all"
    what = f"{counted(runs, 'run')} may call {named}, {often}, beyond the calls whose results are on record"
    return (
        f"{what}. approved=True allows that; approved=False makes no such call: a run that asks for one waits there. "
        'Tools that only read need no question if they are declared: @tool(effect="pure")'
    )


@gate(Act)
def held_back(pending: Pending, state: State) -> Verdict | None:
    """Ask a person before each call that acts on the world, however often the tool was allowed in the run before."""
    assert type(pending.step) is Act
    effect = state.effect(pending)
    if effect not in ACTING:
        return None
    return Verdict("ask", f"{pending.step.call.name} ({effect}) would be called, and these trials may not do that")


def hold_back(run: Run, *, approved: bool) -> None:
    """Make a fork use the results of calls that were made before; unless it is `approved`, it makes no other calls that
    act on the world, and waits there instead. It stops at no breakpoint, and nobody is asked for more budget.
    """
    state, again = run.state, dict.fromkeys(acting_tools(run), "reuse")
    guards = replace(state.guards, repeat={**state.guards.repeat, **again}, breakpoints=[])

    def change() -> None:
        others = tuple(each for each in state.all_gates if each is not held_back)
        state.all_gates = others if approved else (*others, held_back)
        state.arm()
        if names := guards.differences(state.guards):
            state.guard(guards, names, reason="a trial uses the results of earlier calls, and stops at no breakpoint")
        state.ask_again()

    run.control.do(change)
    for each in state.all_gates:
        if isinstance(each, BudgetGate):
            each.ask = False


def drive_to_end(
    run: Run, *, approved: bool, timeout: float | None = None, is_stopped: Callable[[], bool] = bool
) -> Result:
    """Drive a fork that was held back until it is over, waits for a person, or was stopped, and return the result.

    An approver decides about the calls that are not held back, if the agent has one.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        if run.status in ("done", "readonly"):
            return run.result
        run.play()
        if is_stopped():  # in the meantime; whoever stops sets this first, and stops the runs that play then
            run.stop()
        result = run.wait(None if end is None else max(0.0, end - time.monotonic()))
        if not run.waiting or run.state.interrupted:
            return result
        try:
            if not _decide(run, approved, end):
                return result
        except approver.OutOfTime:
            return run.stop("timeout").result


def _decide(run: Run, approved: bool, end: float | None) -> bool:
    """Decide about the step that a fork waits for, and return whether it can go on.

    What was allowed before it began is each call once: a call that this fork has begun, and that may have run when its
    process ended, waits for a person. So does a call that may be in rows that the journal has lost.
    """
    pending, verdict = run.waiting[0]
    if type(pending.step) is Act and run.state.effect(pending) in ACTING:
        past = verdict.past
        if not approved or isinstance(past, LostCall) or (past is not None and past.run == run.id):
            return False
        if past is not None and ask_gates([approval], pending, run.state) is None:
            run.approve(author="the person who allowed the trials")
            return True
    decide = run.agent.options.get("approver")
    if decide is None:
        return False
    approver.decide(run, decide, end)
    return True


def ending_of(
    run: Run,
    score: Any,
    case: dict[str, Any],
    score_id: str,
    *,
    approved: bool = False,
    timeout: float | None = None,
    is_stopped: Callable[[], bool] = bool,
) -> Outcome:
    """Drive a fork to its end, score it, and return its outcome, which is recorded with it; then close it, unless no
    journal keeps it, so that it could not be opened again.

    It never raises an `Exception`: what fails is an outcome, too.
    """
    try:
        run.control.keeps_lease = True  # until its outcome is recorded
        hold_back(run, approved=approved)
        result = drive_to_end(run, approved=approved, timeout=timeout, is_stopped=is_stopped)
        outcome = outcome_of(result, score, case, score_id)
        if outcome.state == WAITING and run.waiting:
            outcome.reason = "; ".join(mask(step_text(pending)) for pending, _ in run.waiting)
        own = [entry for entry in run.entries if entry.run == run.id]
        outcome.seconds = float(sum(max(0.0, entry.ended - entry.started) for entry in own))
        if outcome.state != STOPPED and not run.read_only:
            run.record_outcome(outcome.to_json())
        return outcome
    except Control as error:  # another process has taken the run over
        return Outcome(run.id, ELSEWHERE, mask(error_line(error)))
    except Exception as error:
        return Outcome(run.id, FAILED, mask(error_line(error)), score_id=score_id)
    finally:
        if run.trace.journal is not None:
            _close(run)


def step_text(pending: Pending) -> str:
    """Return what a step that waits would do: its call, or its question."""
    step = pending.step
    return call_text(step.call) if type(step) is Act else str(getattr(step, "question", "") or step.kind)


def _close(run: Run) -> None:
    try:
        run.close()
    except Exception:  # its rows are refused; the outcome says so
        run.control.lease.drop()


def check_score(score: Any) -> None:
    """Check that a score can be called with a result and a case. Raises `UsageError`; nothing is called."""
    from inspect import signature

    if score is None:
        return
    what = "score must be a function of the result and the case, as in experiment(…): def right(result, case): …"
    if not callable(score):
        raise UsageError(f"{what}; not {score!r:.100}")
    try:
        signature(score).bind(None, None)
    except TypeError as error:
        raise UsageError(f"{what}; this one cannot be called so: {error_line(error)}") from None
    except ValueError:  # it has no signature, as some functions in C
        return


def case_of(run: Run, case: Any) -> dict[str, Any]:
    """Return the case that a score of a run is given: its task, and what was passed. Raises `UsageError`."""
    text: Iterable[str] = (m["text"] for m in reversed(run.task["task"]) if m["role"] == "user")
    if case is not None and not isinstance(case, dict):
        raise UsageError(f"case must be a dict, such as {{'expected': '51'}}, not {case!r:.100}")
    return {"task": next(iter(text), ""), **(case or {})}
