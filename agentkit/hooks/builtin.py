"""The built-in guardrails. They are data, a name and options, so a recording can bring them along."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.messages import Reply
from agentkit.core.schema import Shape, shape_of
from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.hooks.guardrail import guarding, text_of
from agentkit.hooks.hook import Hook
from agentkit.hooks.judge import NAME, restored_judge
from agentkit.hooks.marks import injection_mark
from agentkit.models.json_in_text import candidates
from agentkit.models.structured_output import NOTHING, misfit

_MASKED = re.compile(r"\[secret [^\]\n]{1,60}\]")
"""What stands in a text in place of a secret."""

_INVENTED = re.compile(r"^[ \t>*_#]*observation[ \t*_]*:", re.I | re.M)


def secrets(action: str | None = None) -> Hook:
    """Return the guardrail that trips if the answer contains a secret, such as an API key.

    Secrets are masked wherever they appear, so the answer never shows one; this one also ends the run.
    """

    def check(subject: Any) -> str | None:
        text = text_of(subject)
        found = _MASKED.search(mask(text))
        return f"the answer contains a secret: {found[0]}" if found else None

    return _builtin("secrets", check, "output", action)


def invented(action: str | None = None) -> Hook:
    """Return the guardrail that trips if the model writes an observation itself, which only a tool can make.

    A dialect with a stop sequence cuts such a text off; the guardrail ends the run instead of going on without it.
    """

    def check(reply: Reply) -> str | None:
        if reply.cut:
            return f"the model invented an observation of {len(reply.cut)} characters"
        return "the model wrote an observation into its answer" if _INVENTED.search(reply.text) else None

    return _builtin("invented", check, "reply", action)


def injection(action: str | None = None) -> Hook:
    """Return the guardrail that withholds a tool result with marks of a prompt injection.

    It finds well-known phrases, fake roles and hidden characters, and nothing else: an attack in other words passes.
    """

    def check(subject: Any) -> str | None:
        mark = injection_mark(text_of(subject))
        return f"it looks like a prompt injection: {mark}" if mark else None

    return _builtin("injection", check, "tool_result", action)


def length(most: int = 20_000, action: str | None = None) -> Hook:
    """Return the guardrail that trips if the answer has more than `most` characters."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise UsageError(f"most must be an integer of at least 1, not {most!r:.100}")

    def check(subject: Any) -> str | None:
        size = len(text_of(subject))
        return f"the answer has {size:,} characters, and {most:,} are allowed" if size > most else None

    return _builtin("length", check, "output", action, most=most)


def schema(shape: Any, action: str | None = None) -> Hook:
    """Return the guardrail that trips unless the answer contains JSON of this shape: a type, or a JSON schema."""
    made = shape_of(shape)[0]
    problem_of = misfit(Shape(made.name, made.schema))

    def check(subject: Any) -> str | None:
        problems = [_problem(value, made, problem_of) for value in candidates(text_of(subject)) if not value.completed]
        if "" in problems:
            return None
        return f"the answer does not fit {made.name}: {problems[0] if problems else NOTHING}"

    return _builtin("schema", check, "output", action, shape={"title": made.name, **made.schema})


def _problem(candidate: Any, shape: Shape, problem_of: Callable[[Any], str]) -> str:
    """Return why a JSON value does not have a shape, or ""."""
    problems = [problem_of(value) for value in shape.unwrapped(candidate.value)]
    return "" if "" in problems else problems[0]


def _builtin(name: str, check: Callable[[Any], str | None], checks: str, action: str | None, **options: Any) -> Hook:
    return guarding(check, checks, action, name=name, point={}, **options)


BUILTIN: Mapping[str, Callable[..., Hook]] = {
    "secrets": secrets,
    "invented": invented,
    "injection": injection,
    "length": length,
    "schema": schema,
}
"""The built-in guardrails by name."""


def restored(hook: Hook) -> Hook:
    """Return a recorded hook with its function, if it is a built-in guardrail; otherwise the same hook.

    A recording chooses among these functions by name and imports none. Raises `UsageError` for options that do not fit.
    """
    make = {**BUILTIN, NAME: restored_judge}.get(hook.name) if hook.checks else None
    if make is None:
        return hook
    try:
        return make(**hook.options, action=hook.action)
    except (TypeError, ValueError, UsageError) as error:
        raise UsageError(f"the recorded guardrail {hook.name!r} cannot be read: {error}") from None
