"""The check of an exercise: one line, and never a traceback."""

from __future__ import annotations

import asyncio
import linecache

import pytest

from agentkit.classroom import check


def line(printed: pytest.CaptureFixture[str]) -> str:
    out = printed.readouterr().out
    assert out.count("\n") == 1
    return out.strip()


def test_a_solved_exercise_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with check("Exercise 1") as done:
        assert 1 + 1 == 2, "add"
    assert line(capsys) == "Exercise 1: solved." and done.solved


def cell(source: str) -> None:
    """Run a source as IPython runs a cell: its lines are known by a name."""
    linecache.cache["<cell>"] = len(source), None, source.splitlines(keepends=True), "<cell>"
    exec(compile(source, "<cell>", "exec"), {"check": check})  # noqa: S102


def test_an_unsolved_exercise_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    cell('with check("Exercise 1"):\n    assert 1 + 1 == 3, "count the first call, too"')
    assert line(capsys) == "Exercise 1: not yet. Count the first call, too"


def test_an_assert_without_a_message_shows_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    cell('with check("Exercise 1"):\n    assert 1 + 1 == 3')
    assert line(capsys) == "Exercise 1: not yet. This is not true yet: assert 1 + 1 == 3"


def test_a_missing_name_says_which_cell_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    with check("Exercise 2"):
        assert my_loop  # type: ignore[name-defined]  # noqa: F821
    assert line(capsys) == (
        "Exercise 2: not yet. There is no `my_loop` yet: run the cell that makes it, then this cell again."
    )


@pytest.mark.parametrize(
    "raised", [ValueError("no\nsuch\x1b[2J item"), SystemExit(1), asyncio.CancelledError(), RecursionError("too deep")]
)
def test_whatever_is_raised_becomes_one_inert_line(capsys: pytest.CaptureFixture[str], raised: BaseException) -> None:
    with check("Exercise 3"):
        raise raised
    shown = line(capsys)
    assert shown.startswith(f"Exercise 3: not yet. {type(raised).__name__}") and "\x1b" not in shown


def test_an_interrupted_check_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with check("Exercise 3"):
        raise KeyboardInterrupt
    assert line(capsys) == "Exercise 3: not yet. The check was interrupted before its end."


def test_an_error_whose_text_fails_is_still_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ValueError

    with check("Exercise 4"):
        raise Broken
    assert line(capsys).startswith("Exercise 4: not yet. Broken: ")
