"""Report a run line by line to Python's logging (logger `agentkit`), and to a callback.

Thoughts are logged at level DEBUG, actions and results at level INFO. A run is logged if the logger is enabled for one
of these levels when the run is started or opened; so a program only needs `logging.basicConfig(level="INFO")`.
Each record also has the fields of `core.log.FIELDS`, for programs that read logs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from agentkit.core.log import logger
from agentkit.core.text import counted, one_line
from agentkit.engines import registry
from agentkit.run.run import Run
from agentkit.trace.events import Event

OnStep = Callable[[int, dict[str, Any] | None, str | None, str | None, int], Any]
"""`on_step(iteration, action, observation, error, step)`: action is {"tool", "arguments"}, or None for a thought."""


def is_on() -> bool:
    """Return whether runs are logged."""
    return logger.isEnabledFor(logging.INFO)


def attach(run: Run) -> None:
    """Log each step of a run: thoughts, calls, observations, and how the run ended."""
    name = run.agent.engine_name.rpartition(":")[2]
    name = {"react": "ReAct"}.get(name, name)
    about = {"run": run.id, "session": str((run.task.get("session") or {}).get("id", ""))}
    calls = 0
    logger.debug("%s: tools count = %d", name, len(run.agent.tools.tools), extra=about)

    def log_event(event: Event) -> None:
        nonlocal calls
        data, spent = event.data, run.state.spent
        extra = {**about, **_fields(event, run)}
        if event.kind == "thought":
            step, calls_so_far = spent.model_calls + 1, spent.tool_calls
            logger.debug("%s: step=%d, tool_calls=%d, max=%s", name, step, calls_so_far, limit(run), extra=extra)
            logger.debug("%s: tool_calls in response = %d", name, len(data["calls"]), extra=extra)
            if data["calls"]:
                logger.debug("%s: tool_names = %r", name, [call["name"] for call in data["calls"]], extra=extra)
        elif event.kind == "tool_call" and data["performed"]:
            calls = max(calls, spent.tool_calls) + 1  # parallel calls have begun before they are counted
            arguments = ", ".join(f"{key}={json.dumps(value, default=str)}" for key, value in data["arguments"].items())
            logger.info("[%d/%s] 🔧 %s(%s)", calls, limit(run), data["name"], one_line(arguments), extra=extra)
        elif event.kind == "tool_result":
            logger.info("%s %s", "→" if data["ok"] else "❌", one_line(data["text"]), extra=extra)
        elif event.kind == "error":
            logger.info("❌ %s: %s", data["type"], one_line(data["text"]), extra=extra)
        elif event.kind == "completed":
            why = f" (interrupted: {one_line(data['interrupted'])})" if data["interrupted"] else ""
            steps, tool_calls = counted(spent.model_calls, "step"), counted(spent.tool_calls, "tool call")
            logger.info("✅ Completed in %s, %s%s", steps, tool_calls, why, extra=extra)

    run.on_event(log_event)


def _fields(event: Event, run: Run) -> dict[str, Any]:
    """Return the fields of the log records of an event."""
    data, entry = event.data, run.trace.tree.entries.get(event.cursor)
    seconds = round(entry.ended - entry.started, 6) if entry is not None and entry.step is not None else None
    tool = data["name"] if event.kind in ("tool_call", "tool_result") else ""
    return {"step": data.get("step_name", ""), "tool": tool, "seconds": seconds}


def limit(run: Run) -> str:
    """Return the run's limit of tool calls, or else of iterations, as text; "-" if it has none."""
    agent = run.agent
    limits = {**registry.defaults(agent.engine), **agent.engine_options}
    return str(agent.options.get("max_tool_calls") or limits.get("max_iterations", "-"))


def on_step(run: Run, callback: OnStep) -> None:
    """Call a function after each thought and each tool result."""
    counts = [0, 0]  # iterations, steps

    def on_event(event: Event) -> None:
        data = event.data
        if event.kind == "thought":
            counts[0] += 1
            if data["calls"]:
                return
            counts[1] += 1
            callback(counts[0], None, None, None, counts[1])
        elif event.kind == "tool_result":
            counts[1] += 1
            action = {"tool": data["name"], "arguments": data["arguments"]}
            text = data["text"]
            callback(counts[0], action, text if data["ok"] else None, None if data["ok"] else text, counts[1])

    run.on_event(on_event)
