"""Read a trace, write a format: JSON, a notebook that runs again, Markdown, HTML, a table; and read the first two back.

Whatever a model or a tool wrote is text here and stays text: it is escaped in every format, and executed in none.
What each function needs is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from agentkit.core import display
from agentkit.core.messages import Message
from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

__all__ = ["adopt", "data_of_notebook", "rows_of", "to_frame", "to_html", "to_json", "to_markdown", "to_notebook"]

_HOME = {
    "adopt": "json",
    "data_of_notebook": "reading",
    "rows_of": "json",
    "to_frame": "frame",
    "to_html": "html",
    "to_json": "json",
    "to_markdown": "markdown",
    "to_notebook": "notebook",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def _writer(module: str, function: str) -> Callable[[Any], str]:
    """Return what writes a value, loaded when it is first called."""

    def write(value: Any) -> str:
        written: str = getattr(importlib.import_module(f"{__name__}.{module}"), function)(value)
        return written

    return write


for shown, function in ((Message, "message"), (Usage, "usage"), (Tool, "tool"), (Entry, "entry")):
    display.HTML[shown] = _writer("html", function)
    display.MARKDOWN[shown] = _writer("markdown", function)
