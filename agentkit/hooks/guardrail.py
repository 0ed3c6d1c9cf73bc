"""A guardrail: a hook that checks a text, and trips if something is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentkit.core.messages import Chat
from agentkit.errors import Unknown, UsageError
from agentkit.hooks.hook import TIMEOUT, Data, Hook, hook, name_of

Checks = Literal["input", "reply", "tool_result", "output"]
Action = Literal["end", "hold", "withhold"]

_POINTS: dict[str, tuple[Any, Any]] = {
    "input": ("before", "run"),
    "reply": ("after", "model"),
    "tool_result": ("after", "tool"),
    "output": ("after", "run"),
}
"""What a guardrail can check, and the point at which it does."""


def guardrail(
    checks: Checks = "output",
    *,
    tool: str = "*",
    action: Action | None = None,
    priority: int = 0,
    timeout: float = TIMEOUT,
    name: str = "",
) -> Callable[[Callable[[str], str | None]], Hook]:
    """Return a decorator that makes a guardrail of a function, which returns what is wrong with a text, or None.

    The text is that of the user's messages ("input"), a reply of the model ("reply"), a result of the tools that match
    `tool` ("tool_result"), or the answer ("output"). A guardrail that trips ends the run ("end", the default) or holds
    it ("hold"); one for tool results withholds the result from the model ("withhold", the default), and may also hold
    the run. A function that raises or takes too long trips. Raises `UsageError`.
    """

    point = {"tool": tool, "priority": priority, "timeout": timeout}
    guarding(text_of, checks, action, name=name, point=point)  # so that a mistake is reported in the line that makes it

    def make(function: Callable[[str], str | None]) -> Hook:
        own_name = name or name_of(function)
        return guarding(lambda subject: function(text_of(subject)), checks, action, name=own_name, point=point)

    return make


def guarding(
    function: Callable[[Any], Any], checks: str, action: str | None, *, name: str, point: Data, **options: Any
) -> Hook:
    """Return the guardrail whose function is called with the chat of the task, the reply, the result or the answer.

    `point` are options of `hook`, and `options` those that a built-in guardrail was made with. Raises `UsageError`.
    """
    if checks not in _POINTS:
        raise UsageError(f"a guardrail checks {', '.join(map(repr, _POINTS))}, not {checks!r}; write @guardrail(…)")
    known = ("withhold", "hold") if checks == "tool_result" else ("end", "hold")
    if action not in (None, *known):
        raise UsageError(f"a guardrail for {checks!r} can {' or '.join(map(repr, known))}, not {action!r}")
    made = hook(*_POINTS[checks], **point)(lambda *subjects: function(subjects[-1]))
    return replace(made, name=name, checks=checks, action=action or known[0], options=options)


def text_of(subject: Any) -> str:
    """Return the text that a guardrail checks: that of the user's messages, of a reply or result, or of the answer."""
    if isinstance(subject, Chat):
        return "\n\n".join(message.text for message in subject if message.role == "user")
    return subject if isinstance(subject, str) else str(subject.text)


def guardrails_of(option: Any, builtin: Mapping[str, Callable[..., Hook]]) -> tuple[Hook, ...]:
    """Return the guardrails of an agent's option: made with `@guardrail`, or names of built-in ones.

    Raises `Unknown` for another name, `UsageError` for anything else.
    """
    given: Sequence[Any] = [option] if isinstance(option, Hook | str) else list(option or ())
    found = []
    for one in given:
        if isinstance(one, str):
            if one not in builtin:
                raise Unknown("guardrail", one, builtin)
            one = builtin[one]()
        if not isinstance(one, Hook) or not one.checks:
            raise UsageError(f'guardrails are functions under @guardrail("output", …), or names, not {one!r:.100}')
        found.append(one)
    return tuple(found)
