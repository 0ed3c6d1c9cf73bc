"""The construction of document 003: a workflow made of an inference client and two callables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.agent.log import attach
from agentkit.around.base import whole
from agentkit.core.messages import Chat, system
from agentkit.run.run import Run
from agentkit.tools.sources import source


class ReActWorkflow:
    """Think and call tools until no call is asked for; `step_count` and `tool_calls_count` are those of the last run.

    `engine` is a client with `complete(system_prompt, user_query, messages, tools)`; `get_tool_schemas` and `execute_tool`
    are callables, asynchronous or not. The caller's list of messages is not changed: of a long one the last `retained_turns`
    turns are shown, and each request is held to about `max_tokens`. Raises `ValueError` for a number out of range.
    """

    def __init__(
        self,
        engine: Any,
        get_tool_schemas: Callable[[], Any],
        execute_tool: Callable[..., Any],
        max_tool_calls: int = 20,
        verbose: bool = False,
        *,
        max_tokens: int = 128_000,
        retained_turns: int = 10,
    ) -> None:
        self.agent = Agent(
            engine,
            [source(get_tool_schemas, execute_tool)],
            journal="memory",
            max_tool_calls=max_tool_calls,
            compact=whole("max_tokens", max_tokens, 100),
            window=whole("retained_turns", retained_turns) + 1,  # those, and the one that begins
        )
        self.verbose = verbose
        self.held: Run | None = None
        self.step_count = self.tool_calls_count = 0

    async def run(self, task: str, system_prompt: str = "", messages: Any = ()) -> str:
        """Work on a task and give the answer. Raises what the client raised."""
        chat = Chat.of([*([system(system_prompt)] if system_prompt else []), *messages]) + task
        self.held = self.agent.start(chat, paused=True)
        if self.verbose:
            attach(self.held)
        result = await self.held
        self.step_count, self.tool_calls_count = result.step_count, result.tool_calls_count
        if result.error:
            raise result.error
        return result.answer
