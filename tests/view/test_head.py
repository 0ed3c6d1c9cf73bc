"""The state of a run that a view shows above the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from view.conftest import Viewed, paused

from agentkit import Answer, Chat, Think

View = Callable[..., Viewed]


def test_undo_is_not_offered_at_the_beginning_of_a_run(view: View) -> None:
    viewed = view(paused("done"))
    assert viewed.screen.head["can"] == {"undo": False, "redo": False}
    viewed.settle("step", "undo")
    assert viewed.screen.head["can"] == {"undo": False, "redo": True}
    viewed.settle("step")
    viewed.execute("rewind", entry=viewed.run.entries[0].id)
    assert viewed.screen.head["can"] == {"undo": True, "redo": False}


def counting(task: Any) -> Any:
    """Return an answer that is not the text of a model."""
    chat = Chat.of(task)
    reply = yield Think(chat)
    return Answer(f"{len(reply.text)} letters", chat, propose=False)


def test_an_answer_that_no_entry_contains_is_shown_when_the_run_is_over(view: View) -> None:
    viewed = view(paused("three", engine=counting))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["forecast"] == "The engine's answer: 5 letters"
    viewed = view(paused("three"))
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["forecast"] == ""


def test_a_breakpoint_at_the_very_end_does_not_pause_the_run(view: View) -> None:
    viewed = view(paused("three"))
    viewed.run.break_at(when=lambda entry: entry.kind == "conclude")
    viewed.settle("play")
    viewed.until(lambda: viewed.screen.head["status"] == "done")
    assert viewed.screen.head["hold"] == "" and viewed.run.state.breakpoints[0].hits == 1
