"""The decision of a gate about a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentkit.core.steps import End


@dataclass(slots=True)
class Verdict:
    """A decision about a step, and the reason for it.

    "pause" before the step; "ask" a person about it; "answer" it with `result` instead of performing it; "fail" leaves
    it pending, with `result` as the error; "later" lets it wait until a running step has ended. `limit` is the name of
    the limit of a budget that was reached.
    """

    kind: Literal["pause", "ask", "answer", "fail", "later"]
    why: str
    result: Any = None
    limit: str = ""

    @classmethod
    def finish(cls, answer: str, why: str, reason: str, scope: str = "") -> Verdict:
        """Return the verdict that ends the run with this answer, or only the part of the engine at `scope`."""
        return cls("answer", why, End(answer, reason, scope))
