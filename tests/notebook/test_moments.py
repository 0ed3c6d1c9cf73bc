"""What a notebook is sent that cannot change its outputs: each cell is left with its own moment, by display id."""

from __future__ import annotations

import queue
import time
from typing import Any

from kernel.conftest import LONG_ENOUGH

LIVE = "application/vnd.jupyter.widget-view+json"
RUN = """
import os
from agentkit import Agent
from agentkit.models import Scripted
run = Agent(Scripted(["one", "two"]), journal="memory").start("Go.", paused=True)
"""


class Outputs:
    """The outputs of all cells, as a front end keeps them: by the display id, with their updates."""

    def __init__(self, notebook: Any) -> None:
        self.notebook = notebook
        self.data: dict[str, dict[str, Any]] = {}

    def run(self, code: str) -> Any:
        cell = self.notebook.run(code)
        self.take(cell.messages)
        return cell

    def take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message["msg_type"] in ("display_data", "update_display_data"):
                content = message["content"]
                self.data[content["transient"]["display_id"]] = content["data"]

    def wait_for(self, *expected: str) -> None:
        """Take the messages that arrive between cells until the outputs are these."""
        end = time.monotonic() + LONG_ENOUGH
        while self.first_lines() != list(expected) and time.monotonic() < end:
            try:
                self.take([self.notebook.client.get_iopub_msg(timeout=1)])
            except queue.Empty:
                continue
        assert self.first_lines() == list(expected)

    def first_lines(self) -> list[str]:
        return [
            data["text/plain"].partition(",")[0] + (" (live)" if LIVE in data else "") for data in self.data.values()
        ]


def test_each_cell_is_left_with_its_own_moment_and_the_last_one_is_live(notebook: Any) -> None:
    outputs = Outputs(notebook)
    outputs.run(RUN)
    outputs.run("run")
    outputs.wait_for("Run paused: 0 steps (live)")
    outputs.run("next(run); run")
    outputs.wait_for("Run paused: 0 steps", "Run paused: 1 step (live)")
    outputs.run("run.drive(); run")
    outputs.wait_for("Run paused: 0 steps", "Run paused: 1 step", "Run done: 2 steps (live)")


def test_a_run_that_was_shown_while_it_played_is_completed_when_it_rests(notebook: Any) -> None:
    outputs = Outputs(notebook)
    outputs.run(RUN + "import threading; bell = threading.Event()")
    outputs.run("run = Agent(lambda request: (bell.wait(30), 'one')[1], journal='memory').start('Go.'); run")
    outputs.wait_for("Run running: 0 steps (live)")
    outputs.run("bell.set(); run.wait()")
    outputs.wait_for("Run done: 2 steps (live)")


def test_an_ended_run_is_frozen_as_what_it_is_in_a_page_that_cannot_change_outputs(notebook: Any) -> None:
    outputs = Outputs(notebook)
    greeting = "view(run).widget._handle_custom_msg({'t': 'hello', 'can': {}}, [])"
    outputs.run(RUN)
    comms = notebook.value("len(__import__('comm').get_comm_manager().comms)")
    outputs.run("run")
    play = "__import__('threading').Timer(1, run.play).start()"  # after the cell, which would show it, too
    outputs.run(f"from agentkit.notebook.widget import view; {greeting}; {play}")
    outputs.wait_for("Run paused: 0 steps")
    assert notebook.value("len(__import__('comm').get_comm_manager().comms)") == comms


def test_a_click_is_kept_by_the_newest_moment(notebook: Any) -> None:
    outputs = Outputs(notebook)
    outputs.run(RUN)
    outputs.run("run")
    click = "{'t': 'cmd', 'v': 1, 'cid': 'c', 'cmd': 'step'}"
    outputs.run(f"from agentkit.notebook.widget import view; view(run).widget._handle_custom_msg({click}, [])")
    outputs.wait_for("Run paused: 1 step (live)")


def test_a_view_that_no_page_shows_is_closed_unless_one_answers(notebook: Any) -> None:
    notebook.run(RUN + "\nfrom agentkit.notebook import page, widget; page.GONE = 0.5; shown = widget.view(run)")
    notebook.run("receive = lambda kind: shown.widget._handle_custom_msg({'t': kind}, [])")
    wait = "import time; time.sleep(1.5)"
    notebook.run(f"receive('gone'); receive('shown'); {wait}")
    assert notebook.value("shown.widget.comm is not None") == "True"
    notebook.run(f"receive('gone'); {wait}")
    assert notebook.value("shown.widget.comm is not None") == "False"
    assert notebook.value("widget.view(run) is not shown") == "True"


def test_a_run_that_is_opened_again_before_its_page_has_removed_it_stays_open(notebook: Any) -> None:
    notebook.run(RUN + "from agentkit.notebook import widget")
    notebook.run("run")
    notebook.run("receive = widget.view(run).widget._handle_custom_msg")
    notebook.run("receive({'t': 'hello', 'can': {'settle': True}}, [])")
    notebook.run("widget.withdraw(run)")
    notebook.run("run")
    notebook.run("receive({'t': 'did', 'cid': 'moment-1', 'count': 1}, [])")
    assert notebook.value("widget.is_shown(run) and widget.view(run).widget.comm is not None") == "True"
