"""The pseudocode of a paper beside the source of an engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from agentkit.core.display import Displayed
from agentkit.export.escaping import escape_html
from agentkit.export.html import fragment
from agentkit.inert import inert_lines

_COLUMN = (
    "flex:1 1 38em;min-width:0;margin:0;padding:.4em .6em;border:1px solid rgba(128,128,128,.5);"
    "font-family:var(--jp-code-font-family,monospace);white-space:pre-wrap"
)


class Beside(Displayed):
    """Pseudocode and source: two columns in a notebook, one below the other elsewhere or if there is no room."""

    def __init__(self, pseudocode: str, source: str) -> None:
        self.pseudocode = pseudocode
        self.source = source

    @inert_lines
    def __repr__(self) -> str:
        return f"{self.pseudocode}\n\n{self.source}"

    def _repr_html_(self) -> str:
        columns = (f'<pre style="{_COLUMN}">{escape_html(text)}</pre>' for text in (self.pseudocode, self.source))
        return fragment(f'<div style="display:flex;flex-wrap:wrap;gap:.6em">{"".join(columns)}</div>')


def beside(pseudocode: str, engine: Callable[..., Any]) -> Beside:
    """Return pseudocode beside the source of an engine."""
    return Beside(dedent(pseudocode).strip(), inspect.getsource(engine).strip())
