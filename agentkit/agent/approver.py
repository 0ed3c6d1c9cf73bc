"""Decide about the steps that wait for a person while nobody is there: ask the `approver`, or say that there is none.

The decision has an author in the rows: "approver", or "nobody" if there is no approver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit.core import background
from agentkit.core.log import logger
from agentkit.core.messages import Call
from agentkit.core.secrets import mask
from agentkit.core.steps import Act
from agentkit.core.text import call_text, error_line, one_line
from agentkit.errors import UsageError
from agentkit.run.run import Run
from agentkit.stepper.stepper import Pending
from agentkit.tools import observations

Approver = Callable[[Call], Any]
"""Decides about a call, as described in `Options`; it may be asynchronous."""


class OutOfTime(Exception):
    """The approver did not decide in time; the step still waits."""


def decide(run: Run, approver: Approver | None, end: float | None) -> None:
    """Decide about the first step of a run that waits, until `end` by the monotonic clock. Raises `OutOfTime`."""
    pending, verdict = run.waiting[0]
    if type(pending.step) is not Act:
        text = "nobody was there to answer"
        _answer(run, pending, "There is nobody here to answer.", "nobody", text)
        _warn(run, f"{text} the question {one_line(verdict.why)!r}")
        return
    if approver is None:
        why = "it needs approval, and nobody was there to approve it"
        if verdict.past is not None:
            why = f"nobody was there to decide whether to repeat it: {verdict.past.text(run.id)}"
        elif asked := run.state.why_asked(pending):
            why = f"{why} ({asked})"
        _skip(run, pending, "nobody", why)
        return
    try:
        decision = _ask(approver, pending.step.call, end)
        if isinstance(decision, dict):
            run.approve(arguments=decision, author="approver")
            return
        if decision == "reuse":
            run.reuse(author="approver")
            return
    except (OutOfTime, KeyboardInterrupt):
        raise
    except UsageError as error:
        _skip(run, pending, "approver", f"the decision of the approver cannot be used: {error_line(error)}")
        return
    except BaseException as error:
        _skip(run, pending, "approver", f"the approver raised {error_line(error)}")
        return
    if decision is True or decision in ("allow", "remember"):
        run.approve(remember=decision == "remember", author="approver")
    else:
        run.reject("denied", author="approver")


def _skip(run: Run, pending: Pending, author: str, why: str) -> None:
    """Answer a call that may not run because nobody has decided about it; model and developer are told why."""
    call, why = pending.step.call, mask(why)  # type: ignore[union-attr]
    _answer(run, pending, observations.skipped(call, f"{why}."), author, why)
    hint = "; pass approver=... to the agent, or use agent.start(...) and decide there" if author == "nobody" else ""
    _warn(run, f"{call_text(call)} was not run: {why}{hint}")


def _answer(run: Run, pending: Pending, result: Any, author: str, why: str) -> None:
    run.control.do(lambda: run.control.scheduler.answer(pending, result, author=author, reason=why))


def _warn(run: Run, text: str) -> None:
    """Tell the developer: in an event, and in the log."""
    text = mask(text)
    run.control.do(lambda: run.control.scheduler.warn(text))
    logger.warning("run %s: %s", run.id, text, extra={"run": run.id})


def _ask(approver: Approver, call: Call, end: float | None) -> Any:
    """Return what an approver decides; with a time limit, it is called in a thread of its own."""
    decision = approver(call) if end is None else _in_time(background.in_thread(lambda: approver(call)), end)
    if hasattr(decision, "__await__"):
        decision = _in_time(background.submit(_awaited(decision)), end)
    return decision


async def _awaited(decision: Any) -> Any:
    """Await a decision; nothing that it raises ends the event loop."""
    try:
        return await decision
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(error_line(error)) from error


def _in_time(future: Future[Any], end: float | None) -> Any:
    """Return the result of a future. Raises `OutOfTime` if there is none at `end`."""
    try:
        background.wait(future, None if end is None else max(0.0, end - time.monotonic()))
    except BaseException:
        if future.done():
            return future.result()  # it raises what the approver raised
        future.cancel()
        if end is not None and time.monotonic() >= end:
            raise OutOfTime from None
        raise
    return future.result()
