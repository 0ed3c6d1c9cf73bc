"""A student predicts, commits, reveals and solves an exercise, in JupyterLab and in Notebook 7."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from browser.pages import Notebook, eventually
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

LESSONS = Path(__file__).parents[2] / "notebooks"
LIVE = "application/vnd.jupyter.widget-view+json"
CELLS = (
    "from agentkit.classroom import check, predict, scores\n"
    "calls = predict('How many <b>calls</b>?', choices=(1, 2, 3))",
    "answer = predict('What does the model say?')",
    "calls.reveal(2)\nanswer.reveal('13.5')",
    "with check('Exercise 1'):\n    assert solved, 'solve it'",
    "scores()",
)


def test_a_student_predicts_with_a_form_and_the_saved_notebook_keeps_the_guess(
    any_notebook: Notebook, shot: Callable[[str], None]
) -> None:
    any_notebook.open(*CELLS)
    for cell in (0, 1):
        any_notebook.run(cell)
        any_notebook.done(cell)
    form = any_notebook.output(0)
    expect(form).to_contain_text("How many <b>calls</b>?")
    shot("form")
    form.get_by_role("button", name="Commit the guess").click()
    expect(form).to_contain_text("a guess can't be empty")
    form.get_by_role("radio").nth(1).check()
    form.get_by_role("button", name="Commit the guess").click()
    expect(form).to_contain_text("Your guess: 2")
    expect(form.get_by_role("button")).to_have_count(0)
    text = any_notebook.output(1)
    text.get_by_role("textbox").fill("The answer is 13.5.")
    text.get_by_role("button", name="Commit the guess").click()
    expect(text).to_contain_text("Your guess: The answer is 13.5.")
    for cell in (2, 3, 4):
        any_notebook.run(cell)
        any_notebook.done(cell)
    expect(any_notebook.output(2)).to_contain_text("Your guess: 2 (right)")
    expect(any_notebook.output(3)).to_contain_text("Exercise 1: not yet. There is no `solved` yet: run the cell that")
    expect(any_notebook.output(4)).to_contain_text("1 of 1 right, 1 to judge for yourself")
    shot("revealed")
    saved = any_notebook.save()
    data = [output.get("data", {}) for cell in saved.cells for output in cell.get("outputs", ())]
    assert not [bundle for bundle in data if LIVE in bundle]
    assert any("Your guess: 2" in bundle.get("text/html", "") for bundle in data)


def test_a_student_finds_the_bug(lab: Notebook, shot: Callable[[str], None]) -> None:
    lab.folder.mkdir(exist_ok=True)
    shutil.copytree(LESSONS / "images", lab.folder / "images")
    shutil.copy(LESSONS / "cafe.py", lab.folder)
    lab.visit(Path(shutil.copy(LESSONS / "04_find_the_bug.ipynb", lab.folder)))
    lab.page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
    eventually(lambda: lab.page.evaluate(ALL_DONE), "all cells have run")
    lab.do("import json; entry, suspect, right_name, wrong_name = 5, 'loop', 'observation', 'note'")
    sources = lab.sources()
    first, second = (next(i for i, s in enumerate(sources) if s.startswith(f'with check("{n}")')) for n in NAMES)
    shot("run")
    for cell in (first, second):
        expect(lab.output(cell)).to_contain_text("not yet.")
        lab.run(cell)
        lab.done(cell)
        expect(lab.output(cell)).to_contain_text("solved.")
    assert lab.page.locator("img[alt^='Four suspects']").evaluate("image => image.naturalWidth") > 0


NAMES = ("Exercise 1", "Exercise 2")
ALL_DONE = """() => jupyterapp.shell.currentWidget.content.widgets.every(({ model }) =>
  model.type !== 'code' || (model.executionCount !== null && model.executionState !== 'running'))"""
