"""The live view and the static form in frames like those of VS Code and Colab: another origin, a sandbox, a strict
content-security policy, and their colours.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser.conftest import SHOTS
from browser.hosts import HOSTS, frame
from browser.hosts import page as host_page
from browser.pages import eventually
from browser.servers import dev_page
from browser.test_looks import AXE, PROBLEMS
from browser.test_states import FIND_PROBLEMS
from playwright.sync_api import ConsoleMessage, Frame, Locator, Page, Route, expect

from agentkit import Agent, Call, Reply, tool
from agentkit.export import html
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

pytestmark = pytest.mark.slow

STATIC = Path(__file__).parents[2] / "agentkit" / "static"
OUTER, INNER = "http://127.0.0.1:8801/", "http://127.0.0.1:8802/"
"""Two origins. Nothing listens there: the browser gets the answers from the test."""

THEMES = [(host, theme) for host in HOSTS for theme in HOSTS[host].themes]
TABS = {"paused": "Source", "full": "Request", "markdown": "Branches", "waiting": "Breakpoints", "tree": "Progress"}
"""The tab that is open in each of the states whose colours are checked."""
ANSWER = "(file) => { replay.recording.answers.export = file; }"
FILE = {"name": "run-7.md", "mime": "text/markdown", "text": "# Trip"}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The scripts that the frame loads, by path."""
    modules = {name: (STATIC / f"{name}.js").read_text() for name in ("loader", "widget")}
    with (
        dev_page(tmp_path_factory.mktemp("dev")) as url,
        urllib.request.urlopen(f"{url}built/host.js") as host,
    ):
        yield {
            "/axe.js": AXE.read_text(),
            "/built.js": f"const built = {json.dumps(modules)};",
            "/host.js": host.read().decode(),
        }


@pytest.fixture(scope="module")
def moment() -> str:
    """The static form of a run with text in Markdown, a table, an edit and an error."""

    @tool(effect="pure")
    def price(item: str) -> object:
        """Look up prices."""
        if item == "coal":
            raise KeyError(item)
        return [{"item": item, "price": 3.2}, {"item": "rice", "price": 1.1}]

    text = "**Tea** at [the shop](https://example.org/tea), `3.2`:\n\n> cheap\n\n```python\nprice = 3.2\n```"
    calls = [Call("price", {"item": "tea"}, "1"), Call("price", {"item": "coal"}, "2")]
    answer = f"{text}\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    replies = [*(Reply("I look.", (call,)) for call in calls), answer]
    run = Agent(Scripted(replies, abilities=Abilities(tools=True)), [price]).start("What is the tea?", paused=True)
    for _ in range(4):
        next(run)
    run.edit(4, text="There is no coal.", reason="nobody needs it")
    run.play().wait()
    assert run.answer
    return html.run(run).replace("<details>", "<details open>")


