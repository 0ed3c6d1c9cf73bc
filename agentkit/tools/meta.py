"""Tools about tools: load more of them, revise an earlier call, read a long result, look up what there is before guessing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agentkit.errors import UsageError
from agentkit.tools.tool import Tool

PIECE = 4_000
"""Characters of a long result that are read at once."""

_MOST, _FILES = 6, 20_000
_WORD = re.compile(r"[^\W_]{2,}")
_HIDDEN = {"__pycache__", "node_modules", "venv", "site-packages"}


def load_tools(description: str = "Load more tools by name.") -> Tool:
    """Make the tool with which a model asks for tools that it was not offered; what it loads is offered from then on."""
    names = {"type": "array", "items": {"type": "string"}, "description": "the names, as they are listed"}
    parameters = {"type": "object", "properties": {"names": names}, "required": ["names"]}
    return Tool("load_tools", description, parameters, _loaded, effect="pure", timeout=None)


def _loaded(names: list[str]) -> str:
    return f"Loaded: {', '.join(names)}. Call them now." if names else "Nothing was loaded: give the names of tools."


def revise_call() -> Tool:
    """Make the tool with which a model runs one of its earlier calls again, with other arguments in their place."""
    properties = {
        "number": {"type": "integer", "description": "which of your calls: 1 is the first, -1 the last one"},
        "arguments": {"type": "object", "description": "all arguments of that tool, with the mistake mended"},
        "why": {"type": "string", "description": "what was wrong"},
    }
    parameters = {"type": "object", "properties": properties, "required": ["number", "arguments"]}
    about = "Revise an earlier tool call of yours that was wrong: it runs again, and the new result replaces the old."
    return Tool("revise_call", about, parameters, _revised, effect="pure", timeout=None)


def _revised(number: int, arguments: dict[str, Any], why: str = "") -> str:
    return "Nothing was revised here."


def read_result(find: Callable[[str], str]) -> Tool:
    """Make the tool with which a model reads on in a long result, of which it was shown the beginning.

    `find` gives the text that an address stands for; what it raises is told to the model.
    """

    def read(address: str, start: int = 0) -> str:
        text = find(address)
        end = start + PIECE
        if not 0 <= start < len(text):
            raise UsageError(f"start is 0 to {len(text) - 1:,}, not {start}")
        more = f"go on with start={end}" if end < len(text) else "this is the end"
        return f"{text[start:end]}\n[Characters {start:,} to {min(end, len(text)):,} of {len(text):,}; {more}.]"

    properties = {
        "address": {"type": "string", "description": "the address below the beginning of the result"},
        "start": {"type": "integer", "description": "the character to begin with", "default": 0},
    }
    parameters = {"type": "object", "properties": properties, "required": ["address"]}
    about = "Read on in a long result of a tool, of which you saw only the beginning."
    return Tool("read_result", about, parameters, read, effect="pure")


def discover(tools: Callable[[], Iterable[Any]], root: str | os.PathLike[str] | None = None) -> Tool:
    """Make the tool with which a model looks up tools, and with a `root` files below it, before it guesses names.

    Raises `UsageError` for a root that is no folder.
    """
    folder = None if root is None else Path(root).expanduser().resolve()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"discover looks for files below a folder, and {str(root)!r} is none")

    def look_up(intent: str) -> dict[str, Any]:
        found: dict[str, Any] = {"tools": [_guide(tool) for tool in _best(intent, tools(), _about)]}
        if folder is not None:
            found["paths"] = _best(intent, _paths(folder), str)
        if not any(found.values()):
            found["hint"] = "Nothing fits these words. Try others, or one word."
        return found

    files = " and which paths exist" if folder else ""
    about = f"Look up which tools fit an intent{files}. Use it before you call a tool or name a path that you have not seen."
    text = {"type": "string", "description": "what you want to do, in a few words, such as: read a file"}
    parameters = {"type": "object", "properties": {"intent": text}, "required": ["intent"]}
    return Tool("discover", about, parameters, look_up, effect="pure")


def _guide(tool: Any) -> dict[str, str]:
    from agentkit.tools.arguments import outline

    return {"name": tool.name, "about": " ".join(tool.description.split())[:200], "arguments": outline(tool.parameters)}


def _about(tool: Any) -> str:
    return f"{tool.name} {tool.name} {tool.description}"


def _paths(folder: Path) -> Iterator[str]:
    """Give the files below a folder, without hidden ones; of a huge folder the first part."""
    count = 0
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _HIDDEN)
        for name in sorted(files):
            count += 1
            if count > _FILES:
                return
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(base, name), folder)


def _best(intent: str, known: Iterable[Any], text: Callable[[Any], str]) -> list[Any]:
    """Give what shares most words with the intent, best first; a word that begins another one counts half."""
    wanted = {word.lower() for word in _WORD.findall(intent)}
    scored = [(_score(wanted, text(one)), one) for one in known]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0][:_MOST]


def _score(wanted: set[str], text: str) -> float:
    words = {word.lower() for word in _WORD.findall(text.replace("_", " "))}
    near = sum(
        any(word.startswith(want) or want.startswith(word) for word in words if len(word) > 2)
        for want in wanted - words
    )
    return len(wanted & words) + near / 2
