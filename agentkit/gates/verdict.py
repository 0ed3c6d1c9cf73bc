"""The decision of a gate about a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentkit.core.steps import End
from agentkit.trace.ledger import PastCall


@dataclass(slots=True)
class Verdict:
    """A decision about a step, and the reason for it.

    "pause" before the step; "ask" a person about it; "answer" it with `result` instead of performing it; "fail" leaves
    it pending, with `result` as the error; "later" lets it wait until a running step has ended. `limit` is the name of
    the limit of a budget that was reached, and `past` the earlier call that this one would repeat.
    """

    kind: Literal["pause", "ask", "answer", "fail", "later"]
    why: str
    result: Any = None
    limit: str = ""
    past: PastCall | None = None

    @classmethod
    def finish(cls, answer: str, why: str, reason: str, scope: str = "") -> Verdict:
        """Return the verdict that ends the run with this answer, or only the part of the engine at `scope`."""
        return cls("answer", why, End(answer, reason, scope))
