"""The lessons in `notebooks/`: how they are built, and that their exercises can be solved.

An exercise is a cell with the tag `exercise`, then a cell that begins with `with check("Exercise 1"):`, and a Markdown
cell with a hint and a solution. nbval executes each notebook as it is, so the stored outputs are those of a reader who
has solved nothing.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[2] / "notebooks"
SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>\s*```i?python\n(.*?)```.*?</details>", re.DOTALL)
HINT = re.compile(r"<details>\s*<summary>Hint</summary>\s*\S.*?</details>", re.DOTALL)
CHECK = re.compile(r'^with check\("(.+?)"\)', re.MULTILINE)
SCREEN = 40
"""Lines of a cell that a reader sees at once."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def exercises(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if "exercise" in cell.metadata.get("tags", ())]


def checks(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and CHECK.search(cell.source)]


def solutions(notebook: Any) -> list[str]:
    return [found for cell in notebook.cells if cell.cell_type == "markdown" for found in SOLUTION.findall(cell.source)]


def printed(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


LESSONS = [path for path in sorted(FOLDER.glob("*.ipynb")) if exercises(read(path))]
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@every_lesson
def test_each_exercise_has_a_check_a_hint_and_a_solution(path: Path) -> None:
    notebook = read(path)
    hints = sum(len(HINT.findall(cell.source)) for cell in notebook.cells if cell.cell_type == "markdown")
    assert len(exercises(notebook)) == len(checks(notebook)) == len(solutions(notebook)) == hints


@every_lesson
def test_the_checks_of_the_stored_notebook_say_not_yet(path: Path) -> None:
    for cell in checks(read(path)):
        assert [line.split(". ")[0] for line in printed(cell).splitlines()] == [
            f"{name}: not yet" for name in CHECK.findall(cell.source)
        ]


@every_lesson
@pytest.mark.slow
def test_the_solutions_solve_the_exercises(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    for cell, solution in zip(exercises(notebook), solutions(notebook), strict=True):
        cell.source = solution
    execute(notebook, tmp_path)
    for cell in checks(notebook):
        assert printed(cell) == "".join(f"{name}: solved.\n" for name in CHECK.findall(cell.source))


@every_lesson
def test_a_lesson_says_how_long_it_takes_predicts_and_says_what_to_read_next(path: Path) -> None:
    notebook = read(path)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.search(r"\d+ minutes", notebook.cells[0].source), "the first cell states the reading time"
    assert re.search(r"!\[[^\]]{20,}\]\((images/[\w.-]+|attachment:[\w.-]+)\)", text), "a picture with alternative text"
    assert "predict(" in "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "Open question" in text
    assert re.search(r"Next:|read next", notebook.cells[-1].source)


@every_lesson
def test_no_cell_is_longer_than_a_screen(path: Path) -> None:
    for cell in read(path).cells:
        assert len(SOLUTION.sub("", cell.source).splitlines()) <= SCREEN, cell.source


def test_pictures_that_lessons_show_exist() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        for cell in read(path).cells:
            for name in re.findall(r"\]\((images/[\w.-]+)\)", cell.source if cell.cell_type == "markdown" else ""):
                assert (FOLDER / name).is_file(), f"{path.name} shows {name}"


def test_the_pictures_are_those_that_their_script_draws() -> None:
    for name, picture in runpy.run_path(str(FOLDER / "images" / "draw.py"))["PICTURES"].items():
        assert (FOLDER / "images" / f"{name}.svg").read_text(encoding="utf-8") == picture, f"run draw.py: {name}"


def test_links_from_notebook_to_notebook_and_page_lead_somewhere() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        for cell in read(path).cells:
            for name in re.findall(
                r"\]\(([\w./-]+\.(?:ipynb|md))", cell.source if cell.cell_type == "markdown" else ""
            ):
                assert (FOLDER / name).is_file(), f"{path.name} links to {name}"


def execute(notebook: Any, scratch: Path) -> None:
    """Execute a notebook as CI does: nobody watches, no model of this machine is used, and the runs are thrown away."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "AGENTKIT_MODEL"},
        "AGENTKIT_HOME": str(scratch / "home"),
        "AGENTKIT_LOCAL": "none",
        "AGENTKIT_NONINTERACTIVE": "1",
    }
    config = Config(KernelManager={"transport": "ipc", "ip": str(scratch / "kernel")})
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}, config=config)
    client.execute(env=environment)
