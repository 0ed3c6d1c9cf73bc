"""Calling hooks: each in a thread or on the event loop, within its time limit; one that fails denies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from agentkit.core import background, interrupts
from agentkit.core.messages import EMPTY, Call, Chat, Message
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Think
from agentkit.core.text import call_text, error_line, one_line
from agentkit.errors import Stopped
from agentkit.hooks.decision import Decision, deny, problem
from agentkit.hooks.hook import Hook
from agentkit.tools import observations

_POLL = 0.1
"""How often a wait looks whether the step was cancelled, in seconds."""
_SHOWN = 300

Cancelled = Callable[[], str]
"""Returns why the step was cancelled in the meantime, or ""."""


@dataclass(slots=True)
class Ruling:
    """What the hooks of a step have decided together.

    `original` is the step that they were asked about, `step` the step as they left it, and `result` its result.
    `reasons` say what they have changed, and `messages` are texts for the model, each with its hook. `refusal` is the
    decision against the step, by the hook `by`; `asks` is why a person has to be asked. `tripped` are the guardrails
    that tripped, each with the reason.
    """

    original: Any
    step: Any
    result: Any = None
    reasons: list[str] = field(default_factory=list)
    messages: list[tuple[Hook, str]] = field(default_factory=list)
    refusal: Decision | None = None
    by: Hook | None = None
    asks: str = ""
    tripped: list[tuple[Hook, str]] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """What the hooks have changed, in one line."""
        return "; ".join(self.reasons)

    @property
    def refused(self) -> str:
        """Which hook decided against the step, and why."""
        assert self.by is not None and self.refusal is not None
        return f"{self.by.label}: {self.refusal.why}"

    @property
    def ended(self) -> str:
        """The reason of the answer of a run that a hook has ended, as in "guardrail:secrets"."""
        assert self.by is not None
        return f"{'guardrail' if self.by.checks else 'hook'}:{self.by.short_name}"

    def take(self, hook: Hook, decision: Decision) -> bool:
        """Take a decision into account; return whether the next hook is to be asked."""
        if decision.message:
            self.messages.append((hook, decision.message))
        if decision.kind == "ask":
            self.asks = self.asks or f"{hook.label}: {decision.why}"
        if decision.kind not in ("deny", "finish"):
            return True
        self.refusal, self.by = decision, hook
        if hook.checks:
            self.tripped.append((hook, decision.why))
        return False


def decide_before(hooks: Sequence[Hook], step: Any, task: Chat, cancelled: Cancelled) -> Ruling:
    """Return what the hooks decide about a step that is about to be performed, or about the answer of a run.

    Hooks before a run are called with its `task`. Raises `Stopped` if the step is cancelled in the meantime.
    """
    ruling = Ruling(step, step)
    for hook in hooks:
        decision = _decide(hook, cancelled, ruling.step, task=task)
        if decision.kind == "change":
            decision = _change_step(ruling, hook, decision)
        if not ruling.take(hook, decision):
            break
    return ruling


def decide_after(hooks: Sequence[Hook], step: Any, result: Any, read: Any, cancelled: Cancelled) -> Ruling:
    """Return what the hooks decide about the result of a step; `read` makes a reply of a text.

    The observation of a call whose result they refuse says that the tool has run. Raises `Stopped`.
    """
    ruling = Ruling(step, step, result)
    for hook in hooks:
        decision = _decide(hook, cancelled, step, ruling.result)
        if decision.kind == "change":
            before, text = ruling.result.text, mask(decision.changed)
            is_call = type(step) is Act
            ruling.result = replace(ruling.result, text=text, value=None) if is_call else read(step, text)
            ruling.reasons.append(
                _because(f"{hook.label} changed the result ({len(before):,} characters before)", decision.why)
            )
        if not ruling.take(hook, decision):
            break
    if type(step) is Act and ruling.refusal is not None:
        ruling.reasons.append(f"{ruling.refused} ({len(result.text):,} characters before)")
        ruling.result = observations.withheld(step.call, ruling.refused)
    return ruling


def _decide(hook: Hook, cancelled: Cancelled, step: Any, result: Any = None, task: Chat = EMPTY) -> Decision:
    """Return the decision of a hook; one that raises, takes too long or returns anything else denies.

    Raises `Stopped` if the step is cancelled in the meantime.
    """
    try:
        decision = _decision(hook, _called(hook, _subjects(hook, step, result, task), cancelled))
    except BaseException as error:
        if isinstance(error, Stopped) or (isinstance(error, KeyboardInterrupt) and interrupts.pressed(error)):
            raise
        decision = deny(str(error) if type(error) is _Failed else f"it failed with a {type(error).__name__}")
    if decision.kind == "deny" and hook.action == "end":
        decision = replace(decision, kind="finish", answer=f"The run was ended by the {hook.label}: {decision.why}")
    return decision


def _decision(hook: Hook, value: Any) -> Decision:
    """Return the decision that a value stands for: None to go on; a text after a run, or of a guardrail."""
    if value is None:
        return Decision("allow")
    if type(value) is str and hook.checks:
        return deny(value) if value.strip() else Decision("allow")
    if type(value) is str and (hook.when, hook.of) == ("after", "run"):
        return Decision("allow", message=mask(value)) if value.strip() else deny("it returned an empty text")
    if type(value) is Decision and not hook.checks:
        wrong = problem(value, hook.when, hook.of)
        return deny(wrong) if wrong else value
    return deny(f"it returned {_described(value)}, which is not a decision")


class _Failed(Exception):
    """A hook has failed; the text says how."""


def _called(hook: Hook, subjects: tuple[Any, ...], cancelled: Cancelled) -> Any:
    """Return what a hook returns. Raises `_Failed`, or `Stopped`."""
    end = time.monotonic() + hook.timeout
    value = _result(background.in_thread(lambda: hook(*subjects)), hook, end, cancelled)
    if hasattr(value, "__await__"):
        value = _result(background.submit(_awaited(value)), hook, end, cancelled)
    return value


def _result(future: Future[Any], hook: Hook, end: float, cancelled: Cancelled) -> Any:
    """Return the result of a future, for which it waits in steps, so that an interrupt or a stop is noticed."""
    while not future.done():
        left, why = end - time.monotonic(), cancelled()
        if left <= 0 or why:
            future.cancel()
            raise Stopped(why) if why else _Failed(f"it did not decide within {hook.timeout:g} s")
        interrupts.foreign(wait, ([future],), {"timeout": min(left, _POLL)})
    if future.cancelled():
        raise _Failed("its task was cancelled")
    if (error := future.exception()) is not None:
        raise _Failed(f"it raised {one_line(error_line(error), _SHOWN, hide=mask)}")
    return future.result()


async def _awaited(value: Any) -> Any:
    """Await a value; nothing that it raises ends the event loop."""
    try:
        return await value
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(error_line(error)) from error


def _subjects(hook: Hook, step: Any, result: Any, task: Chat) -> tuple[Any, ...]:
    """Return what a hook is called with; what it could change in place is its own copy."""
    if hook.of == "run":
        is_before = hook.when == "before"
        return (task if is_before else step.answer if result is None else result.text,)
    seen = replace(step.call, arguments=deepcopy(step.call.arguments)) if type(step) is Act else step
    return (seen,) if result is None else (seen, _copy_of(result))


def _copy_of(result: Any) -> Any:
    """Return a result for a hook to look at, so that it cannot change what is recorded."""
    if isinstance(result, Message):
        return replace(result, value=deepcopy(result.value))
    return replace(result, calls=tuple(replace(call, arguments=deepcopy(call.arguments)) for call in result.calls))


def _change_step(ruling: Ruling, hook: Hook, decision: Decision) -> Decision:
    """Change a step as a hook decided, and return the decision; a change that cannot be made denies."""
    step = ruling.step
    if type(step) is Act:
        try:
            arguments = json.loads(json.dumps(decision.changed, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            return deny(f"it changed the arguments to something that is not JSON data ({error_line(error)})")
        call: Call = replace(step.call, arguments=arguments, raw=None, problem="", coerced=())
        ruling.step = replace(step, call=call)
        what = f"the arguments: {one_line(mask(call_text(call)), _SHOWN)}"
    elif type(step) is Think:
        ruling.step, what = replace(step, chat=decision.changed), "the chat"
    else:
        ruling.step, what = replace(step, answer=mask(decision.changed)), "the answer"
    ruling.reasons.append(_because(f"{hook.label} changed {what}", decision.why))
    return decision


def _because(text: str, why: str) -> str:
    return f"{text} ({why})" if why else text


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"{value!r}" if isinstance(value, bool) else f"a value of type {kind}"
