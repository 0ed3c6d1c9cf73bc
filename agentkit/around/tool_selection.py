"""Offer a model with many tools the few that its task needs; it can load more of them by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable
from typing import Any

from agentkit.around.base import Around, around, aside, calls_of, perform, result_of, whole, words
from agentkit.around.request_view import turn
from agentkit.core.messages import Call, Chat, Message, Reply, system, user
from agentkit.core.steps import Act, All, Step, Think, replace

PICK = """\
Choose the tools that the task below needs, {most} at the most. Reply with one JSON object and nothing else:
{{"tools": ["name", "another name"]}}"""

MORE = "Load tools that are not offered yet, by name; they can be called from your next message on. There are also:\n"
LOADER, DISCOVER = "load_tools", "discover"
LINE = 80
"""Characters of a tool's line in the catalogue."""
_TASK = 4_000
_LISTED = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+")


def select_tools(
    loader: Callable[[str], Any], *, over: int = 12, most: int = 6, pins: Iterable[str] = (), ask: bool = True
) -> Around:
    """Of more than `over` tools offer `most`, chosen by a model call with the role "select_tools", beside the `pins`.

    `loader(description)` makes the tool with which the model loads more. When the choice cannot be read, all tools are
    offered. Without `ask` only the pins are, until the model loads what it wants. Raises `ValueError` for a number
    below 1.
    """
    whole("over", over)
    whole("most", most)
    fixed = frozenset(pins) | {DISCOVER}

    @around(Think, Act)
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
    """Let a model choose; all tools when its choice cannot be read."""
    task = "\n\n".join(message.text for message in turn(step.chat))
    said = f"{task[:_TASK]}\n\nThe tools:\n{catalogue(known.values())}"
    reply: Reply = yield aside(
        Chat.of([system(PICK.format(most=most)), user(said)]), "select_tools", total_tools=len(known), most=most
    )
    return named(words(reply), known)[:most] or list(known)


def _offer(
    tools: tuple[Any, ...], memory: dict[str, Any], fixed: frozenset[str], loader: Callable[[str], Any]
) -> tuple[Any, ...]:
    """Give the tools to offer; the same tuple as long as they are the same."""
    names = frozenset(memory["chosen"]) | fixed
    kept = memory.get("offer")
    if kept is None or kept[0] != names:
        rest = [tool for tool in tools if tool.name not in names]
        offered = tuple(tool for tool in tools if tool.name in names)
        kept = memory["offer"] = names, (*offered, loader(MORE + catalogue(rest))) if rest else tools
    return tuple(kept[1])


def _load(step: Act | All, memory: dict[str, Any]) -> Generator[Step, Any, Any]:
    """Perform calls, and offer from now on what was loaded, called unasked, or found."""
    known = memory.get("known", {})
    calls = tuple(_checked(call, known) if call.name == LOADER else call for call in calls_of(step))
    messages = yield from perform(step, calls)
    if known:
        found = [name for call in calls for name in (_wanted(call) if call.name == LOADER else [call.name])]
        found += [name for message in messages if message.name == DISCOVER for name in _discovered(message)]
        new = [name for name in found if name in known and name not in memory["chosen"]]
        memory["chosen"] = [*memory["chosen"], *dict.fromkeys(new)]
    return result_of(step, messages)


def _checked(call: Call, known: dict[str, Any]) -> Call:
    """Refuse to load tools that are not there, and say which are."""
    wanted = _wanted(call)
    missing = [name for name in wanted if name not in known]
    if missing and not call.problem:
        return replace(call, problem=f"there is no tool {', '.join(map(repr, missing))}; there are: {', '.join(known)}")
    return call


def _wanted(call: Call) -> list[str]:
    names = call.arguments.get("names", [])
    return [names] if isinstance(names, str) else [str(name) for name in names] if isinstance(names, list) else []


def _discovered(message: Message) -> list[str]:
    found = message.value.get("tools", []) if isinstance(message.value, dict) else []
    return [tool["name"] for tool in found if isinstance(tool, dict) and "name" in tool]


def catalogue(tools: Iterable[Any]) -> str:
    """List tools, a line of 80 characters for each: its name and how its description begins."""
    return "\n".join(f"{tool.name}: {' '.join(str(tool.description).split())}"[:LINE].rstrip(": ") for tool in tools)


def named(text: str, known: Iterable[str]) -> list[str]:
    """Read names of tools out of a reply: of its first JSON object or list, else of lines that hold nothing but a name."""
    names = dict.fromkeys(known)
    for start in re.finditer(r"[{\[]", text[:20_000]):
        try:
            data = json.JSONDecoder().raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue
        data = data.get("tools") if isinstance(data, dict) else data
        if isinstance(data, list):
            return [name for name in dict.fromkeys(one for one in data if isinstance(one, str)) if name in names]
    lines = (_LISTED.sub("", line).strip(" \t`'\".,*") for line in text.splitlines())
    return [line for line in dict.fromkeys(lines) if line in names]
