"""Predictions: a guess is committed before the fact is shown, and the score table notes both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentkit.classroom import predict, scores
from agentkit.classroom import scores as table
from agentkit.classroom.scores import _of_this_kernel
from agentkit.errors import Unknown, UsageError


@pytest.fixture(autouse=True)
def no_scores() -> Iterator[None]:
    _of_this_kernel.clear()
    yield
    _of_this_kernel.clear()


def test_a_question_is_a_line_where_there_is_no_form(capsys: pytest.CaptureFixture[str]) -> None:
    predict("How many model calls?", choices=(1, 2, 3))
    assert capsys.readouterr().out == "Predict: How many model calls?\nChoose:  1 | 2 | 3\n"


def test_a_guess_and_the_fact_are_shown_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    prediction = predict("How many model calls?", choices=(1, 2, 3))
    prediction.commit(2)
    prediction.reveal(3)
    assert capsys.readouterr().out.endswith(
        "How many model calls?\n  Your guess: 2  (not this time)\n  In fact:    3\n"
    )


def test_without_a_guess_the_fact_is_shown_nevertheless(capsys: pytest.CaptureFixture[str]) -> None:
    predict("How many model calls?").reveal(3)
    assert "  Your guess: You made no guess.\n  In fact:    3\n" in capsys.readouterr().out
    (row,) = scores()
    assert row.guess is None and row.right is None


@pytest.mark.parametrize(("guess", "actual"), [("6.80", 6.8), ("Soup ", "soup"), ("think,  act", "think, act")])
def test_the_same_text_or_number_is_right(guess: str, actual: object) -> None:
    prediction = predict("What?")
    prediction.commit(guess)
    prediction.reveal(actual)
    assert [row.right for row in scores()] == [True]


def test_a_free_guess_that_differs_is_not_called_wrong_unless_the_lesson_says_so() -> None:
    for right in (None, False, True):
        prediction = predict(f"What? {right}")
        prediction.commit("about six")
        prediction.reveal(6.8, right=right)
    assert [row.right for row in table()] == [None, False, True]


def test_a_guess_must_be_one_of_the_choices_and_says_the_nearest() -> None:
    prediction = predict("Which engine?", choices=("react", "dag"))
    with pytest.raises(Unknown, match="did you mean 'react'"):
        prediction.commit("raect")
    assert prediction.guess is None


def test_a_guess_is_neither_empty_nor_changed_nor_late() -> None:
    prediction = predict("What?")
    with pytest.raises(UsageError, match="can't be empty"):
        prediction.commit("  ")
    prediction.commit("a")
    with pytest.raises(UsageError, match="already committed to 'a'"):
        prediction.commit("b")
    late = predict("And now?")
    late.reveal("a")
    with pytest.raises(UsageError, match="already been revealed"):
        late.commit("a")


def test_choices_as_one_text_are_refused() -> None:
    with pytest.raises(UsageError, match="not one text"):
        predict("What?", choices="yes")


def test_hostile_text_is_inert(capsys: pytest.CaptureFixture[str]) -> None:
    prediction = predict("What\x1b[2J?\nPredict: forged")
    prediction.commit("a\u202eb")
    prediction.reveal("\x1b[2J")
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\u202e" not in out and out.count("\n") == 4
    assert "\u202e" not in repr(prediction)
