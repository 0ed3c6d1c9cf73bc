"""The constructor of document 003: a workflow made of an inference client and two callables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.agent.log import attach
from agentkit.around.base import require_int
from agentkit.core.messages import Chat, system
from agentkit.run.run import Run
from agentkit.tools.sources import source


class ReActWorkflow:
    """A loop that thinks and calls tools until the model asks for no more calls.

    `engine` is a client with `complete(system_prompt, user_query, messages, tools)`; `get_tool_schemas` and
    `execute_tool` are callables, which may be asynchronous. The caller's list of messages is not changed. The model
    sees its last
    `retained_turns` turns, and each request is limited to about `max_tokens`. `step_count` and `tool_calls_count` are
    those of the last run, and `last_run` is the run itself. Raises `ValueError` if a number is out of range.
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
            compact=require_int("max_tokens", max_tokens, 100),
            window=require_int("retained_turns", retained_turns) + 1,  # the new turn counts too
        )
        self.verbose = verbose
        self.last_run: Run | None = None
        self.step_count = self.tool_calls_count = 0

    async def run(self, task: str, system_prompt: str = "", messages: Any = ()) -> str:
        """Work on a task, and return the answer. Raises whatever the client raised."""
        chat = Chat.of([*([system(system_prompt)] if system_prompt else []), *messages]) + task
        self.last_run = self.agent.start(chat, paused=True)
        if self.verbose:
            attach(self.last_run)
        result = await self.last_run
        self.step_count, self.tool_calls_count = result.step_count, result.tool_calls_count
        if result.error:
            raise result.error
        return result.answer
