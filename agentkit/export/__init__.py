"""The export formats: JSON, a notebook that can be executed, Markdown, HTML, a Python script, a data frame; the first
two can be read back.

Whatever a model or a tool wrote stays text: it is escaped in every format, and executed in none. Each function is
loaded when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from agentkit.core import display
from agentkit.core.messages import Message
from agentkit.core.usage import Usage
from agentkit.gates.guards import Guards
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

__all__ = [
    "adopt",
    "data_of",
    "data_of_notebook",
    "rows_of",
    "to_exercise",
    "to_frame",
    "to_html",
    "to_json",
    "to_markdown",
    "to_notebook",
    "to_python",
]

_MODULES = {
    "adopt": "json",
    "data_of": "reading",
    "data_of_notebook": "reading",
    "rows_of": "json",
    "to_exercise": "exercise",
    "to_frame": "frame",
    "to_html": "html",
    "to_json": "json",
    "to_markdown": "markdown",
    "to_notebook": "notebook",
    "to_python": "python",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def _lazy(module: str, function: str) -> Callable[[Any], str]:
    """Return a function of a module that is loaded at the first call."""

    def write(value: Any) -> str:
        text: str = getattr(importlib.import_module(f"{__name__}.{module}"), function)(value)
        return text

    return write


_SHOWN = ((Message, "message"), (Usage, "usage"), (Tool, "tool"), (Entry, "entry"), (Guards, "guards"))

for _type, _function in _SHOWN:
    display.HTML[_type] = _lazy("html", _function)
    display.MARKDOWN[_type] = _lazy("markdown", _function)