class Hosted:
    """The view in the frame of a host, and what it and the page around it have noted."""

    def __init__(self, page: Page, host: str, theme: str, scripts: dict[str, str], moment: str) -> None:
        self.page, self.host = page, HOSTS[host]
        self.errors: list[str] = []
        answers = {OUTER: host_page(self.host, f"{INNER}frame"), f"{INNER}frame": frame(self.host, theme, moment)}
        answers |= {f"{INNER[:-1]}{path}": script for path, script in scripts.items()}

        def answer(route: Route) -> None:
            address = route.request.url.partition("?")[0]
            kind = "text/javascript" if address.endswith(".js") else "text/html"
            route.fulfill(body=answers[address], content_type=f"{kind}; charset=utf-8")

        def note(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.errors.append(message.text)

        page.route("http://127.0.0.1:880*/**", answer)
        page.on("console", note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.answers = answers

    def open(self, state: str = "paused") -> Locator:
        """Show a state; return the view."""
        self.answers[OUTER] = host_page(self.host, f"{INNER}frame?state={state}")
        self.page.goto(OUTER)
        view = self.page.frame_locator("iframe").first.locator(".ak-root")
        expect(view.locator(".ak-entry").first).to_be_visible()
        return view

    @property
    def frame(self) -> Frame:
        return next(each for each in self.page.frames if each.url.startswith(INNER))

    def sent(self) -> list[str]:
        """Return the commands that the view has sent, apart from those that only read."""
        names = self.frame.evaluate("() => replay.sent.filter(({ t }) => t === 'cmd').map(({ cmd }) => cmd)")
        return [name for name in names if name in ("step", "edit", "inject", "play")]

    def told(self, name: str) -> list[str]:
        """Return what the page was told under a name."""
        return list(self.page.evaluate("(name) => told.map((each) => each[name]).filter(Boolean)", name))

    def check(self) -> None:
        """Check that nothing was blocked and nothing failed."""
        assert self.frame.evaluate("() => violations") == []
        assert self.errors == []


@pytest.fixture(params=list(HOSTS))
def hosted(request: pytest.FixtureRequest, page: Page, scripts: dict[str, str], moment: str) -> Hosted:
    """Yield the view in VS Code, then in Colab, in the first of their themes."""
    return Hosted(page, request.param, next(iter(HOSTS[request.param].themes)), scripts, moment)


def test_a_person_steps_edits_and_injects_in_the_frame(hosted: Hosted) -> None:
    view = hosted.open("edited")
    view.get_by_role("toolbar").get_by_role("button", name="Step", exact=True).click()
    card = view.locator(".ak-entry", has=hosted.page.get_by_role("button", name="Edit")).last
    card.hover()
    card.get_by_role("button", name="Edit").first.click()
    view.get_by_label("Edit", exact=True).get_by_role("textbox").first.fill("another thought")
    hosted.page.keyboard.press("Control+Enter")
    assert hosted.told("key") == [], "VS Code would run the cell"
    view.get_by_role("button", name="Inject").first.click()
    view.get_by_label("Message to the model").fill("In euros.")
    view.get_by_role("button", name="Send").click()
    eventually(lambda: hosted.sent() == ["step", "edit", "inject"], "every command was sent once")
    hosted.check()


def test_nothing_that_the_view_draws_is_blocked(hosted: Hosted) -> None:
    for state in [*TABS, "values", "uncertain", "failed", "plan"]:
        for tab in hosted.open(state).get_by_role("tab").all():
            tab.click()
        hosted.check()


def test_the_keys_of_the_host_do_nothing_while_one_types(hosted: Hosted) -> None:
    view = hosted.open()
    press = hosted.page.keyboard.press
    view.get_by_role("button", name="Inject").first.click()
    box = view.get_by_label("Message to the model")
    box.press_sequentially("dd sa")
    for key in ("Shift+Enter", "ArrowUp", "Alt+Enter", "Delete", "Backspace"):
        press(key)
    text = box.input_value()
    for key in ("Control+a", "Control+c", "End", "Control+v", "Control+z", "Control+v"):
        press(key)
    assert box.input_value() == 2 * text
    press("Escape")
    view.focus()
    for key in ("j", "k", "ArrowDown", "ArrowUp", "Escape"):
        press(key)
    assert hosted.told("key") == []
    press("Control+Shift+p")
    assert hosted.told("key")[-1] == "p", "the host's own shortcuts still work"
    hosted.check()


def test_what_was_copied_can_be_pasted(hosted: Hosted) -> None:
    view = hosted.open("done")
    view.get_by_role("button", name="Export").click()
    view.get_by_role("menuitem", name="Copy answer").click()
    expect(view.get_by_role("alert")).to_contain_text("Copied")
    answer = hosted.frame.evaluate("() => replay.recording.messages.find(({ t }) => t === 'reset').head.answer")
    hosted.open("paused")
    view.get_by_role("button", name="Inject").first.click()
    hosted.page.keyboard.press("Control+v")
    expect(view.get_by_label("Message to the model")).to_have_value(answer)
    if hosted.host is HOSTS["colab"]:  # the browser notes that the first of the two ways is closed
        assert ["Clipboard API has been blocked" in error for error in hosted.errors] == [True]
        hosted.errors.clear()
    hosted.check()


LATE_ANSWERS = """(file) => {
  replay.answer = ({ cid }) => {
    setTimeout(() => replay.deliver({ t: "ack", v: 1, cid, result: file }), 6_000);
  };
}"""
"""The export takes longer than the five seconds for which a click allows the page to copy."""


def test_if_copying_is_blocked_the_notice_says_what_to_do(page: Page, scripts: dict[str, str]) -> None:
    hosted = Hosted(page, "colab", "light", scripts, "")
    view = hosted.open("done")
    hosted.frame.evaluate(LATE_ANSWERS, FILE)
    view.get_by_role("button", name="Export").click()
    view.get_by_role("menuitem", name="Copy as Markdown").click()
    page.wait_for_timeout(7_500)  # to look at the page before would count as a click
    expect(view.get_by_role("alert")).to_contain_text(
        "The browser blocked copying. Select the text and press Ctrl+C, or"
    )


def test_a_download_is_left_to_the_host_or_the_notice_says_what_to_do(hosted: Hosted) -> None:
    view = hosted.open("done")
    hosted.frame.evaluate(ANSWER, FILE)
    downloads: list[str] = []
    hosted.page.on("download", lambda download: downloads.append(download.suggested_filename))
    view.get_by_role("button", name="Export").click()
    view.get_by_role("menuitem", name="Markdown", exact=True).click()
    notice = view.get_by_role("alert")
    if hosted.host is HOSTS["vscode"]:
        expect(notice).to_contain_text("The notebook asks where to save")
        assert hosted.told("saved") == ["run-7.md"]
    else:
        expect(notice).to_contain_text(
            'If there is no such file, this notebook blocks downloads: use run.to_markdown("run-7'
        )
        hosted.page.wait_for_timeout(500)
    assert downloads == []
    hosted.check()


def test_a_frame_that_allows_downloads_saves_the_file(page: Page, scripts: dict[str, str]) -> None:
    hosted = Hosted(page, "colab", "light", scripts, "")
    hosted.host = replace(hosted.host, sandbox=f"{hosted.host.sandbox} allow-downloads")
    view = hosted.open("done")
    hosted.frame.evaluate(ANSWER, FILE)
    view.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        view.get_by_role("menuitem", name="Markdown", exact=True).click()
    assert (download.value.suggested_filename, Path(download.value.path()).read_text()) == (FILE["name"], FILE["text"])
    hosted.check()


@pytest.mark.parametrize(("host", "theme"), THEMES)
def test_every_theme_has_enough_contrast(
    page: Page, scripts: dict[str, str], moment: str, host: str, theme: str
) -> None:
    SHOTS.mkdir(exist_ok=True)
    page.set_viewport_size({"width": 1280, "height": 1000})
    hosted = Hosted(page, host, theme, scripts, moment)
    found = {}
    for state, tab in TABS.items():
        view = hosted.open(state)
        view.get_by_role("tab", name=tab).click()
        page.screenshot(path=SHOTS / f"frame-{host}-{theme}-{state}.png")
        if problems := view.evaluate(FIND_PROBLEMS) + view.evaluate(PROBLEMS):
            found[state] = problems
    if problems := hosted.frame.locator("#moment").evaluate(PROBLEMS):
        found["moment"] = problems
    hosted.frame.locator("#moment").screenshot(path=SHOTS / f"frame-{host}-{theme}-moment.png")
    assert not found
    hosted.check()
