"""CPU per turn of known agent loops with a free model and a free tool, beside agentkit and a bare loop.

Each loop runs in a process of its own, of the Python that PEERS_PYTHON names, or else of this one; what it does not
have installed is said so, and the figures that were measured elsewhere stand beside it. Each loop is set up as its own
documentation does it, with nothing switched on that it leaves off: agentkit records every step, most others do not. To
measure them all: `python -m venv peers`, `peers/bin/pip install` the names in the table,
`PEERS_PYTHON=peers/bin/python`.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

ARGUMENTS = '{"a": 1, "b": 2}'
ROUNDS = {100: 50, 1_000: 7}
TURNS = tuple(ROUNDS)
SECONDS = 3.0
"""After these no further round of one figure begins."""
PATIENCE = 600

Loop = Callable[[int], Any]
"""Runs `turns` turns, each one model call and one tool call; then the model answers "3", which it gives back."""


def bare() -> Loop:
    from loop_overhead import bare

    return bare


def agentkit() -> Loop:
    """With a plain `@tool`: what somebody who changes nothing gets."""
    from loop_overhead import run

    return run


def ovos_agentic_loop() -> Loop:
    """Text protocol: it knows no native tool calls."""
    from ovos_agentic_loop.react import ReActLoopEngine
    from ovos_plugin_manager.templates.agent_tools import AgentTool, ToolArguments, ToolBox, ToolOutput
    from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole

    class Pair(ToolArguments):
        a: int
        b: int

    class Sum(ToolOutput):
        result: int

    class Box(ToolBox):
        def discover_tools(self) -> list[Any]:
            return [AgentTool("add", "Add two numbers.", Pair, Sum, lambda pair: Sum(result=pair.a + pair.b))]

    class Free(ChatEngine):
        left = 0

        def continue_chat(self, messages: Any, **more: Any) -> Any:
            self.left -= 1
            text = f"Thought: I add\nAction: add\nAction Input: {ARGUMENTS}" if self.left >= 0 else "FINAL_ANSWER: 3"
            return AgentMessage(role=MessageRole.ASSISTANT, content=text)

    def loop(turns: int) -> str:
        engine, model = ReActLoopEngine({"max_iterations": turns + 1}), Free()
        model.left = turns
        engine.set_brain(model)
        engine.load_toolboxes([Box("box")])
        return engine.continue_chat([AgentMessage(role=MessageRole.USER, content="1 + 2?")]).content

    return loop


def burr() -> Loop:
    """A state machine, and no agent: the loop that one writes with it.

    It copies the list of messages in depth whenever one is added; they are plain texts here, of dicts it takes ten
    times as long.
    """
    from burr.core import ApplicationBuilder, State, action, expr

    @action(reads=["messages", "left"], writes=["messages", "left", "call"])
    def think(state: State) -> State:
        left = state["left"] - 1
        call = {"name": "add", "arguments": json.loads(ARGUMENTS)} if left >= 0 else None
        return state.append(messages="assistant: I add" if call else "assistant: 3").update(left=left, call=call)

    @action(reads=["messages", "call"], writes=["messages"])
    def act(state: State) -> State:
        pair = state["call"]["arguments"]
        return state.append(messages=f"tool: {pair['a'] + pair['b']}")

    @action(reads=["messages"], writes=["answer"])
    def conclude(state: State) -> State:
        return state.update(answer=state["messages"][-1])

    def loop(turns: int) -> str:
        application = (
            ApplicationBuilder()
            .with_actions(think=think, act=act, conclude=conclude)
            .with_transitions(("think", "conclude", expr("call is None")), ("think", "act"), ("act", "think"))
            .with_state(messages=["user: 1 + 2?"], left=turns, call=None)
            .with_entrypoint("think")
            .build()
        )
        return application.run(halt_after=["conclude"])[2]["answer"].removeprefix("assistant: ")

    return loop


def loomflow() -> Loop:
    """The tool is asynchronous: one that is not costs a change of threads."""
    import asyncio

    from loomflow import Agent, tool
    from loomflow.core.types import ToolCall, Usage

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    class Free:
        name = "free"

        def __init__(self, turns: int) -> None:
            self.left = turns

        async def complete(self, messages: Any, **more: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                return "3", [], Usage(), "stop"
            return "I add", [ToolCall(id=f"c{self.left}", tool="add", args=json.loads(ARGUMENTS))], Usage(), "tool_use"

    def loop(turns: int) -> str:
        agent = Agent("Add.", model=Free(turns), tools=[add], max_turns=turns + 1)
        return asyncio.run(agent.run("1 + 2?")).output

    return loop


def smolagents() -> Loop:
    from smolagents import Model, Tool, ToolCallingAgent
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

    class Add(Tool):
        name = "add"
        description = "Add two numbers."
        inputs = {"a": {"type": "integer", "description": "one"}, "b": {"type": "integer", "description": "other"}}  # noqa: RUF012
        output_type = "integer"

        def forward(self, a: int, b: int) -> int:
            return a + b

    class Free(Model):
        left = 0

        def generate(self, messages: Any, **more: Any) -> Any:
            self.left -= 1
            name, arguments = ("add", json.loads(ARGUMENTS)) if self.left >= 0 else ("final_answer", {"answer": "3"})
            call = ChatMessageToolCall(
                ChatMessageToolCallFunction(arguments, name), id=f"c{self.left}", type="function"
            )
            return ChatMessage(role=MessageRole.ASSISTANT, content="I add", tool_calls=[call])

    def loop(turns: int) -> Any:
        model = Free(model_id="free")
        model.left = turns
        return ToolCallingAgent([Add()], model, verbosity_level=0, max_steps=turns + 1).run("1 + 2?")

    return loop


def langgraph() -> Loop:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.prebuilt import create_react_agent

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    class Free(BaseChatModel):
        left: int

        @property
        def _llm_type(self) -> str:
            return "free"

        def bind_tools(self, tools: Any, **more: Any) -> Any:
            return self

        def _generate(self, messages: Any, *others: Any, **more: Any) -> Any:
            self.left -= 1
            call = {"name": "add", "args": json.loads(ARGUMENTS), "id": f"c{self.left}"}
            reply = AIMessage("I add", tool_calls=[call]) if self.left >= 0 else AIMessage("3")
            return ChatResult(generations=[ChatGeneration(message=reply)])

    def loop(turns: int) -> Any:
        graph = create_react_agent(Free(left=turns), [add])
        end = graph.invoke({"messages": [("user", "1 + 2?")]}, {"recursion_limit": 2 * turns + 5})
        return end["messages"][-1].content

    return loop


def pydantic_ai() -> Loop:
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, UsageLimits
    from pydantic_ai.models.function import FunctionModel

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def loop(turns: int) -> str:
        left = turns

        def free(messages: Any, info: Any) -> ModelResponse:
            nonlocal left
            left -= 1
            if left < 0:
                return ModelResponse([TextPart("3")])
            return ModelResponse([TextPart("I add"), ToolCallPart("add", ARGUMENTS, f"c{left}")])

        agent = Agent(FunctionModel(free))
        agent.tool_plain(add)
        return agent.run_sync("1 + 2?", usage_limits=UsageLimits(request_limit=None)).output

    return loop


LOOPS: dict[str, tuple[Callable[[], Loop], str, str]] = {
    "a bare loop": (bare, "1.9", "1.9"),
    "agentkit": (agentkit, "", ""),
    "ovos-agentic-loop": (ovos_agentic_loop, "13", "8"),
    "burr": (burr, "81", "289"),
    "loomflow": (loomflow, "105", "97"),
    "smolagents": (smolagents, "449", "6,035"),
    "langgraph": (langgraph, "1,176", "2,212"),
    "pydantic-ai": (pydantic_ai, "2,928", "18,002"),
}
"""Each with the figures that are known for 100 and 1,000 turns, in microseconds; another machine, other versions."""
OURS = ("a bare loop", "agentkit")


def per_turn(loop: Loop, turns: int) -> float:
    """Microseconds of CPU per turn, set-up included: the best of a few rounds."""
    best, begun = float("inf"), time.monotonic()
    for _ in range(ROUNDS[turns]):
        gc.collect()
        start = time.process_time()
        answer = loop(turns)
        best = min(best, time.process_time() - start)
        assert str(answer) == "3", answer
        if time.monotonic() - begun > SECONDS:
            break
    return best / turns * 1e6


def measured(name: str) -> dict[str, Any]:
    """Measure one loop in this process: microseconds by number of turns, or why not."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    found: dict[str, Any] = {"version": ""}
    if name not in OURS:
        packages = importlib.metadata.packages_distributions().get(name.replace("-", "_"))
        if not packages:
            return {"why": "not installed"}
        found["version"] = importlib.metadata.version(packages[0])
    try:
        loop = LOOPS[name][0]()
        return found | {str(turns): per_turn(loop, turns) for turns in TURNS}
    except Exception as error:
        return found | {"why": f"{type(error).__name__}: {error}"}


def in_own_process(name: str) -> dict[str, Any]:
    """Measure one loop in a process of its own, of the peers' Python unless it is one of ours."""
    python = sys.executable if name in OURS else os.environ.get("PEERS_PYTHON", sys.executable)
    try:
        done = subprocess.run([python, __file__, name], capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"why": f"took more than {PATIENCE} s"}
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1])))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("loop", *(f"{turns:,} turns" for turns in TURNS), "known", title="CPU per turn, microseconds")
    for name, (_, *known) in LOOPS.items():
        found = in_own_process(name)
        figures = [f"{found[str(turns)]:,.1f}" for turns in TURNS] if "why" not in found else [found["why"], ""]
        table.add_row(f"{name} {found.get('version', '')}", *figures, f"{known[0]} ({known[1]})" if known[0] else "")
    Console().print(table)
    print(f"the best of 50 (7) rounds, or of those begun within {SECONDS:g} s; set-up of the run included")


if __name__ == "__main__":
    main()
