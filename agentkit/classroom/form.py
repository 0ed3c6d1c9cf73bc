# mypy: disable-error-code="no-untyped-call"
"""The form of a prediction in a notebook: a question, its choices or a text field, and a button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentkit.core.live_shell import live_shell
from agentkit.errors import UsageError
from agentkit.export.escaping import escape_html
from agentkit.export.html import fragment
from agentkit.inert import for_terminal


class Form:
    """A form in the output of a cell. `close` replaces it with one sentence, which the saved notebook keeps."""

    def __init__(self, question: str, choices: Sequence[str], commit: Callable[[str], None]) -> None:
        import ipywidgets
        from IPython.display import display

        self._question = question
        self._commit = commit
        heading = ipywidgets.HTML(_html("Predict", question))
        self._field = (
            ipywidgets.RadioButtons(options=list(choices), value=None, tooltip="Your guess", layout={"width": "auto"})
            if choices
            else ipywidgets.Text(
                placeholder="Your guess", tooltip="Your guess", layout={"width": "30em", "max_width": "100%"}
            )
        )
        button = ipywidgets.Button(description="Commit the guess", button_style="primary", layout={"width": "auto"})
        button.on_click(lambda _: self._click())
        self._problem = ipywidgets.HTML()
        self._box = ipywidgets.VBox([heading, self._field, ipywidgets.HBox([button, self._problem])])
        self._handle = display(self._box, display_id=True)

    def close(self, sentence: str) -> None:
        """Replace the form with a sentence."""
        data = {
            "text/plain": for_terminal(f"Predict: {self._question}\n{sentence}", lines=True),
            "text/html": fragment(_html("Predict", self._question), f"<p>{escape_html(sentence)}</p>"),
        }
        self._handle.update(data, raw=True)
        _close(self._box)

    def _click(self) -> None:
        try:
            self._commit(self._field.value or "")
        except UsageError as error:
            self._problem.value = f'<span role="status">{escape_html(str(error))}</span>'


def show(question: str, choices: Sequence[str], commit: Callable[[str], None]) -> Form | None:
    """Show the form of a prediction in the running cell; return None if nobody watches a notebook here."""
    return None if live_shell() is None else Form(question, choices, commit)


def _html(label: str, text: str) -> str:
    return f"<p><b>{label}:</b> {escape_html(text)}</p>"


def _close(widget: Any) -> None:
    """Close a widget and all that it consists of, so that nothing of it stays in the page."""
    for child in getattr(widget, "children", ()):
        _close(child)
    for model in (getattr(widget, "style", None), widget.layout, widget):
        if model is not None:
            model.close()
