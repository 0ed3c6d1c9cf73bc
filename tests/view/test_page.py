"""Forged messages from a page: none raises an error in the kernel or changes the run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit import Agent
from agentkit.models.scripted import Scripted
from agentkit.notebook.widget import View, view

FORGED: list[Any] = [None, [], {}, "x", 5, -1, 1e308, True, "\ud800", {"a": [1]}, [[]]]


@pytest.fixture
def page() -> Iterator[View]:
    """Yield the view of a run that has not begun, in a process without a kernel."""
    shown = view(Agent(Scripted(["done"]), journal="memory").start("q", paused=True))
    yield shown
    shown.close()


@pytest.mark.parametrize("value", FORGED, ids=repr)
def test_a_forged_message_is_ignored_or_refused(page: View, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    counts: list[int] = []
    page.ask("a request", {"t": "insert", "cells": []}, counts.append)
    (cid,) = page._requests
    with caplog.at_level(logging.WARNING):
        for message in (
            value,
            {"t": value},
            {"t": "cmd", "cmd": value},
            {"t": "hello", "can": value},
            {"t": "hello", "can": {"insert": value, "surprise": True}},
            {"t": "did", "cid": value, "count": 1},
            {"t": "did", "cid": cid, "count": value},
        ):
            page.widget._handle_custom_msg(message, [])
    assert not caplog.records and len(page.run) == 1
    assert counts == [value if isinstance(value, int) else 0] and page._abilities <= {"insert"}
