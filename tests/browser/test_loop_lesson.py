"""A student goes through the lesson about plans in JupyterLab: predicts, runs each cell, and solves the exercises."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from browser.pages import Notebook
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

LESSON = Path(__file__).parents[2] / "notebooks" / "08_plan_and_execute.ipynb"
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
WRITE = "([i, text]) => jupyterapp.shell.currentWidget.content.model.cells.get(i).sharedModel.setSource(text)"


def test_a_student_works_through_a_lesson_about_a_loop(lab: Notebook, shot: Callable[[str], None]) -> None:
    cells = nbformat.read(LESSON, as_version=4).cells
    solutions = iter(SOLUTION.findall("\n".join(cell.source for cell in cells)))
    lab.folder.mkdir(exist_ok=True)
    shutil.copytree(LESSON.parent / "images", lab.folder / "images")
    lab.visit(Path(shutil.copy(LESSON, lab.folder)))
    assert lab.page.locator("img[alt^='One call makes a plan']").evaluate("image => image.naturalWidth") > 0
    for i, cell in enumerate(cells):
        if cell.cell_type != "code":
            continue
        if "exercise" in cell.metadata.get("tags", ()):
            lab.page.evaluate(WRITE, [i, next(solutions)])
        lab.run(i)
        lab.done(i)
        if 'predict("' in cell.source:
            form = lab.output(i)
            form.get_by_role("radio", name="10", exact=False).last.check()
            form.get_by_role("button", name="Commit the guess").click()
            expect(form).to_contain_text("Your guess: 10")
        if "guess.reveal" in cell.source:
            expect(lab.output(i)).to_contain_text("(right)")
        if "with check(" in cell.source:
            expect(lab.output(i)).to_contain_text("solved.")
    shot("solved")
