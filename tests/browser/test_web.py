"""The pages of a server in Chromium: what a person does there happens in this process, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.pages import Notebook, eventually
from browser.test_looks import AXE
from browser.views import SHOP, View
from browser.web import BELL, WebView, address_of, calling, shop
from elsewhere import driven_elsewhere
from playwright.sync_api import BrowserContext, Page, expect

from agentkit import Agent, Run, tool
from agentkit.serve import Server, serve

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>document.title = 'attacked'</script><img src=x onerror=\"document.title = 'attacked'\"> \u202egnp.exe"
)
PROBLEMS = """async () => {
  const { violations } = await axe.run();
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160))}`);
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def server() -> Iterator[Server]:
    """Yield a server whose agent looks up the price of tea."""
    with serve(shop()) as server:
        yield server


def start(server: Server, task: str = "What is the tea?") -> Run:
    return server.hub.start(task, paused=True)


def problems(page: Page) -> list[str]:
    """Return what axe finds that is inaccessible by keyboard, by screen reader or to weak eyes."""
    page.evaluate(AXE.read_text())
    return list(page.evaluate(PROBLEMS))


def served(agent: Agent, page: Page) -> tuple[Server, Run, WebView]:
    server = serve(agent)
    run = start(server)
    return server, run, WebView(page, address_of(server, run))


# -- a run -------------------------------------------------------------------------------------------------------------


def test_a_run_is_stepped_edited_and_continued_by_clicks(
    page: Page, server: Server, shot: Callable[[str], None]
) -> None:
    run = start(server)
    view = WebView(page, address_of(server, run))
    view.status("paused")
    view.press("Step")
    expect(view.card(1)).to_contain_text("I look at the tea.")
    view.press("Step")
    expect(view.card(2)).to_contain_text("3.2")
    view.edit(2, "4.5", reason="it became dearer")
    expect(view.card(2)).to_contain_text("edited by hand")
    shot("edited")
    view.press("Run")
    view.status("done")
    assert run.entries[2].result.text == "4.5" and run.answer == "Tea is 3.2."
    assert view.errors == []


def test_a_message_is_injected_and_a_breakpoint_pauses_the_run(page: Page, server: Server) -> None:
    run = start(server)
    view = WebView(page, address_of(server, run))
    view.status("paused")
    view.inject("And milk?")
    expect(view.root.get_by_text("not seen yet")).to_be_visible()
    eventually(lambda: run.messages[-1].text != "" and len(run.trace.injections.notes) == 1, "the message has arrived")
    view.root.get_by_role("tab", name="Breakpoints").click()
    kinds = view.root.get_by_label("Pause when").locator("option").all_text_contents()
    assert "a condition is true" not in kinds and "a tool is called" in kinds
    view.root.get_by_role("button", name="Add").click()
    view.press("Run")
    view.status("paused")
    expect(view.root.get_by_text("Paused: ")).to_be_visible()
    assert [entry.kind for entry in run.entries] == ["begin", "think"] and view.errors == []


def test_a_call_is_approved_and_the_run_goes_on(page: Page) -> None:
    server, run, view = served(shop(calling("order", item="tea"), "Ordered."), page)
    with server:
        view.press("Run")
        view.status("waiting for you")
        view.root.get_by_role("button", name="Approve", exact=True).click()
        view.status("done")
        assert run.entries[2].result.text == "ordered tea" and view.errors == []


def test_a_fork_is_shown_below_and_both_go_their_own_way(page: Page, server: Server) -> None:
    run = start(server)
    view = WebView(page, address_of(server, run))
    view.press("Step")
    view.act(1, "Try another way")
    views = page.locator(".ak-root")
    expect(views).to_have_count(2)
    expect(views.nth(1)).to_contain_text("fork from entry 1")
    views.nth(1).get_by_role("toolbar").get_by_role("button", name="Run", exact=True).click()
    expect(views.nth(1).locator(".ak-status")).to_have_text("done")
    view.status("paused")
    assert len(run) == 2 and view.errors == []


def test_nothing_is_offered_that_only_a_notebook_can_do(page: Page, server: Server) -> None:
    view = WebView(page, address_of(server, start(server)))
    view.status("paused")
    expect(view.root.get_by_role("button", name="Freeze")).to_have_count(0)
    view.root.get_by_role("toolbar").get_by_role("button", name=re.compile("^Export")).click()
    items = view.root.get_by_role("menuitem").all_text_contents()
    assert "Insert cells below" not in items and "Markdown" in items
    with page.expect_download() as download:
        view.root.get_by_role("menuitem", name="Markdown", exact=True).click()
    assert download.value.suggested_filename.endswith(".md") and view.errors == []


# -- several hosts of one run ------------------------------------------------------------------------------------------


def test_two_tabs_and_python_show_the_same_run(context: BrowserContext, page: Page, server: Server) -> None:
    run = start(server)
    one, two = WebView(page, address_of(server, run)), WebView(context.new_page(), address_of(server, run))
    one.press("Step")
    expect(two.card(1)).to_contain_text("I look at the tea.")
    next(run)
    for each in (one, two):
        expect(each.card(2)).to_contain_text("3.2")
    two.press("Run")
    one.status("done")
    run.undo()
    for each in (one, two):
        each.status("paused")
    assert one.errors == two.errors == []


def test_a_notebook_and_a_page_of_the_same_kernel_show_the_same_run(lab: Notebook, context: BrowserContext) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    shop.status("paused")
    lab.do("from agentkit.serve import serve\nserver = serve(run.agent)")
    there = WebView(context.new_page(), lab.ask("server.show(run, browser=False)"))
    there.status("paused")
    shop.press("Step")
    expect(there.card(1)).to_contain_text("I look at the tea.")
    there.edit(1, "I guess.")
    expect(shop.card(1)).to_contain_text("I guess.")
    there.press("Undo")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    lab.do("next(run)")
    for each in (shop, there):
        expect(each.card(2)).to_contain_text("3.2")
    there.press("Run")
    shop.status("done")
    assert there.errors == []


def test_a_notebook_without_room_beside_it_opens_a_page(notebook7: Notebook, context: BrowserContext) -> None:
    shop = View(notebook7.open(SHOP, "run.view()"), 1)
    shop.status("paused")
    address = notebook7.output(1).get_by_text("http://127.0.0.1:")
    expect(address).to_be_visible()
    there = WebView(context.new_page(), (address.text_content() or "").strip())
    there.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")


def test_who_may_only_watch_sees_what_happens_and_no_buttons(
    page: Page, server: Server, shot: Callable[[str], None]
) -> None:
    run = start(server)
    view = WebView(page, address_of(server, run, server.app.watch_token))
    view.status("paused")
    next(run)
    expect(view.card(1)).to_contain_text("I look at the tea.")
    view.card(1).hover()
    for name in ("Step", "Run", "Stop", "Undo", "Inject", "Edit", "Try again", "Break", "Freeze", "Played by"):
        expect(view.root.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(view.root.get_by_role("tab", name="Source")).to_have_count(0)
    for key in ("s", "r", "e", "i", "u"):
        view.root.press(key)
    shot("watching")
    page.goto(f"{server.url}/")
    expect(page.get_by_role("link", name="What is the tea?")).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_have_count(0)
    assert len(run) == 2 and view.errors == []


# -- lines that break --------------------------------------------------------------------------------------------------


def test_a_page_comes_back_by_itself_after_its_line_was_interrupted(page: Page, server: Server) -> None:
    run = start(server)
    view = WebView(page, address_of(server, run))
    view.status("paused")
    view.drop()
    next(run)
    expect(view.card(1)).to_contain_text("I look at the tea.")
    view.press("Step")
    expect(view.card(2)).to_contain_text("3.2")
    assert view.errors == []


def test_a_page_comes_back_when_the_server_does(page: Page) -> None:
    agent = shop()
    with serve(agent, token="a-token-that-stays") as server:
        run = start(server)
        view = WebView(page, address_of(server, run))
        view.status("paused")
        port = server.port
    expect(page.get_by_text("The connection to the server is interrupted")).to_be_visible()
    next(run)
    with serve(agent, token="a-token-that-stays", port=port):
        expect(view.card(1)).to_contain_text("I look at the tea.")
        expect(page.get_by_text("The connection to the server is interrupted")).to_have_count(0)
        view.press("Step")
        expect(view.card(2)).to_contain_text("3.2")


def test_a_run_that_waits_for_a_tool_is_stopped(page: Page) -> None:
    server, run, view = served(shop(calling("wait"), "Done."), page)
    with server:
        view.press("Run")
        view.status("running")
        eventually(lambda: len(run) == 2, "the tool is called")
        view.press("Stop")
        BELL.set()
        view.status("stopped")


# -- the list ----------------------------------------------------------------------------------------------------------


def test_a_run_is_started_from_the_list_and_the_list_follows_it(
    context: BrowserContext, page: Page, shot: Callable[[str], None]
) -> None:
    with serve(shop(calling("order", item="tea"), "Ordered.")) as server:
        other = context.new_page()
        other.goto(server.address)
        expect(other.get_by_text("There are no runs yet.")).to_be_visible()
        page.goto(server.address)
        assert page.url == f"{server.url}/"  # the token is in a cookie
        page.get_by_label("Task").fill(HOSTILE)
        page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_url("**/view")
        expect(page.locator(".ak-status")).to_have_text("waiting for you")
        expect(other.get_by_text("1 run waits for you.")).to_be_visible()
        page.get_by_role("link", name="All runs").click()
        shot("list")
        link = other.get_by_role("link", name="<script>document.title")
        link.focus()
        [run] = [server.hub.get(line.id) for line in server.hub.list()]
        run.approve()
        run.play().wait()
        expect(other.get_by_text("done")).to_be_visible()
        expect(link).to_be_focused()
        other.keyboard.press("Enter")
        other.wait_for_url("**/view")
        expect(other.locator(".ak-status")).to_have_text("done")
        assert other.title().startswith("<script>")


def test_a_task_that_is_refused_says_why(page: Page, server: Server) -> None:
    page.goto(server.address)
    page.get_by_label("Task").fill("x")
    page.get_by_label("Session").fill("y" * 300)
    page.get_by_role("button", name="Start paused").click()
    expect(page.get_by_role("alert")).to_contain_text("session")


def test_a_page_of_a_run_that_does_not_exist_says_so(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/nowhere/view?token={server.app.token}")
    expect(page.get_by_role("heading", name="No such run")).to_be_visible()
    expect(page.get_by_role("link", name="All runs")).to_be_visible()


# -- hostile texts, and small screens ----------------------------------------------------------------------------------


def test_hostile_texts_are_shown_as_texts(page: Page) -> None:
    with serve(shop(calling("price", HOSTILE, item=HOSTILE), HOSTILE)) as server:
        run = server.hub.start(HOSTILE)
        run.wait()
        view = WebView(page, address_of(server, run))
        view.status("done")
        expect(view.card(1)).to_contain_text("<script>document.title")
        assert page.title().startswith("<script>") and "\u202e" not in page.title()
        assert page.locator("main img, main script").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
        assert view.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_on_a_phone(page: Page, server: Server, scheme: str, shot: Callable[[str], None]) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    run = start(server, "What is the tea? " * 20 + "w" * 200)
    page.goto(server.address)
    expect(page.get_by_role("link", name="What is the tea?")).to_be_visible()
    assert not page.evaluate(TOO_WIDE) and problems(page) == []
    shot("list")
    view = WebView(page, address_of(server, run))
    view.press("Step")
    view.press("Step")
    expect(view.card(2)).to_contain_text("3.2")
    assert not page.evaluate(TOO_WIDE)
    shot("run")
    assert problems(page) == view.errors == []


def test_the_list_is_used_with_the_keyboard(page: Page, server: Server) -> None:
    page.goto(server.address)
    page.keyboard.press("Tab")
    expect(page.get_by_label("Task")).to_be_focused()
    page.keyboard.type("What is the tea?")
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Start paused")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/view")
    expect(page.locator(".ak-status")).to_have_text("paused")


# -- runs of other processes -------------------------------------------------------------------------------------------


def test_a_run_of_another_process_is_followed_paused_and_told_on_its_page(
    page: Page, tmp_path: Path, shot: Callable[[str], None]
) -> None:
    path = str(tmp_path / "runs.db")
    with driven_elsewhere(path, pace=0.3) as other, serve(Agent("offline", journal=path)) as server:
        page.goto(f"{server.url}?token={server.app.token}")
        expect(page.locator("#runs")).to_contain_text(f"held by process {other.pid}")
        shot("list-held-elsewhere")
        view = WebView(page, f"{server.url}/runs/{other.id}/view")
        view.status("running, elsewhere")
        expect(view.root.get_by_role("status").filter(has_text="held by another process")).to_contain_text(
            f"process {other.pid} on "
        )
        length = len(server.hub.follow(other.id))
        eventually(lambda: len(server.hub.follow(other.id)) > length, "the page follows")
        view.inject("Look in the attic.")
        expect(view.root.get_by_text("Look in the attic.").first).to_be_visible()
        view.press("Pause")
        shot("asked-elsewhere")
        expect(page.get_by_role("button", name="Go on with this run here")).to_have_count(0)
        view.status("paused, elsewhere")
        toolbar = view.root.get_by_role("toolbar").first
        for name in ("Run", "Step", "Pause"):
            expect(toolbar.get_by_role("button", name=name, exact=True)).to_be_disabled()
        shot("paused-elsewhere")
        assert other.tell("run.play()") == "running"
        view.status("running, elsewhere")
        view.press("Stop")
        view.status("stopped, elsewhere")
        assert view.errors == [] and problems(page) == []


def test_a_run_whose_process_has_died_is_continued_on_its_page(page: Page, tmp_path: Path) -> None:
    @tool(effect="pure")
    def look() -> str:
        """Look."""
        return "nothing"

    path = str(tmp_path / "runs.db")
    with driven_elsewhere(path, pace=0.3) as other, serve(Agent("offline", [look], journal=path)) as server:
        view = WebView(page, f"{server.url}/runs/{other.id}/view?token={server.app.token}")
        view.status("running, elsewhere")
        go_on = page.get_by_role("button", name="Go on with this run here")
        expect(go_on).to_have_count(0)
        other.process.kill()
        expect(go_on).to_be_visible()
        go_on.click()
        expect(go_on).to_have_count(0)
        view.status("paused")
        assert server.hub.here(other.id) is not None and view.errors == []


def test_who_may_only_watch_is_offered_no_wish(page: Page, tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with driven_elsewhere(path, pace=0.3) as other, serve(Agent("offline", journal=path)) as server:
        view = WebView(page, f"{server.url}/runs/{other.id}/view?token={server.app.watch_token}")
        view.status("running, elsewhere")
        expect(view.root.get_by_role("button", name="Pause", exact=True)).to_have_count(0)
        expect(view.root.get_by_text("records who asked")).to_have_count(0)
        assert view.errors == []
