"""Offer the model only the tools that its task needs, if there are many; it can load more of them by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable
from typing import Any

from agentkit.around.base import Around, around, aside, calls_of, perform, reply_text, require_int, result_of
from agentkit.around.request_view import turn
from agentkit.core.messages import Call, Chat, Message, Reply, system, user
from agentkit.core.steps import Act, All, Step, Think, replace

PICK = """\
Choose the tools that the task below needs, at most {most}. Reply with one JSON object and nothing else:
{{"tools": ["name", "another name"]}}"""

MORE = "Load more tools by name; you can call them from your next message on. These are also available:\n"
LOADER, DISCOVER = "load_tools", "discover"
LINE = 80
"""The length of a tool's line in the catalogue, in characters."""
_TASK = 4_000
_LISTED = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+")


def select_tools(
    loader: Callable[[str], Any], *, over: int = 12, most: int = 6, pins: Iterable[str] = (), ask: bool = True
) -> Around:
    """Return an around that offers `most` of more than `over` tools, chosen by a model, and those named in `pins`.

    The choice is a model call with the role "select_tools"; if it cannot be read, all tools are offered. Without `ask`,
    only the pins are offered, until the model loads other tools. `loader(description)` makes the tool that the model
    uses to load them. Raises `ValueError` if a number is below 1.
    """
    require_int("over", over)
    require_int("most", most)
    fixed = frozenset(pins) | {DISCOVER}

    @around(Think, Act, does="offers the tools that fit the task")
    def selection(step: Think | Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
        if not isinstance(step, Think):
            return (yield from _load(step, memory))
        if len(step.tools) <= over:
            return (yield step)
        known = {tool.name: tool for tool in step.tools}
        if memory.get("known", {}).keys() != known.keys():
            memory["known"] = known
            memory["chosen"] = (yield from _chosen(step, known, most)) if ask and step.choice == "auto" else []
        return (yield replace(step, tools=_offer(step.tools, memory, fixed, loader)))

    return selection


def _chosen(step: Think, known: dict[str, Any], most: int) -> Generator[Step, Any, list[str]]:
    """Ask a model which tools the task needs, and return their names; all names if its choice cannot be read."""
    task = "\n\n".join(message.text for message in turn(step.chat))
    question = f"{task[:_TASK]}\n\nThe tools:\n{catalogue(known.values())}"
    reply: Reply = yield aside(
        Chat.of([system(PICK.format(most=most)), user(question)]), "select_tools", total_tools=len(known), most=most
    )
    return named(reply_text(reply), known)[:most] or list(known)


def _offer(
    tools: tuple[Any, ...], memory: dict[str, Any], fixed: frozenset[str], loader: Callable[[str], Any]
) -> tuple[Any, ...]:
    """Return the tools to offer; the same tuple as long as they are the same."""
    names = frozenset(memory["chosen"]) | fixed
    offer = memory.get("offer")
    if offer is None or offer[0] != names:
        rest = [tool for tool in tools if tool.name not in names]
        offered = tuple(tool for tool in tools if tool.name in names)
        offer = memory["offer"] = names, (*offered, loader(MORE + catalogue(rest))) if rest else tools
    return tuple(offer[1])


def _load(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """Perform calls; from then on, also offer the tools that were loaded, discovered, or called without an offer."""
    known = memory.get("known", {})
    calls = tuple(_checked(call, known) if call.name == LOADER else call for call in calls_of(step))
    messages = yield from perform(step, calls)
    if known:
        names = [name for call in calls for name in (_wanted(call) if call.name == LOADER else [call.name])]
        names += [name for message in messages if message.name == DISCOVER for name in _discovered(message)]
        new = [name for name in names if name in known and name not in memory["chosen"]]
        memory["chosen"] = [*memory["chosen"], *dict.fromkeys(new)]
    return result_of(step, messages)


def _checked(call: Call, known: dict[str, Any]) -> Call:
    """Return the call; if it names tools that do not exist, its `problem` says so and lists those that do."""
    wanted = _wanted(call)
    missing = [name for name in wanted if name not in known]
    if missing and not call.problem:
        return replace(call, problem=f"there is no tool {', '.join(map(repr, missing))}; there are: {', '.join(known)}")
    return call


def _wanted(call: Call) -> list[str]:
    names = call.arguments.get("names", [])
    return [names] if isinstance(names, str) else [str(name) for name in names] if isinstance(names, list) else []


def _discovered(message: Message) -> list[str]:
    tools = message.value.get("tools", []) if isinstance(message.value, dict) else []
    return [tool["name"] for tool in tools if isinstance(tool, dict) and "name" in tool]


def catalogue(tools: Iterable[Any]) -> str:
    """Return one line for each tool, of at most 80 characters: its name and the beginning of its description."""
    return "\n".join(f"{tool.name}: {' '.join(str(tool.description).split())}"[:LINE].rstrip(": ") for tool in tools)


def named(text: str, known: Iterable[str]) -> list[str]:
    """Return the names of tools in a reply: from its first JSON object or list, or else from lines with just a name."""
    names = dict.fromkeys(known)
    for start in re.finditer(r"[{\[]", text[:20_000]):
        try:
            data = json.JSONDecoder().raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue
        data = data.get("tools") if isinstance(data, dict) else data
        if isinstance(data, list):
            return [name for name in dict.fromkeys(item for item in data if isinstance(item, str)) if name in names]
    lines = (_LISTED.sub("", line).strip(" \t`'\".,*") for line in text.splitlines())
    return [line for line in dict.fromkeys(lines) if line in names]
