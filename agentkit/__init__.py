"""agentkit: a debugger and a classroom for agent loops, inside the notebook."""

from __future__ import annotations

from typing import Any

from agentkit import notebook as notebook  # lets a run be shown as a live view
from agentkit import reprs as reprs  # gives the types below their HTML and Markdown
from agentkit.agent import reopened as reopened  # lets exported runs be opened again
from agentkit.agent.agent import Agent, runs
from agentkit.agent.comparison import compare
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.steps import Act, All, Answer, Ask, Conclude, Think
from agentkit.core.usage import Usage
from agentkit.engines.structured import structured
from agentkit.gates.budget import Budget
from agentkit.run.result import Result
from agentkit.run.run import Run
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
    "Message",
    "Reply",
    "Result",
    "Run",
    "Stepper",
    "Think",
    "Tool",
    "ToolBox",
    "Usage",
    "compare",
    "runs",
    "structured",
    "tool",
]


def load_ipython_extension(shell: Any) -> None:
    """Register `%agent` and `%%agent`: what `%load_ext agentkit` calls."""
    from agentkit.notebook import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take them away again: what `%unload_ext agentkit` calls."""
    from agentkit.notebook import unload_ipython_extension as unload

    unload(shell)
