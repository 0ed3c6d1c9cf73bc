"""What a gate decides about a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentkit.core.steps import End


@dataclass(slots=True)
class Verdict:
    """A decision about a step, and the reason for it.

    "pause" before the step; "ask" a person about it; "answer" it with `result` instead of performing it; "fail", which
    leaves it pending with `result` as the error; or let it wait until "later", when something that is under way has
    ended. `limit` names the limit of a budget that has been reached.
    """

    kind: Literal["pause", "ask", "answer", "fail", "later"]
    why: str
    result: Any = None
    limit: str = ""

    @classmethod
    def finish(cls, answer: str, why: str, reason: str, scope: str = "") -> Verdict:
        """End the run with this answer, or only the part of the engine at `scope`."""
        return cls("answer", why, End(answer, reason, scope))
