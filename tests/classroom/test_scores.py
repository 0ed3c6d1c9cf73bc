"""The score table, of one reader and of a class."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.classroom import Score, Scores, read_scores
from agentkit.classroom.scores import _of_this_kernel, record, scores
from agentkit.errors import UsageError

ADA = [Score("Calls?", "3", "3", True), Score("Text?", "six", "6.8", None), Score("Why?", None, "stop", None)]
BOB = [Score("Calls?", "2", "3", False), Score("Text?", "6.8", "6.8", True)]


def test_the_first_guess_counts_and_no_guess_does_not() -> None:
    _of_this_kernel.clear()
    for guess, right in ((None, None), ("2", False), ("3", True)):
        record(Score("Calls?", guess, "3", right))
    assert scores().rows == (Score("Calls?", "2", "3", False),)
    _of_this_kernel.clear()


def test_a_reader_sees_their_guesses_in_a_table() -> None:
    assert repr(Scores(ADA)) == (
        "Question  Your guess  In fact  Right\n"
        "Calls?    3           3        yes\n"
        "Text?     six         6.8\n"
        "Why?      none        stop\n"
        "1 of 1 right, 1 to judge for yourself"
    )
    assert "<table" in Scores(ADA)._repr_html_() and "| Calls? | 3 | 3 | yes |" in Scores(ADA)._repr_markdown_()


def test_a_class_hands_in_files_and_the_teacher_sees_what_was_guessed(tmp_path: Path) -> None:
    Scores(ADA).to_csv(tmp_path / "ada.csv")
    Scores(BOB).to_csv(tmp_path / "bob.csv")
    sheet = read_scores(tmp_path)
    assert sheet.students == ["ada", "bob"] and len(sheet) == 5
    assert repr(sheet) == (
        "Question  Right   Guesses           In fact\n"
        "Calls?    1 of 2  3 (1), 2 (1)      3\n"
        "Text?     1 of 1  six (1), 6.8 (1)  6.8\n"
        "Why?      0 of 0                    stop\n"
        "2 students: 2 of 3 right, 1 to judge for yourself"
    )


def test_one_sheet_of_a_class_is_read_back_with_its_students(tmp_path: Path) -> None:
    Scores(ADA).to_csv(tmp_path / "ada.csv")
    Scores(BOB).to_csv(tmp_path / "bob.csv")
    sheet = read_scores(tmp_path)
    (tmp_path / "class").mkdir()
    sheet.to_csv(tmp_path / "class" / "all.csv")
    assert read_scores(tmp_path / "class").rows == sheet.rows


def test_a_file_is_not_overwritten_silently(tmp_path: Path) -> None:
    Scores(ADA).to_csv(tmp_path / "ada.csv")
    with pytest.raises(UsageError, match="already exists"):
        Scores(BOB).to_csv(tmp_path / "ada.csv")
    Scores(BOB).to_csv(tmp_path / "ada.csv", overwrite=True)
    assert len(read_scores(tmp_path)) == 2


@pytest.mark.parametrize("guess", ["=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(A1)", "-3", "'quoted", 'a "b", c'])
def test_no_guess_is_a_formula_in_a_spreadsheet_and_each_is_read_back(tmp_path: Path, guess: str) -> None:
    sheet = Scores([Score("What?", guess, "3", False, "ada")])
    text = sheet.to_csv(tmp_path / "ada.csv")
    cell = text.splitlines()[1].split(",")[2].strip('"')
    assert cell == "-3" or not cell.startswith(("=", "+", "-", "@"))
    assert read_scores(tmp_path).rows == sheet.rows


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"a,b\n1,2\n", b"student,question,guess,actual,right\na,b,c,d,maybe\n", b'"', b"student\nx"],
)
def test_a_file_that_is_no_score_table_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.csv").write_bytes(content)
    with pytest.raises(UsageError, match=r"odd\.csv.* is not a score table"):
        read_scores(tmp_path)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no score tables"):
        read_scores(tmp_path / "missing")


def test_text_of_others_is_inert(tmp_path: Path) -> None:
    sheet = Scores([Score("<b>\x1b[2J", "<script>", "<i>", False)])
    assert (
        "\x1b" not in repr(sheet)
        and "<script>" not in sheet._repr_html_()
        and "<script>" not in sheet._repr_markdown_()
    )
