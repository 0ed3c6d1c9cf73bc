"""Predictions: a reader commits to a guess before the fact is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentkit.classroom import form
from agentkit.classroom.lines import write_lines
from agentkit.classroom.scores import Score, record
from agentkit.core.secrets import mask
from agentkit.core.text import one_line, same_text
from agentkit.errors import Unknown, UsageError
from agentkit.inert import inert

_WIDTH = 500
_JUDGED = {True: "  (right)", False: "  (not this time)", None: ""}


class Prediction:
    """A question with the `guess` of the reader, or None if there is none yet, and the `actual` outcome once it is
    revealed.
    """

    def __init__(self, question: str, choices: tuple[str, ...]) -> None:
        self.question = question
        self.choices = choices
        self.guess: str | None = None
        self.actual: str | None = None
        self._form: form.Form | None = None

    @inert
    def __repr__(self) -> str:
        return f"<Prediction {one_line(self.question, 80)!r}, guess: {self.guess!r}>"

    def ask(self) -> None:
        """Show the question: as a form in a notebook that somebody watches, as lines elsewhere."""
        self._form = form.show(self.question, self.choices, self.commit)
        if self._form is None:
            choices = " | ".join(one_line(choice, _WIDTH) for choice in self.choices)
            write_lines(f"Predict: {one_line(self.question, _WIDTH)}", *([f"Choose:  {choices}"] if choices else []))

    def commit(self, guess: Any) -> None:
        """Commit to a guess, which can't be changed afterwards.

        Raises `Unknown` if it is none of the choices, and `UsageError` if it is empty or the answer is already known.
        """
        text = " ".join(str(guess).split())
        if self.actual is not None:
            raise UsageError(
                "the answer has already been revealed: run the cell with predict(...) again for a new guess"
            )
        if self.guess is not None:
            raise UsageError(f"you have already committed to {one_line(self.guess)!r}; the next step is to reveal it")
        if not text:
            raise UsageError("a guess can't be empty: write what you expect")
        if self.choices and not any(same_text(text, choice) for choice in self.choices):
            raise Unknown("choice", text, self.choices)
        self.guess = text
        if self._form is not None:
            self._form.close(f"Your guess: {one_line(text, _WIDTH)}")

    def reveal(self, actual: Any, *, right: bool | None = None) -> None:
        """Show the guess and what really happened beside each other, and note both in the score table.

        A guess is right if it is the same text or number as `actual`. A free guess that differs is not called wrong,
        unless `right` says so: compare for yourself.
        """
        self.actual = " ".join(str(actual).split())
        if self._form is not None and self.guess is None:
            self._form.close("You made no guess. To make one, run this cell again.")
        if self.guess is None:
            right = None
        elif right is None:
            right = same_text(self.guess, self.actual) or (False if self.choices else None)
        guess = "You made no guess." if self.guess is None else f"{_shown(self.guess)}{_JUDGED[right]}"
        write_lines(one_line(self.question, _WIDTH), f"  Your guess: {guess}", f"  In fact:    {_shown(self.actual)}")
        record(Score(self.question, self.guess, self.actual, right))


def predict(question: str, choices: Iterable[Any] = ()) -> Prediction:
    """Ask the reader to predict something before it is shown, and return the prediction.

    Without `choices`, any text or number is a guess. A notebook shows a form; `prediction.commit(guess)` does the same
    by code. `prediction.reveal(actual)` in a later cell shows both.
    """
    if isinstance(choices, str):
        raise UsageError(f"choices must be several texts, such as ({choices!r}, ...), not one text")
    prediction = Prediction(question, tuple(str(choice) for choice in choices))
    prediction.ask()
    return prediction


def _shown(text: str) -> str:
    return one_line(text, _WIDTH, mask)
