"""Read a trace, write a format: JSON, a notebook that runs again, Markdown, HTML, a table; and read the first two back.

Whatever a model or a tool wrote is text here and stays text: it is escaped in every format, and executed in none.
What each function needs is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.export.frame import to_frame
    from agentkit.export.html import to_html
    from agentkit.export.json import adopt, rows_of, to_json
    from agentkit.export.markdown import to_markdown
    from agentkit.export.notebook import to_notebook
    from agentkit.export.reading import data_of_notebook

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
