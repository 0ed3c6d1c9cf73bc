"""Which types show themselves as HTML and Markdown in a notebook; what they look like is written in `agentkit.export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.core.messages import Message
from agentkit.core.usage import Usage
from agentkit.journal.entries import Entry
from agentkit.run.result import Branches, Result
from agentkit.run.run import Run
from agentkit.tools.tool import Tool

SHOWN: dict[str, type[Any]] = {
    "agent": Agent,
    "branches": Branches,
    "entry": Entry,
    "message": Message,
    "result": Result,
    "run": Run,
    "tool": Tool,
    "usage": Usage,
}
"""The types, by the name of the function that writes them in `export.html` and `export.markdown`."""


def _html(name: str) -> Callable[[Any], str]:
    def _repr_html_(self: Any) -> str:
        from agentkit.export import html

        return str(getattr(html, name)(self))

    return _repr_html_


def _markdown(name: str) -> Callable[[Any], str]:
    def _repr_markdown_(self: Any) -> str:
        from agentkit.export import markdown

        return str(getattr(markdown, name)(self))

    return _repr_markdown_


for name, shown in SHOWN.items():
    shown._repr_html_ = _html(name)
    shown._repr_markdown_ = _markdown(name)
