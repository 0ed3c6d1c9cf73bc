"""The gate of `max_tool_calls`: it lets the first calls of a run pass, and answers the others with "not run"."""

from __future__ import annotations

from agentkit.core.messages import Message
from agentkit.core.steps import Act
from agentkit.gates.budget import Meter
from agentkit.gates.state import State
from agentkit.gates.verdict import Verdict
from agentkit.stepper.stepper import Pending


class CallLimit:
    """A gate that lets at most `most` tool calls of a run start, in all of its engines and lanes together."""

    kinds = ("act",)

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._meter = Meter()

    @property
    def is_idle(self) -> bool:
        """Whether there is no limit."""
        return self.most is None

    def __call__(self, pending: Pending, state: State) -> Verdict | None:
        """Answer a call instead of performing it if as many calls as allowed were performed or are being performed."""
        assert type(pending.step) is Act
        running = sum(type(other.step) is Act for other in (*state.in_flight, *state.starting) if other is not pending)
        if self.most is None or self._meter.read(state)["max_tool_calls"] + running < self.most:
            return None
        call, why = pending.step.call, f"the limit of {self.most} tool calls is reached"
        text = f"Error: not run: {why}. Answer with what you know."
        return Verdict("answer", why, Message("tool", text, (), call.id, call.name, False))
