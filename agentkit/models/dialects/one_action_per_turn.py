"""The rule of the text and the json dialect: one action per turn. What comes after it in a reply is
refused, not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentkit.core.messages import Call
from agentkit.models.dialects.reading import Reading
from agentkit.tools.call_parsing import call_id

EXTRA_ACTIONS = "more than one action:"
"""The beginning of the problem that names the actions of a reply that came after the first and were not run."""

ONE_ACTION = "Only one action is taken per turn, and another one came before it."
"""The result of a refused action, for the model."""

MAX_REFUSED = 5
"""So many extra actions get a result of their own; a reply with a thousand actions must not fill the trace."""


def refused(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Return the extra calls of a reply, marked so that they are answered and not run."""
    return tuple(
        replace(call, id=call_id(call.name, call.raw or call.arguments, position), problem=ONE_ACTION)
        for position, call in enumerate(calls[:MAX_REFUSED], 1)
    )


def first_call_only(reading: Reading) -> Reading:
    """Return a reading in which only the first call is run."""
    first, *others = reading.calls
    if not others:
        return reading
    problem = f"{EXTRA_ACTIONS} {some_names([call.name for call in others])} was not run"
    return reading._replace(calls=(first, *refused(others)), problems=(*reading.problems, problem))


def some_names(names: list[str]) -> str:
    """Return the first five names and the number of the others: "a, b, c, d, e and 3 more"."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
