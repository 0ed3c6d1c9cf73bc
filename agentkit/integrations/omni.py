"""The constructor of document 003: a workflow made of an inference client and two callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.agent.log import attach, is_on
from agentkit.around.base import require_int
from agentkit.core.messages import Chat, system
from agentkit.core.steps import Loop
from agentkit.models.base import Abilities, Output, Request, name_of
from agentkit.models.reply_conversion import reply_of
from agentkit.models.stream_collector import acollect
from agentkit.run.run import Run
from agentkit.tools.sources import source


class InferenceClient:
    """A model that asks the client of document 003 as its workflow does: with the question, messages and schemas.

    The question is in `user_query` and, if there are other messages, also in its place among them, because the client
    uses either the one or the other. Results are user messages, and the schemas are sent as `get_tool_schemas` returned
    them.
    """

    abilities = Abilities(tools=True)

    def __init__(self, engine: Any, get_tool_schemas: Callable[[], Any]) -> None:
        self.name = name_of(engine)
        self._engine = engine
        self._get_tool_schemas = get_tool_schemas
        self._schemas: list[Any] = []

    def get_tool_schemas(self) -> Any:
        """Return what the provider of schemas returns, and keep it for the requests."""
        schemas = self._get_tool_schemas()
        return self._awaited(schemas) if inspect.isawaitable(schemas) else self._kept(schemas)

    async def _awaited(self, schemas: Any) -> list[Any]:
        return self._kept(await schemas)

    def _kept(self, schemas: Any) -> list[Any]:
        self._schemas = list(schemas or ())
        return self._schemas

    def __call__(self, request: Request) -> Output:
        system_prompt = "\n\n".join(message.text for message in request.chat if message.role == "system")
        messages = [message for message in request.chat if message.role != "system" and message.text]
        questions = [message.text for message in messages if message.role == "user"]
        others = messages if len(messages) > 1 else []
        output = self._engine.complete(
            system_prompt=system_prompt,
            user_query=questions[-1] if questions else "",
            messages=[{"role": "user" if m.role == "tool" else m.role, "content": m.text} for m in others],
            tools=(self._schemas or None) if request.offered and request.choice != "none" else None,
        )
        return acollect(output) if inspect.isawaitable(output) else reply_of(output)


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
        client = InferenceClient(engine, get_tool_schemas)
        self.agent = Agent(
            client,
            [source(client.get_tool_schemas, execute_tool)],
            engine=Loop("react", max_iterations=require_int("max_tool_calls", max_tool_calls)),
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
        import asyncio

        chat = Chat.of([*([system(system_prompt)] if system_prompt else []), *messages]) + task
        self.last_run = await asyncio.to_thread(self.agent.start, chat, paused=True)  # it waits for the schemas
        if self.verbose and not is_on():  # otherwise every run is logged already
            attach(self.last_run)
        result = await self.last_run
        self.step_count, self.tool_calls_count = result.step_count, result.tool_calls_count
        if result.error:
            raise result.error
        return result.answer
