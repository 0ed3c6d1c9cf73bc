"""agentkit: a debugger and a classroom for agent loops, inside the notebook."""

from agentkit.agent import Agent, runs
from agentkit.messages import Call, Chat, Message, Reply
from agentkit.result import Result
from agentkit.run import Run
from agentkit.stepper import Stepper
from agentkit.steps import Act, All, Answer, Ask, Conclude, Think
from agentkit.tools.tool import Tool, ToolBox, tool
from agentkit.usage import Usage

__all__ = [
    "Act",
    "Agent",
    "All",
    "Answer",
    "Ask",
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
    "runs",
    "tool",
]
