"""agentkit: a debugger and a classroom for agent loops, inside the notebook."""

from __future__ import annotations

from typing import Any

from agentkit import notebook as notebook  # lets a run be shown as a live view
from agentkit import reopened as reopened  # lets exported runs be opened again
from agentkit import reprs as reprs  # gives the types below their HTML and Markdown
from agentkit.agent import Agent, runs
from agentkit.budget import Budget
from agentkit.comparison import compare
from agentkit.messages import Call, Chat, Message, Reply
from agentkit.result import Result
from agentkit.run import Run
from agentkit.stepper import Stepper
from agentkit.steps import Act, All, Answer, Ask, Conclude, Think
from agentkit.structured import structured
from agentkit.tools.tool import Tool, ToolBox, tool
from agentkit.usage import Usage

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
