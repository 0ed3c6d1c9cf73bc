"""In predict mode, a guess is committed before a step, and then counted in the score table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from view.conftest import Viewed, calling, paused

from agentkit import tool
from agentkit.classroom import Scores, scores
from agentkit.view import guesses

View = Callable[..., Viewed]


@pytest.fixture(autouse=True)
def no_guesses() -> Iterator[None]:
    guesses.made.clear()
    yield
    guesses.made.clear()


@tool(effect="pure")
def price(item: str) -> str:
    """Look up the price of an item."""
    return "4"


def played(view: View) -> Viewed:
    viewed = view(paused(calling("price", item="tea"), "done", tools=[price]))
    viewed.settle("play")
    return viewed


def judged(viewed: Viewed, number: int, guess: str) -> tuple[str, bool | None]:
    answer = viewed.execute("judge", entry=viewed.screen.cards[number]["id"], guess=guess)
    return answer["actual"], answer["right"]


def test_a_guess_of_the_next_action_is_right_if_the_tool_is_called(view: View) -> None:
    viewed = played(view)
    assert judged(viewed, 1, "price") == ("price", True)
    assert judged(viewed, 1, guesses.ANSWER) == ("price", False)
    assert judged(viewed, 3, guesses.ANSWER) == (guesses.ANSWER, True)


def test_a_guessed_observation_is_right_if_it_is_the_same_number_and_else_the_reader_judges(view: View) -> None:
    viewed = played(view)
    assert judged(viewed, 2, "4.0") == ("4", True)
    assert judged(viewed, 2, "about four") == ("4", None)


def test_guesses_of_a_view_are_counted_in_the_score_table_and_the_first_one_counts(view: View) -> None:
    viewed = played(view)
    judged(viewed, 1, "price")
    judged(viewed, 1, guesses.ANSWER)
    judged(viewed, 3, "price")
    counted = Scores(row for row in scores() if "Step" in row.question)
    assert [(row.guess, row.actual, row.right) for row in counted] == [
        ("price", "price", True),
        ("price", guesses.ANSWER, False),
    ]
    assert "1 of 2 right" in repr(counted)


def test_a_guess_at_nothing_is_refused(view: View) -> None:
    viewed = played(view)
    with pytest.raises(LookupError, match="empty"):
        judged(viewed, 1, " ")
    with pytest.raises(LookupError, match="only a thought or an observation"):
        judged(viewed, 0, "x")
    assert not guesses.made
