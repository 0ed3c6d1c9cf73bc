"""Messages that are lost between kernel and page are noticed, and requested again."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from browser.pages import LONG_ENOUGH, Notebook
from browser.views import SHOP, View
from playwright.sync_api import Page, WebSocketRoute, expect

pytestmark = pytest.mark.slow


class Connection:
    """The connection between a page and its kernels: it drops the next messages that contain a text."""

    def __init__(self) -> None:
        self.text, self.count, self.dropped = b"", 0, 0
        self.command = b""

    def drop(self, text: bytes, count: int) -> None:
        """Drop the next `count` messages that contain `text`."""
        self.text, self.count, self.dropped = text, count, 0

    def drop_answer(self, command: bytes) -> None:
        """Drop the answer to the next command of this name, but not the note that it has arrived."""
        self.command, self.text, self.count, self.dropped = command, b"", 1, 0

    def wait(self, page: Page) -> None:
        """Wait until all of them were dropped."""
        end = time.monotonic() + LONG_ENOUGH
        while self.dropped < self.count:
            assert time.monotonic() < end, "nothing was dropped"
            page.wait_for_timeout(20)

    def connect(self, page: WebSocketRoute) -> None:
        """Forward messages between a page and its server."""
        server = page.connect_to_server()

        def watch(message: Any) -> None:
            raw = message if isinstance(message, bytes) else message.encode()
            if self.command and (found := re.search(rb'"cid": ?"([^"]+)", ?"cmd": ?"' + self.command + b'"', raw)):
                self.command, self.text = b"", found[1]
            server.send(message)

        page.on_message(watch)

        def forward(message: Any) -> None:
            raw = message if isinstance(message, bytes) else message.encode()
            if self.dropped < self.count and self.text and self.text in raw and b'"taken"' not in raw:
                self.dropped += 1
            else:
                page.send(message)

        server.on_message(forward)


@pytest.fixture
def connection(lab: Notebook) -> Connection:
    """Return the connection of this test's page."""
    connection = Connection()
    lab.page.route_web_socket(re.compile("/channels"), connection.connect)
    return connection


def test_a_lost_message_is_noticed_at_the_next_one_and_repaired(lab: Notebook, connection: Connection) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    expect(shop.card(0)).to_be_visible()  # what is sent from now on are events
    connection.drop(b'"seq"', 2)  # the step, and the trait with its number
    shop.do("next(run)")
    connection.wait(lab.page)
    expect(shop.card(1)).to_have_count(0)
    shop.do("next(run)")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    expect(shop.card(2)).to_contain_text("3.2")
    assert connection.dropped == 2


def test_a_lost_last_message_is_noticed_too(lab: Notebook, connection: Connection) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    expect(shop.card(0)).to_be_visible()  # what is sent from now on are events
    connection.drop(b'"events"', 1)
    shop.do("next(run)")
    connection.wait(lab.page)
    shop.do("run.play(until=lambda: 'pause').wait()")  # the run rests, and the trait has the last number
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    assert connection.dropped == 1


def test_a_lost_answer_does_not_lose_the_step(lab: Notebook, connection: Connection) -> None:
    shop = View(lab.open(SHOP, "run"), 1)
    expect(shop.card(0)).to_be_visible()  # what is sent from now on are events
    connection.drop_answer(b"step")
    shop.press("Step")
    expect(shop.card(1)).to_contain_text("I look at the tea.")
    expect(shop.root.get_by_role("button", name="Step", exact=True)).to_be_enabled()
    shop.press("Step")
    expect(shop.card(2)).to_contain_text("3.2")
    assert connection.dropped == 1 and shop.ask("len(run)") == 3
