"""agentkit: a debugger and a classroom for agent loops, inside the notebook."""

from __future__ import annotations

from typing import Any

from agentkit import export as export  # registers how values display themselves
from agentkit import notebook as notebook  # registers the live view of a run
from agentkit.agent.agent import Agent, runs
from agentkit.agent.comparison import compare
from agentkit.agent.recordings import load, look
from agentkit.agent.signals import wait_for_signal
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Act, All, Answer, Ask, Conclude, Loop, Think
from agentkit.core.usage import Usage
from agentkit.engines.recommend import recommend
from agentkit.engines.structured import structured
from agentkit.experiments.experiment import experiment
from agentkit.gates.limits import Budget
from agentkit.gates.state import Status
from agentkit.run.run import Result, Run
from agentkit.stepper.stepper import Stepper
from agentkit.tools.tool import Tool, tool
from agentkit.tools.toolbox import ToolBox

__all__ = [
    "Act",
    "Agent",
    "All",
    "Answer",
    "Ask",
    "Budget",
    "Call",
    "Chat",
    "Conclude",
    "Loop",
    "Message",
    "Reply",
    "Result",
    "Run",
    "Status",
    "Stepper",
    "Think",
    "Tool",
    "ToolBox",
    "Usage",
    "compare",
    "experiment",
    "load",
    "look",
    "recommend",
    "runs",
    "structured",
    "tool",
    "wait_for_signal",
]


def load_ipython_extension(shell: Any) -> None:
    """Register `%agent` and `%%agent`; called by `%load_ext agentkit`."""
    from agentkit.notebook import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove `%agent` and `%%agent`; called by `%unload_ext agentkit`."""
    from agentkit.notebook import unload_ipython_extension as unload

    unload(shell)
