"""Tools about tools: load more of them, revise an earlier call, read on in a long result, look up what exists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agentkit.errors import UsageError
from agentkit.tools.json_schema import describe_parameters
from agentkit.tools.tool import Tool

PAGE_LENGTH = 4_000
"""How many characters of a long result are read at once."""

_MAX_HITS, _MAX_FILES, _MAX_DESCRIPTION = 6, 20_000, 200
_WORD = re.compile(r"[^\W_]{2,}")
_IGNORED_FOLDERS = {"__pycache__", "node_modules", "venv", "site-packages"}


def load_tools(description: str = "Load more tools by name.") -> Tool:
    """Return the tool with which a model asks for tools that it was not offered; what it loads is
    offered from then on.
    """
    names = {"type": "array", "items": {"type": "string"}, "description": "the names, as they are listed"}
    parameters = {"type": "object", "properties": {"names": names}, "required": ["names"]}
    return Tool("load_tools", description, parameters, _load, effect="pure", timeout=None)


def _load(names: list[str]) -> str:
    return f"Loaded: {', '.join(names)}. Call them now." if names else "Nothing was loaded: pass the names of tools."


def revise_call() -> Tool:
    """Return the tool with which a model runs one of its earlier calls again, with other arguments."""
    properties = {
        "number": {"type": "integer", "description": "which of your calls: 1 is the first, -1 the last one"},
        "arguments": {"type": "object", "description": "all arguments of that tool, with the mistake corrected"},
        "why": {"type": "string", "description": "what was wrong"},
    }
    parameters = {"type": "object", "properties": properties, "required": ["number", "arguments"]}
    description = (
        "Revise an earlier tool call of yours that was wrong: it runs again, and the new result replaces the old."
    )
    return Tool("revise_call", description, parameters, _revise, effect="pure", timeout=None)


def _revise(number: int, arguments: dict[str, Any], why: str = "") -> str:
    return "Nothing was revised here."


def read_result(find: Callable[[str], str]) -> Tool:
    """Return the tool with which a model reads on in a long result, of which it has seen the beginning.

    `find` returns the text at an address; if it raises, the model reads the error.
    """

    def read(address: str, start: int = 0) -> str:
        text = find(address)
        end = start + PAGE_LENGTH
        if not 0 <= start < len(text):
            raise UsageError(f"start must be from 0 to {len(text) - 1:,}, not {start}")
        more = f"go on with start={end}" if end < len(text) else "this is the end"
        return f"{text[start:end]}\n[Characters {start:,} to {min(end, len(text)):,} of {len(text):,}; {more}.]"

    properties = {
        "address": {"type": "string", "description": "the address below the beginning of the result"},
        "start": {"type": "integer", "description": "the character to start from", "default": 0},
    }
    parameters = {"type": "object", "properties": properties, "required": ["address"]}
    description = "Read on in a long result of a tool, of which you saw only the beginning."
    return Tool("read_result", description, parameters, read, effect="pure")


def discover(tools: Callable[[], Iterable[Any]], root: str | os.PathLike[str] | None = None) -> Tool:
    """Return the tool with which a model looks up tools, and files below `root`, before it guesses names.

    Raises `UsageError` if `root` is not a folder.
    """
    folder = None if root is None else Path(root).expanduser().resolve()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"discover looks for files below a folder, and {str(root)!r} is not a folder")

    def look_up(intent: str) -> dict[str, Any]:
        hits: dict[str, Any] = {"tools": [_summary(tool) for tool in _best(intent, tools(), _searched_text)]}
        if folder is not None:
            hits["paths"] = _best(intent, _paths(folder), str)
        if not any(hits.values()):
            hits["hint"] = "Nothing fits these words. Try others, or one word."
        return hits

    files = " and which paths exist" if folder else ""
    description = (
        f"Look up which tools fit an intent{files}. "
        "Use it before you call a tool or name a path that you have not seen."
    )
    intent = {"type": "string", "description": "what you want to do, in a few words, such as: read a file"}
    parameters = {"type": "object", "properties": {"intent": intent}, "required": ["intent"]}
    return Tool("discover", description, parameters, look_up, effect="pure")


def _summary(tool: Any) -> dict[str, str]:
    return {
        "name": tool.name,
        "about": " ".join(tool.description.split())[:_MAX_DESCRIPTION],
        "arguments": describe_parameters(tool.parameters),
    }


def _searched_text(tool: Any) -> str:
    return f"{tool.name} {tool.name} {tool.description}"


def _paths(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, without hidden ones; of a huge folder only the first."""
    count = 0
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED_FOLDERS)
        for name in sorted(files):
            count += 1
            if count > _MAX_FILES:
                return
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(base, name), folder)


def _best(intent: str, candidates: Iterable[Any], text: Callable[[Any], str]) -> list[Any]:
    """Return the candidates that share the most words with the intent, best first."""
    wanted = {word.lower() for word in _WORD.findall(intent)}
    scored = [(_score(wanted, text(candidate)), candidate) for candidate in candidates]
    best = sorted(scored, key=lambda pair: -pair[0])
    return [candidate for score, candidate in best if score > 0][:_MAX_HITS]


def _score(wanted: set[str], text: str) -> float:
    """Return how many of the words are in the text; a word that begins another one counts half."""
    words = {word.lower() for word in _WORD.findall(text.replace("_", " "))}
    similar = sum(
        any(word.startswith(want) or want.startswith(word) for word in words if len(word) > 2)
        for want in wanted - words
    )
    return len(wanted & words) + similar / 2
