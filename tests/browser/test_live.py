"""What a person does in the live view, in a real notebook, where the view and the Python object show the same run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browser.pages import Notebook, eventually
from browser.views import SHOP, View
from elsewhere import driven_elsewhere
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(lab: Notebook) -> View:
    """A paused run of the shop in JupyterLab, shown by the second cell."""
    return View(lab.open(SHOP, "run", "1 + 1"), 1)


def test_a_person_steps_edits_injects_and_runs(shop: View) -> None:
    shop.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    shop.edit(2, "5.5", reason="prices went up")
    expect(shop.card(2)).to_contain_text("5.5")
    shop.inject("Answer in euros.")
    shop.press("Run")
    shop.status("done")
    assert shop.ask("[entry.author for entry in run.entries]") == ["human", "model", "human", "model", "model"]
    sent = shop.ask("str(run.agent.model.requests[-1]['messages'])")
    assert "5.5" in sent and "3.2" not in sent and "[USER INTERRUPT] Answer in euros." in sent


def test_the_view_shows_what_python_does(shop: View) -> None:
    shop.do("next(run); next(run)")
    expect(shop.card(2)).to_contain_text("3.2")
    shop.do("run.edit(2, text='9.9', reason='by hand'); run.break_at(tool='order')")
    expect(shop.card(2)).to_contain_text("9.9")
    shop.root.get_by_role("tab", name="Breakpoints").click()
    expect(shop.root.get_by_role("tabpanel")).to_contain_text("order")
    shop.do("run.undo()")
    expect(shop.card(2)).to_contain_text("3.2")


def test_the_cell_ends_and_others_run_while_a_tool_sleeps(shop: View) -> None:
    shop.do("run.edit(text='', calls=[Call('wait', {}, 'w')])")
    shop.press("Run")
    shop.status("running")
    shop.notebook.run(2)
    shop.notebook.done(2)
    shop.press("Pause")
    shop.status("pausing…")
    shop.do("bell.set()")
    shop.status("paused")
    assert shop.ask("len(run)") == 3


def test_a_click_takes_effect_while_a_cell_computes(lab: Notebook) -> None:
    shop = View(lab.open(SHOP, "run", "import time\nwhile len(run) < 2: pass\nprint('seen', len(run))"), 1)
    lab.run(2)
    shop.press("Step")
    lab.done(2)
    assert "seen 2" in lab.output(2).inner_text()


def test_an_irreversible_call_waits_for_approval(shop: View) -> None:
    shop.do("run.edit(text='', calls=[Call('order', {'item': 'tea'}, 'o')])")
    shop.press("Run")
    shop.status("waiting for you")
    form = shop.root.get_by_label("Approval")
    form.get_by_role("button", name="Edit…").click()
    form.get_by_role("textbox", name="item").fill("two teas")
    form.get_by_role("button", name="Approve with changes", exact=True).click()
    shop.until("len(run) > 2")  # it was running, so it runs on
    expect(shop.card(2)).to_contain_text("Approved by a person")
    assert "two teas" in shop.ask("str(run[2].result.text)")


def test_a_repeated_call_offers_the_earlier_result_first_and_calls_again_only_after_a_second_click(shop: View) -> None:
    shop.do("run.guard(approve=None); run.edit(text='', calls=[Call('order', {'item': 'tea'}, 'o')])")
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("ordered tea")
    shop.press("Undo")
    expect(shop.root.locator(".ak-notices")).to_contain_text("Not undone: order(item='tea'); the run asks")
    shop.press("Step")
    shop.status("waiting for you")
    form = shop.root.get_by_label("Approval")
    expect(form).to_contain_text("order(item='tea') was performed at")
    expect(form.locator(".ak-earlier-result")).to_contain_text("ordered tea")
    expect(form.get_by_role("button", name="Use the earlier result", exact=True)).to_be_focused()
    form.get_by_role("button", name="Call again…").click()
    assert shop.ask("(len(run), run.state.spent.tool_calls, run.status)") == (2, 1, "waiting")
    shop.page.keyboard.press("Escape")
    form.get_by_role("button", name="Use the earlier result", exact=True).focus()
    shop.page.keyboard.press("Control+Enter")
    shop.status("paused")
    expect(shop.card(2)).to_contain_text("Not performed again: order(item='tea') was performed at")
    assert shop.ask("(len(run), run.state.spent.tool_calls, run[2].result.text)") == (3, 1, "ordered tea")


def test_the_buttons_that_go_back_say_that_calls_are_not_undone(shop: View) -> None:
    shop.press("Step")
    shop.card(1).hover()
    undo = shop.root.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_have_attribute("title", re.compile("What tools have done is not undone"))
    said = {
        "Go back": "Keeps 1 step and performs nothing",
        "Try again": "Keeps only the task, then asks the model again",
    }
    for name, text in {**said, "Try another way": "Starts a second run that reuses 1 step"}.items():
        shop.card(1).get_by_role("button", name=name, exact=True).hover()
        expect(shop.card(1).get_by_role("tooltip")).to_contain_text(text)
    shop.card(1).focus()
    shop.page.keyboard.press("g")
    expect(shop.root.get_by_role("menuitem", name="Try again, from entry 1")).to_contain_text("asks the model again")
    shop.page.keyboard.press("Escape")


def test_presentation_mode_shows_what_happens_now_and_is_kept_for_the_page(shop: View) -> None:
    shop.press("Step")
    shop.card(1).focus()
    shop.page.keyboard.press("m")
    expect(shop.root.locator("[data-n]")).to_have_count(1)
    expect(shop.root.locator(".ak-current-line")).to_be_visible()
    normal, large = (
        shop.root.evaluate(f"e => parseFloat(getComputedStyle({e}).fontSize)") for e in ("e.parentElement", "e")
    )
    assert large >= 1.35 * normal
    shop.page.keyboard.press("s")
    expect(shop.root.locator("[data-n]")).to_have_attribute("data-n", "2")
    shop.page.keyboard.press("Escape")
    expect(shop.root.locator(".ak-presentation")).to_have_count(0)


def test_shortcuts_work_in_the_view_and_do_not_reach_the_notebook(shop: View) -> None:
    cells = len(shop.notebook)
    shop.root.get_by_role("button", name="Step", exact=True).focus()
    shop.page.keyboard.press("Space")
    expect(shop.card(1)).to_be_visible()
    shop.page.keyboard.press("o")
    expect(shop.card(2)).to_be_visible()
    shop.page.keyboard.press("z")
    expect(shop.card(2)).to_have_count(0)
    shop.page.keyboard.press("?")
    expect(shop.root.get_by_role("dialog")).to_be_visible()
    shop.page.keyboard.press("Escape")
    shop.page.keyboard.press("i")
    shop.page.keyboard.type("a b dd Enter")
    shop.page.keyboard.press("Shift+Enter")
    shop.page.keyboard.press("Control+Enter")
    shop.until("run.trace.injections.notes")
    assert len(shop.notebook) == cells and shop.ask("len(run)") == 2
    assert shop.ask("get_ipython().execution_count") == 3


def test_the_view_recovers_from_a_reload_and_a_lost_connection(shop: View) -> None:
    shop.press("Step")
    expect(shop.card(1)).to_be_visible()
    shop.notebook.save()
    shop.notebook.reload()
    shop.root.wait_for()
    expect(shop.card(1)).to_be_visible()
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    shop.page.context.set_offline(True)
    shop.do("run.edit(2, text='7.7')")
    shop.page.wait_for_timeout(500)
    shop.page.context.set_offline(False)
    expect(shop.card(2)).to_contain_text("7.7")


def test_a_dead_kernel_is_reported(shop: View) -> None:
    shop.press("Step")
    expect(shop.card(1)).to_be_visible()
    shop.notebook.restart()
    expect(shop.root).to_contain_text("The kernel is gone")
    expect(shop.root.get_by_role("button", name="Step", exact=True)).to_be_disabled()


def test_two_views_of_a_run_stay_in_sync(lab: Notebook) -> None:
    lab.open(SHOP, "run.view()")
    first = View(lab, 1)
    both = lab.page.locator(".ak-root")
    expect(both).to_have_count(2)
    beside = both.nth(1 if both.first.locator("xpath=ancestor::*[contains(@class, 'jp-Notebook ')]").count() else 0)
    first.press("Step")
    expect(beside.locator("[aria-label^='Entry 1,']")).to_contain_text("I look at the tea.")
    first.edit(1, "I guess.")
    expect(beside.locator("[aria-label^='Entry 1,']")).to_contain_text("I guess.")


def test_a_finished_run_stays_live_and_is_saved_in_a_form_that_needs_no_kernel(any_notebook: Notebook) -> None:
    any_notebook.open(SHOP, "run")
    shop = View(any_notebook, 1)
    shop.press("Run")
    shop.status("done")

    def is_saved() -> bool:
        (output,) = any_notebook.save().cells[1].outputs
        assert set(output.data) == {"text/html", "text/markdown", "text/plain"}
        return "Run done" in output.data["text/html"]

    eventually(is_saved, "the end was saved")
    expect(shop.root).to_be_visible()


def test_an_undo_after_the_end_is_saved_too(shop: View) -> None:
    shop.press("Run")
    shop.status("done")
    shop.press("Undo")
    shop.status("paused")
    eventually(lambda: "Run paused" in shop.notebook.save().cells[1].outputs[0].data["text/html"], "paused was saved")
    shop.press("Run")
    shop.status("done")
    eventually(lambda: "Run done" in shop.notebook.save().cells[1].outputs[0].data["text/html"], "done was saved")


def test_the_view_follows_the_end_of_a_fast_growing_trace(lab: Notebook) -> None:
    many = "replies = [Reply('I look.', (Call('price', {'item': 'tea'}, '1'),)) for _ in range(500)] + ['Yes.']"
    model = "model = Scripted(replies, abilities=Abilities(tools=True))"
    start = "run = Agent(model, [price], engine=Loop('react', max_iterations=600)).start('Long.', paused=True)"
    shop = View(lab.open(SHOP, f"{many}\n{model}\n{start}\nrun"), 1)
    shop.press("Run")
    shop.status("done")
    expect(shop.card(1002)).to_be_visible()
    expect(shop.root.get_by_role("button", name="Latest")).to_have_count(0)


def test_a_reader_who_goes_to_the_start_of_the_trace_stays_there(lab: Notebook) -> None:
    many = "replies = [Reply('I look.', (Call('price', {'item': 'tea'}, '1'),)) for _ in range(30)]"
    start = "run = Agent(Scripted(replies, abilities=Abilities(tools=True)), [price], engine=Loop('react', max_iterations=30)).start('x', paused=True)"
    shop = View(lab.open(SHOP, f"{many}\n{start}\n[next(run) for _ in range(50)]\nrun"), 1)
    slider = shop.root.get_by_role("slider", name="Time")
    expect(slider).to_have_attribute("aria-valuetext", "now, after step 50 of 50")
    slider.click(position={"x": 2, "y": 4})
    expect(slider).to_have_attribute("aria-valuetext", "step 0 of 50: Task")
    expect(shop.card(0)).to_be_in_viewport()
    shop.do("next(run)")
    expect(shop.root).to_contain_text("You are looking at the task; the run is at step 51.")
    expect(shop.card(0)).to_be_in_viewport()
    shop.root.get_by_role("button", name="Back to now").click()
    expect(shop.root.locator(".ak-at-end")).to_have_count(1)


def test_the_slider_shows_the_line_and_the_variables_of_each_step_and_performs_nothing(shop: View) -> None:
    shop.do("next(run); next(run); next(run)")
    expect(shop.card(3)).to_be_visible()
    performed = "[model.calls, len(run.rows()), run.usage.calls, str(run.status)]"
    before = shop.ask(performed)
    lines = shop.ask("[([frame.line for frame in run.at(n).where()] or [0])[0] for n in range(len(run))]")
    source = shop.root.get_by_role("tabpanel", name="Source")
    slider = shop.root.get_by_role("slider", name="Time")
    slider.focus()
    for step in (3, 2, 1):
        shop.page.keyboard.press("ArrowLeft")
        expect(slider).to_have_attribute("aria-valuetext", re.compile(f"step {step} of 3"))
        expect(source).to_contain_text(f"As it was at step {step}, before its result.")
        expect(source.locator("[aria-current=step] button")).to_have_text(str(lines[step]))
    expect(source.get_by_label("Local variables")).to_contain_text("iterations: 0")
    shop.card(2).click()
    expect(source.get_by_label("Local variables")).to_contain_text("iterations: 1was 0")
    shop.root.get_by_role("tab", name="Request").click()
    expect(shop.root).to_contain_text("Request of entry 1, the last before entry 2")
    slider.focus()
    shop.page.keyboard.press("End")
    expect(shop.root).not_to_contain_text("You are looking at")
    assert shop.ask(performed) == before


def test_any_of_several_pending_calls_can_be_edited_and_the_focus_stays(lab: Notebook) -> None:
    calls = "Reply('Both.', (Call('price', {'item': 'tea'}, '1'), Call('price', {'item': 'cake'}, '2')))"
    start = f"run = Agent(Scripted([{calls}, 'Yes.'], abilities=Abilities(tools=True)), [price]).start('Both?', paused=True)"
    shop = View(lab.open(SHOP, f"{start}\nrun"), 1)
    shop.press("Step")
    shop.root.locator("[data-pending='1']").get_by_role("button", name="Edit").click()
    shop.page.keyboard.press("Control+a")
    shop.page.keyboard.type("tea")
    shop.page.keyboard.press("Control+Enter")
    shop.until("run.pending[1].step.call.arguments == {'item': 'tea'}")
    expect(shop.root.get_by_label("Edit", exact=True)).to_have_count(0)
    expect(shop.root).to_be_focused()
    shop.page.keyboard.press("o")
    expect(shop.card(3)).to_contain_text("3.2")


def test_cells_are_inserted_below_the_view_and_one_undo_removes_them(any_notebook: Notebook) -> None:
    any_notebook.open(SHOP, "run", "'the end'")
    shop = View(any_notebook, 1)
    shop.press("Step")
    expect(shop.card(1)).to_be_visible()
    before = any_notebook.sources()
    shop.root.get_by_role("button", name="Export").click()
    shop.root.get_by_role("menuitem").first.click()
    eventually(lambda: len(any_notebook) > len(before) + 2, "cells were inserted")
    assert any_notebook.sources()[2].startswith("# Trace") and any_notebook.sources()[-1] == "'the end'"
    any_notebook.page.evaluate("() => jupyterapp.commands.execute('notebook:undo-cell-action')")
    eventually(lambda: any_notebook.sources() == before, "one undo removes all cells")


def test_a_fork_is_a_second_view_below_and_a_run_in_python(shop: View) -> None:
    shop.press("Step")
    shop.press("Step")
    expect(shop.card(2)).to_be_visible()
    shop.act(1, "Try another way")
    expect(shop.notebook.cell(1).locator(".ak-root")).to_have_count(2)
    assert shop.ask("(agent_run is not run, len(agent_run))") == (True, 2)


def test_hostile_text_is_drawn_as_text(shop: View) -> None:
    bad = "<img src=x onerror='window.pwned=1'><script>window.pwned=2</script>[x](javascript:alert(1))"
    shop.do(f"run.edit(text={bad!r}, calls=[Call('price', {{'item': {bad!r}}}, 'p')])")
    expect(shop.card(1)).to_contain_text("onerror")
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("onerror")
    assert shop.page.evaluate("() => window.pwned") is None
    assert shop.root.locator("img, script, a").count() == 0


def test_the_view_switches_between_branches(shop: View) -> None:
    shop.do("run.drive(); run.edit(2, text='5.5'); run.agent.model; run.undo(); run.redo()")
    expect(shop.card(2)).to_contain_text("5.5")
    shop.card(2).get_by_role("button", name="Previous branch").click()
    expect(shop.card(2)).to_contain_text("3.2")
    assert shop.ask("run[2].result.text") == "3.2"


def test_freezing_from_python_takes_effect_while_the_view_is_in_use(shop: View) -> None:
    shop.press("Step")
    expect(shop.card(1)).to_be_visible()
    shop.do("run.freeze()")
    expect(shop.root).to_have_count(0)
    expect(shop.notebook.output(1)).to_contain_text("Run paused")


def test_compared_engines_are_stepped_side_by_side(lab: Notebook) -> None:
    compared = "compare('What is 3 * 17?', ['react', 'chain_of_thought'], tools=['math'], model='offline')"
    lab.open(f"from agentkit import compare\nfound = {compared}", "found.widget()")
    lab.run(0)
    lab.done(0)
    lab.run(1)
    views = lab.output(1).locator(".ak-root")
    expect(views).to_have_count(2)
    boxes = [views.nth(number).bounding_box() for number in range(2)]
    assert all(boxes) and boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    views.first.get_by_role("button", name="Undo").click()
    expect(views.first.locator(".ak-status")).to_have_text("paused")
    assert lab.ask("[run.status for run in found.runs]") == ["paused", "done"]


def test_a_run_of_another_process_is_followed_told_and_paused_in_a_notebook(
    lab: Notebook, tmp_path: Path, shot: Callable[[str], None]
) -> None:
    path = str(tmp_path / "runs.db")
    with driven_elsewhere(path, pace=0.3) as other:
        code = f"import agentkit\nrun = agentkit.look({other.id!r}, journal={path!r})"
        view = View(lab.open(code, "run"), 1)
        view.status("running, elsewhere")
        lab.until("len(run) > 6")
        view.inject("Look in the attic.")
        lab.until("'Look in the attic.' in str(run.messages)")
        view.press("Pause")
        view.status("paused, elsewhere")
        shot("paused-elsewhere")
        expect(view.root.get_by_text("Only that process can continue it")).to_be_visible()
        assert "asked this run to pause" in view.ask("str([e.data for e in run.events() if e.kind == 'warning'])")
        assert other.tell("run.play()") == "running"
        view.status("running, elsewhere")
        other.process.kill()
        view.status("read-only")
        expect(view.root.get_by_text("opened to look at")).to_be_visible()
