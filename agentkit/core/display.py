"""How values display themselves in a notebook.

The values are defined in this room and in later ones; their HTML and Markdown are written by the room `export`, and the
live view of a run by the room `notebook`. Both register themselves here, so that values need not import them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from agentkit.errors import UsageError


class Displayed:
    """A value that displays itself in a notebook: as plain text, unless a writer is registered for its type."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        write = HTML.get(type(self))
        return write(self) if write else None

    def _repr_markdown_(self) -> str | None:
        write = MARKDOWN.get(type(self))
        return write(self) if write else None


Write = Callable[[Any], str]

HTML: dict[type[Any], Write] = {}
MARKDOWN: dict[type[Any], Write] = {}
"""The functions that write a value, by its type."""


class LiveView(Protocol):
    """What a notebook can do with runs and experiments."""

    def show(self, run: Any) -> None:
        """Show a run as a live view. Raises `NotImplementedError` outside of a notebook."""

    def show_experiment(self, found: Any) -> None:
        """Show an experiment as a live table. Raises `NotImplementedError` outside of a notebook."""

    def widget(self, run: Any) -> Any:
        """Return the live view as a widget, for a layout of ipywidgets or for marimo."""

    def dock(self, run: Any) -> None:
        """Show a run in the running cell, and beside the notebook if there is room for it."""

    def freeze(self, run: Any) -> None:
        """Close the live view of a run, and leave its static form behind, which needs no kernel."""

    def side_by_side(self, runs: list[Any]) -> Any:
        """Return the live views of several runs beside each other."""


class _NoView:
    """The view that is used until the room `notebook` has been imported."""

    def show(self, run: Any) -> None:
        raise NotImplementedError

    def show_experiment(self, found: Any) -> None:
        raise NotImplementedError

    def widget(self, run: Any) -> Any:
        raise NotImplementedError

    def dock(self, run: Any) -> None:
        raise UsageError("there is no notebook here to show the run in; use run.entries, or export it")

    def freeze(self, run: Any) -> None:
        return None

    def side_by_side(self, runs: list[Any]) -> Any:
        raise NotImplementedError


live: LiveView = _NoView()


def set_live(view: LiveView) -> None:
    """Use this view for runs from now on."""
    global live
    live = view
