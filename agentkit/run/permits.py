"""Why each call of a run was made, asked about or not made, and what permissions say about a call that nobody makes."""

from __future__ import annotations

import json
from typing import Any

from agentkit.core.messages import Call
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Act
from agentkit.core.text import call_text
from agentkit.errors import UsageError
from agentkit.gates.permissions import Judgment, Permissions
from agentkit.journal.entries import Entry
from agentkit.run.run import Run
from agentkit.tools.tool import Effect, Tool
from agentkit.tools.toolset import ToolSet

HEADER = ["entry", "call", "then", "why"]
"""The columns of `explanations`."""

_NO_REASON = "no permission was needed"
_STRANGER = {"type": "object", "additionalProperties": True}


def explanations(run: Run) -> list[list[str]]:
    """Return a row for each call of a run: the entry, the call, what happened, and why; pending calls come last."""
    rows = [_of_entry(run, number, entry) for number, entry in enumerate(run.entries) if entry.kind == "act"]
    waiting = {id(pending): verdict for pending, verdict in run.waiting}
    for pending in run.pending:
        if type(pending.step) is Act:
            verdict = waiting.get(id(pending))
            judgment = run.state.judgment(pending)
            then = (
                "waits for you"
                if verdict
                else {"allow": "next", "ask": "will be asked", "deny": "will be denied"}[judgment.outcome]
            )
            rows.append(
                ["next", _call(pending.step.call), then, verdict.why if verdict else judgment.why or _NO_REASON]
            )
    return rows


def _of_entry(run: Run, number: int, entry: Entry) -> list[str]:
    then = "called" if entry.author == "tool" else f"answered by {entry.author}"
    return [str(number), _call(entry.step.call), then, entry.reason or _NO_REASON]  # type: ignore[union-attr]


def _call(call: Call) -> str:
    return mask(call_text(Call(call.name, mask_json(call.arguments))))


def judge_named(
    permissions: Permissions, tool: Tool | str, arguments: Any = None, effect: Effect | None = None
) -> Judgment:
    """Return what permissions say about a call; of a tool that is only a name, the arguments are not checked.

    Raises `ArgumentsError` if the tool would not be called with such arguments.
    """
    if isinstance(tool, str):
        tool = Tool(tool, "", dict(_STRANGER), lambda **_: None, effect=effect)
    call = Call(tool.name, dict(arguments or {}))
    tool.bind(call)
    return permissions.judge(call, tool)


def arguments_of(text: str | None) -> dict[str, Any]:
    """Return the arguments in a text of JSON. Raises `UsageError` if it is not an object."""
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"the arguments are not JSON ({error}): {text}") from None
    if not isinstance(value, dict):
        raise UsageError(f'the arguments must be a JSON object, such as {{"path": "notes.md"}}, not {text}')
    return value


def preview(tools: ToolSet, call: Call) -> str:
    """Return what a call would do, as its tool says; secrets are masked.

    Raises `UsageError` if the tool does not tell, and whatever its function raises.
    """
    tool = tools.find(call.name)
    if tool is None or tool.preview is None:
        raise UsageError(f"{call.name} does not tell what a call would do")
    arguments, _ = tool.bind(call)
    return mask(str(tool.preview(**arguments)))
