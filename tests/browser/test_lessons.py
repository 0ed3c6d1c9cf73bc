"""A student goes through whole lessons in JupyterLab: predicts, runs each cell, and solves the exercises."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser.pages import Notebook
from browser.views import View
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

LESSONS = Path(__file__).parents[2] / "notebooks"
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
FACT = re.compile(r"^(\S.*)\n  Your guess: .*\n  In fact: +(.*)$", re.MULTILINE)
WRITE = "([i, text]) => jupyterapp.shell.currentWidget.content.model.cells.get(i).sharedModel.setSource(text)"


def facts(cells: list[Any]) -> dict[str, str]:
    """Return the answer to each prediction, from the stored outputs."""
    return dict(FACT.findall("".join(output.get("text", "") for cell in cells for output in cell.get("outputs", ()))))


def work_through(lab: Notebook, path: Path) -> list[Any]:
    """Go through a lesson as a student who guesses right and solves everything, and return its cells."""
    cells = nbformat.read(path, as_version=4).cells
    solutions, answers = iter(SOLUTION.findall("\n".join(cell.source for cell in cells))), facts(cells)
    lab.folder.mkdir(exist_ok=True)
    shutil.copytree(LESSONS / "images", lab.folder / "images")
    for module in ("cafe.py", "sorter.py"):  # what lessons import
        shutil.copy(LESSONS / module, lab.folder)
    lab.visit(Path(shutil.copy(path, lab.folder)))
    expect(lab.page.locator("img[src*='images/'], img[src*='files/']").first).to_be_visible()
    for i, cell in enumerate(cells):
        if cell.cell_type != "code":
            continue
        if "exercise" in cell.metadata.get("tags", ()):
            lab.page.evaluate(WRITE, [i, next(solutions)])
        lab.run(i)
        lab.done(i)
        if "predict(" in cell.source:
            form = lab.output(i)
            answer = next(fact for question, fact in answers.items() if question in form.inner_text())
            form.get_by_role("radio", name=answer, exact=True).check()
            form.get_by_role("button", name="Commit the guess").click()
            expect(form).to_contain_text(f"Your guess: {answer}")
        if ".reveal(" in cell.source:
            expect(lab.output(i)).to_contain_text("(right)")
        if "with check(" in cell.source:
            expect(lab.output(i)).to_contain_text("solved.")
    return cells


@pytest.mark.parametrize("name", ["00_quickstart", "08_plan_and_execute", "21_is_it_better_or_luck"])
def test_a_student_works_through_a_lesson(lab: Notebook, name: str, shot: Callable[[str], None]) -> None:
    work_through(lab, LESSONS / f"{name}.ipynb")
    shot("solved")


def test_a_student_sees_a_model_invent_an_observation(lab: Notebook, shot: Callable[[str], None]) -> None:
    cells = work_through(lab, LESSONS / "02_invented_observations.ipynb")
    last = next(i for i, cell in reversed([*enumerate(cells)]) if cell.cell_type == "code")
    lab.page.evaluate(WRITE, [last, "obedient"])
    lab.run(last)
    lab.done(last)
    view = View(lab, last, after=())
    view.act(1, "Let it talk on")
    expect(view.root.get_by_label("Let it talk on", exact=True)).to_contain_text("Observation:")
    shot("talked-on")
