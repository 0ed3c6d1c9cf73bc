"""What is lost between kernel and page is noticed, and asked for again."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from browser.pages import LONG_ENOUGH, Notebook
from browser.views import SHOP, View
from playwright.sync_api import Page, WebSocketRoute, expect


class Line:
    """The line between a page and its kernels; it loses the next messages that hold some text."""

    def __init__(self) -> None:
        self.loses, self.count, self.lost = b"", 0, 0

    def lose(self, text: bytes, count: int) -> None:
        """Lose so many messages from now on."""
        self.loses, self.count, self.lost = text, count, 0

    def wait(self, page: Page) -> None:
        """Wait until all of them are lost."""
        end = time.monotonic() + LONG_ENOUGH
        while self.lost < self.count:
            assert time.monotonic() < end, "nothing was lost"
            page.wait_for_timeout(20)

    def connect(self, page: WebSocketRoute) -> None:
        """Stand between a page and its server."""
        server = page.connect_to_server()
        page.on_message(server.send)

        def carry(message: Any) -> None:
            raw = message if isinstance(message, bytes) else message.encode()
            if self.lost < self.count and self.loses in raw:
                self.lost += 1
            else:
                page.send(message)

        server.on_message(carry)


@pytest.fixture
def line(lab: Notebook) -> Line:
    """The line of this test's page."""
    line = Line()
    lab.page.route_web_socket(re.compile("/channels"), line.connect)
    return line


def test_a_lost_message_is_noticed_by_the_next_and_healed(lab: Notebook, line: Line) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    line.lose(b'"seq"', 2)  # the step, and the trait that says how far it came
    shop.do("next(run)")
    line.wait(lab.page)
    expect(shop.card(1)).to_have_count(0)
    shop.do("next(run)")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    expect(shop.card(2)).to_contain_text("3.2")
    assert line.lost == 2


def test_the_last_message_of_all_may_be_lost_too(lab: Notebook, line: Line) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    line.lose(b'"events"', 1)
    shop.do("next(run)")
    line.wait(lab.page)
    shop.do("run.play(until=lambda: 'pause').wait()")  # it comes to rest, and the traits say how far it came
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    assert line.lost == 1


def test_an_answer_that_is_lost_is_no_lost_step(lab: Notebook, line: Line) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    line.lose(b'"ack"', 1)
    shop.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    expect(shop.root.get_by_role("button", name="Step", exact=True)).to_be_enabled()
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    assert line.lost == 1 and shop.ask("len(run)") == 3
