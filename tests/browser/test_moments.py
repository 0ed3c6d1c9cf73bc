"""Each cell keeps the run as it was at its moment, in the file too; the live view is at the newest one and leaves no trace."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from browser.pages import LONG_ENOUGH, Notebook, eventually
from browser.views import SHOP, View
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

LIVE = "application/vnd.jupyter.widget-view+json"
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
EXECUTE = """async (ids) => {
  for (const id of ids) await jupyterapp.commands.execute(id);
}"""
COMMS = "len(__import__('comm').get_comm_manager().comms)"


def execute(notebook: Notebook, *commands: str) -> None:
    """Execute commands of JupyterLab."""
    notebook.page.evaluate(EXECUTE, list(commands))


def select(notebook: Notebook, cell: int) -> None:
    notebook.page.evaluate("(i) => { jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", cell)


def run_all(notebook: Notebook) -> None:
    """Run all cells, and wait for the last one."""
    notebook.page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
    eventually(lambda: notebook.page.evaluate(ALL_DONE), "all cells have run", 10 * LONG_ENOUGH)


ALL_DONE = """() => jupyterapp.shell.currentWidget.content.widgets.every(({ model }) =>
  model.type !== 'code' || (model.executionCount !== null && model.executionState !== 'running'))"""


def shown(file: nbformat.NotebookNode) -> dict[int, list[str]]:
    """Return the first lines of the runs that a file shows, by the number of their cell; none of them may be live."""
    found: dict[int, list[str]] = {}
    for number, cell in enumerate(file.cells):
        for output in cell.get("outputs", ()):
            assert LIVE not in output.get("data", {}), f"cell {number} would need its kernel"
            text = output.get("data", {}).get("text/plain", "")
            if text.startswith("Run "):
                found.setdefault(number, []).append(text.partition(",")[0].partition("\n")[0])
    return found


def steps(file: nbformat.NotebookNode) -> list[str]:
    return [line for lines in shown(file).values() for line in lines]


def settled(notebook: Notebook, *expected: str) -> None:
    """Wait until the saved file shows these moments."""
    try:
        eventually(lambda: steps(notebook.save()) == list(expected), f"{expected} was saved")
    except AssertionError:
        raise AssertionError(f"{steps(notebook.save())} instead of {expected}") from None


def views(notebook: Notebook) -> list[int]:
    """Return the number of live views in each cell."""
    return [notebook.cell(number).locator(".ak-root").count() for number in range(len(notebook))]


# -- whole notebooks ---------------------------------------------------------------------------------------------------


def texts(file: nbformat.NotebookNode) -> list[list[str]]:
    """Return what each cell shows of runs as text, and whether it would need the kernel."""
    cells = (cell.get("outputs", ()) for cell in file.cells)
    return [
        [
            re.sub(r"at \d\d:\d\d, in run \w+", "", text) + " (live)" * (LIVE in each["data"])
            for each in outputs
            if (text := each.get("data", {}).get("text/plain", "")).startswith("Run ")
        ]
        for outputs in cells
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_that_is_run_whole_and_reopened_without_its_kernel_shows_the_moment_of_each_cell(
    lab: Notebook, path: Path, tmp_path: Path
) -> None:
    check_moments(lab, path, tmp_path)


def test_the_quickstart_that_is_run_whole_in_notebook_7_shows_the_moment_of_each_cell(
    notebook7: Notebook, tmp_path: Path
) -> None:
    check_moments(notebook7, NOTEBOOKS[0], tmp_path)


def check_moments(notebook: Notebook, path: Path, tmp_path: Path) -> None:
    """Check that each cell shows its own moment, after Run All and after the notebook was opened again."""
    from nbclient import NotebookClient

    alone = tmp_path / "alone"
    shutil.copytree(path.parent, alone, ignore=shutil.ignore_patterns("*.ipynb"))
    expected = nbformat.read(path, as_version=4)
    env = {"AGENTKIT_NONINTERACTIVE": "1", "AGENTKIT_HOME": str(tmp_path / "runs")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        NotebookClient(expected, resources={"metadata": {"path": str(alone)}}).execute()
    shutil.copytree(alone, notebook.folder, dirs_exist_ok=True)
    shutil.copy(path, notebook.folder / "a.ipynb")
    notebook.visit(notebook.folder / "a.ipynb")
    run_all(notebook)
    eventually(lambda: texts(notebook.save()) == texts(expected), "each cell shows its own moment")
    notebook.restart()
    notebook.reload()
    notebook.page.wait_for_timeout(1_000)
    expect(notebook.page.get_by_text("model not found")).to_have_count(0)
    expect(notebook.page.locator(".ak-root")).to_have_count(0)
    for number, runs in enumerate(texts(expected)):
        for text in runs:
            select(notebook, number)
            notebook.cell(number).scroll_into_view_if_needed()
            expect(notebook.output(number)).to_contain_text(text.partition("\n")[0])


# -- one run in several cells ------------------------------------------------------------------------------------------


def test_cell_by_cell_the_view_moves_on_and_leaves_each_moment_behind(any_notebook: Notebook) -> None:
    any_notebook.open(SHOP, "run", "next(run); run", "next(run); run")
    first = View(any_notebook, 1)
    first.press("Step")
    expect(first.card(1)).to_contain_text("I look at the tea.")
    settled(any_notebook, "Run paused: 1 step")
    second = View(any_notebook, 2)
    expect(second.card(2)).to_contain_text("3.2")
    expect(any_notebook.output(1)).to_contain_text("Run paused: 1 step")
    assert views(any_notebook) == [0, 0, 1, 0]
    third = View(any_notebook, 3)
    third.status("paused")
    third.press("Run")
    third.status("done")
    settled(any_notebook, "Run paused: 1 step", "Run paused: 2 steps", "Run done: 4 steps")
    assert views(any_notebook) == [0, 0, 0, 1]


def test_what_the_code_of_another_cell_does_does_not_change_a_moment(lab: Notebook) -> None:
    lab.open(SHOP, "run", "next(run)", "run.drive().answer")
    shop = View(lab, 1)
    for number in (2, 3):
        lab.run(number)
        lab.done(number)
    shop.status("done")
    lab.page.wait_for_timeout(1_000)
    assert steps(lab.save()) == ["Run paused: 0 steps"]


def test_a_run_that_was_shown_while_it_played_is_shown_at_rest_in_the_end(lab: Notebook) -> None:
    play = "run.edit(text='', calls=[Call('wait', {}, 'w')]); run.play(); run"
    lab.open(SHOP, play, "bell.set(); run.wait(); run")
    View(lab, 1).status("running")
    assert steps(lab.save()) == ["Run running: 1 step"]
    View(lab, 2)
    settled(lab, "Run done: 6 steps", "Run done: 6 steps")


def test_the_state_of_the_view_moves_with_it(lab: Notebook) -> None:
    lab.open(SHOP, "next(run); run", "run")
    first = View(lab, 1)
    first.act(1, "Edit")
    first.root.get_by_label("Edit", exact=True).get_by_role("textbox").first.fill("half a sentence")
    second = View(lab, 2)
    expect(second.root.get_by_label("Edit", exact=True).get_by_role("textbox").first).to_have_value("half a sentence")


def test_saving_and_refreshing_lose_nothing_that_is_being_typed(lab: Notebook) -> None:
    shop = View(lab.open(SHOP, "next(run); run"), 1)
    shop.act(1, "Edit")
    box = shop.root.get_by_label("Edit", exact=True).get_by_role("textbox").first
    box.fill("half a sentence")
    lab.save()
    lab.do("from agentkit.notebook.widget import view; view(run).moments.used(); view(run).moments.settle()")
    lab.save()
    expect(box).to_have_value("half a sentence")
    expect(box).to_be_focused()
    shop.page.keyboard.type(", and more")
    expect(box).to_have_value("half a sentence, and more")


def test_after_a_reload_the_newest_moment_is_live_again(any_notebook: Notebook) -> None:
    any_notebook.open(SHOP, "run", "next(run); run")
    View(any_notebook, 1)
    shop = View(any_notebook, 2)
    expect(shop.card(1)).to_be_visible()
    any_notebook.save()
    any_notebook.reload()
    expect(shop.card(1)).to_be_visible()
    assert views(any_notebook) == [0, 0, 1]
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    settled(any_notebook, "Run paused: 0 steps", "Run paused: 2 steps")


def test_a_copy_of_an_output_is_an_inspector_beside_the_notebook(lab: Notebook) -> None:
    lab.open(SHOP, "run", "next(run); run")
    View(lab, 1)
    select(lab, 1)
    execute(lab, "notebook:create-output-view")
    beside = lab.page.locator(".jp-LinkedOutputView .ak-root")
    expect(beside).to_have_count(1)
    beside.get_by_role("button", name="Step", exact=True).click()
    expect(lab.output(1).locator(".ak-root")).to_contain_text("I look at the tea.")
    select_notebook = "() => jupyterapp.shell.activateById(document.querySelector('.jp-NotebookPanel').id)"
    lab.page.evaluate(select_notebook)
    View(lab, 2)
    expect(beside.locator("[aria-label^='Entry 2,']")).to_contain_text("3.2")
    assert views(lab) == [0, 0, 1]


def test_run_view_opens_beside_the_notebook(lab: Notebook) -> None:
    lab.open(SHOP, "run.view()")
    shop = View(lab, 1)
    shop.status("paused")
    expect(lab.page.locator(".ak-root")).to_have_count(2)
    shop.press("Step")
    for view in lab.page.locator(".ak-root").all():
        expect(view).to_contain_text("I look at the tea.")
    lab.page.locator(".lm-TabBar-tab", has_text="Agent run").locator(".lm-TabBar-tabCloseIcon").click()
    expect(lab.page.locator(".ak-root")).to_have_count(1)


# -- what a notebook does to its cells ---------------------------------------------------------------------------------


def test_a_cell_that_is_cut_and_pasted_keeps_its_view(lab: Notebook) -> None:
    shop = View(lab.open(SHOP, "next(run); run", "'the end'"), 1)
    expect(shop.card(1)).to_be_visible()
    select(lab, 1)
    execute(lab, "notebook:cut-cell")
    expect(lab.page.locator(".ak-root")).to_have_count(0)
    lab.page.wait_for_timeout(2_000)
    execute(lab, "notebook:paste-cell-below")
    moved = View(lab, 2, ())
    expect(moved.card(1)).to_be_visible()
    moved.press("Step")
    expect(moved.card(2)).to_contain_text("3.2")


def test_a_deleted_cell_that_is_restored_has_its_view_again(lab: Notebook) -> None:
    shop = View(lab.open(SHOP, "next(run); run", "'the end'"), 1)
    expect(shop.card(1)).to_be_visible()
    select(lab, 1)
    execute(lab, "notebook:delete-cell", "notebook:undo-cell-action")
    expect(shop.card(1)).to_be_visible()
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")


def test_a_cell_that_is_run_again_leaves_nothing_behind(lab: Notebook) -> None:
    lab.open(SHOP + "\nrun")
    View(lab, 0, ()).status("paused")
    before = lab.ask(COMMS)
    for _ in range(20):
        lab.run(0)
        lab.page.wait_for_timeout(300)
        lab.done(0)
        expect(lab.page.locator(".ak-root")).to_have_count(1)
    eventually(lambda: lab.ask(COMMS) == before, "the views of the earlier runs were closed")


@pytest.mark.parametrize("how", ["notebook:clear-cell-output", "run.freeze()"])
def test_a_view_without_an_output_is_closed(lab: Notebook, how: str) -> None:
    lab.open(SHOP, "run")
    before = lab.ask(COMMS)
    shop = View(lab, 1)
    shop.status("paused")
    assert lab.ask(COMMS) > before
    if how.startswith("run"):
        lab.do(how)
    else:
        select(lab, 1)
        execute(lab, how)
    eventually(lambda: lab.ask(COMMS) == before, "the view was closed")
    expect(lab.page.locator(".ak-root")).to_have_count(0)
    lab.run(1)
    shop.status("paused")


def test_a_page_that_does_not_show_a_run_does_not_close_it_for_another(lab: Notebook, page: Page) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    shop.status("paused")
    lab.save()
    other = page.context.new_page()
    other.goto(page.url.replace("/lab/", "/lab/workspaces/other/"))
    view = other.locator(".ak-root")
    expect(view).to_have_count(1)
    shop.press("Step")
    expect(view).to_contain_text("I look at the tea.")
    other.evaluate(EXECUTE, ["notebook:clear-all-cell-outputs"])
    expect(view).to_have_count(0)
    other.wait_for_timeout(6_000)
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")


def test_when_the_kernel_is_restarted_the_moments_stay_and_the_cell_works_again(lab: Notebook) -> None:
    shop = View(lab.open(SHOP, "next(run); run"), 1)
    expect(shop.card(1)).to_be_visible()
    lab.restart()
    expect(lab.output(1)).to_contain_text("kernel is gone")
    assert steps(lab.save()) == ["Run paused: 1 step"]
    lab.reload()
    expect(lab.output(1)).to_contain_text("Run paused: 1 step")
    for number in (0, 1):
        lab.run(number)
        lab.page.wait_for_timeout(500)
        lab.done(number)
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")


def test_a_click_while_a_cell_computes_is_kept_by_the_moment(lab: Notebook) -> None:
    busy = "import time\nwhile len(run) < 2: time.sleep(0.001)\nend = time.time() + 2\nwhile time.time() < end: sum(range(999))"
    shop = View(lab.open(SHOP, "run", busy), 1)
    lab.run(2)
    shop.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    lab.done(2)
    settled(lab, "Run paused: 1 step")


def test_the_module_is_evaluated_once_for_many_runs(lab: Notebook) -> None:
    count = "window.URL.createObjectURL = new Proxy(URL.createObjectURL, { apply: (f, self, [blob]) => { if (blob.size > 20000) window.modules = (window.modules ?? 0) + 1; return f.call(self, blob); } })"
    cells = [f"{SHOP}\nrun"] * 5
    lab.open(*cells)
    lab.page.evaluate(f"() => {{ {count} }}")
    run_all(lab)
    for number in range(5):
        View(lab, number, ()).status("paused")
    assert lab.page.evaluate("() => window.modules") <= 2  # the packed module, and what is in it
