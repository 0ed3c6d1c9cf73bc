"""What a view says above the trace: how the run stands, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from view.conftest import Viewed, paused

from agentkit import Answer, Chat, Think

View = Callable[..., Viewed]


def test_what_was_undone_to_its_beginning_goes_no_further_back(view: View) -> None:
    viewed = view(paused("done"))
    assert viewed.screen.head["can"] == {"undo": False, "redo": False}
    viewed.settle("step", "undo")
    assert viewed.screen.head["can"] == {"undo": False, "redo": True}
    viewed.settle("step")
    viewed.do("rewind", entry=viewed.run.entries[0].id)
    assert viewed.screen.head["can"] == {"undo": True, "redo": False}


def counting(task: Any) -> Any:
    """Answer with something that no model said."""
    chat = Chat.of(task)
    reply = yield Think(chat)
    return Answer(f"{len(reply.text)} letters", chat, propose=False)


def test_an_answer_that_no_entry_says_is_told_when_the_run_is_over(view: View) -> None:
    viewed = view(paused("three", engine=counting))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["forecast"] == "The engine's answer: 5 letters"
    viewed = view(paused("three"))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["forecast"] == ""


def test_a_breakpoint_that_is_met_at_the_very_end_holds_nothing(view: View) -> None:
    viewed = view(paused("three"))
    viewed.run.break_at(when=lambda entry: entry.kind == "conclude")
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["hold"] == "" and viewed.run.state.breakpoints[0].hits == 1
