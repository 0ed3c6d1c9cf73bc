"""A run's line through its tree, driven by hand: results come from the test."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.core.messages import Call, Message, Reply
from agentkit.engines.react import react
from agentkit.errors import Diverged, UsageError
from agentkit.journal.entries import Entry, Note, Row
from agentkit.trace.history import History

ONE, TWO = Call("w", {"a": 1}, "c1"), Call("w", {"a": 2}, "c2")


class Rows:
    """A journal that is a list."""

    durable = False

    def __init__(self) -> None:
        self.kept: list[Row] = []

    def append(self, row: Row, *, sync: bool = True) -> int:
        self.kept.append(row)
        row.id = len(self.kept)
        return row.id


def observation(call: Call, text: str) -> tuple[Message, ...]:
    return (Message("tool", text, (), call.id, call.name),)


def commit(history: History, result: Any, lane: int = 0) -> Entry:
    pending = history.pending[lane]
    return history.commit(pending, history.performed(pending), result, Entry(0, "", run=history.run))


def begun(journal: Rows | None = None) -> History:
    history = History("r", lambda: react("task"), (), journal)  # type: ignore[arg-type]
    history.root({"task": []})
    return history


def with_a_batch(journal: Rows | None = None) -> History:
    history = begun(journal)
    commit(history, Reply("both", (ONE, TWO)))
    commit(history, observation(TWO, "two"), lane=1)
    commit(history, observation(ONE, "one"))
    return history


def heard(history: History) -> list[str]:
    return [message.text for message in history.pending[0].step.chat]  # type: ignore[union-attr]


def test_a_batch_is_joined_and_its_lanes_are_listed_in_call_order() -> None:
    history = with_a_batch()
    assert [entry.kind for entry in history.line] == ["begin", "think", "batch", "act", "act", "join"]
    assert heard(history) == ["task", "both", "one", "two"]
    assert history.tips.keys() == {""}


def test_an_edit_in_a_batch_is_a_new_join_and_nothing_runs_again() -> None:
    history = with_a_batch()
    fresh = history.edit(history.line[3], observation(ONE, "ONE"), author="human", reason="wrong", at=0)
    assert heard(history) == ["task", "both", "ONE", "two"]
    assert (fresh.original, fresh.author, fresh.reason) == (5, "human", "wrong")
    assert history.entries[5].result[0].text == "one"


def test_undo_and_redo_go_over_edits_and_steps_one_at_a_time() -> None:
    history = with_a_batch()
    history.edit(history.line[3], observation(ONE, "ONE"), author="human", reason="", at=0)
    commit(history, Reply("done", answer="done"))
    history.undo()
    assert heard(history)[2] == "ONE"
    history.undo()
    assert heard(history)[2] == "one"
    history.undo()
    assert len(history.pending) == 1 and history.pending[0].path == "[1.0]"
    for _ in range(3):
        history.redo()
    assert history.pending[0].step.kind == "conclude"
    with pytest.raises(UsageError, match="nothing to redo"):
        history.redo()


def test_undo_at_the_beginning_says_that_there_is_nothing() -> None:
    with pytest.raises(UsageError, match="not taken a step"):
        begun().undo()


def test_a_reloaded_history_stands_where_the_first_stood_and_undoes_the_same() -> None:
    journal = Rows()
    first = with_a_batch(journal)
    first.edit(first.line[3], observation(ONE, "ONE"), author="human", reason="", at=0)
    first.inject("k", "hurry")
    commit(first, Reply("done", answer="done"))
    second = History("r", lambda: react("task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    assert [e.id for e in second.line] == [e.id for e in first.line]
    assert second.injections.heard == {"k"} == first.injections.heard
    for history in (first, second):
        history.undo()
        history.undo()
        assert heard(history)[2] == "one"


def test_an_injected_message_reaches_the_next_think_once_and_stays() -> None:
    history = begun()
    commit(history, Reply("act", (ONE,)))
    history.inject("k", "hurry")
    commit(history, observation(ONE, "one"))
    step = history.performed(history.pending[0])
    assert [m.text for m in step.chat][-2:] == ["one", "[USER INTERRUPT] hurry"]  # type: ignore[union-attr]
    commit(history, Reply("act", (TWO,)))
    commit(history, observation(TWO, "two"))
    assert heard(history) == ["task", "act", "one", "[USER INTERRUPT] hurry", "act", "two"]
    assert history.performed(history.pending[0]) is history.pending[0].step


def test_several_injections_are_numbered_in_one_message() -> None:
    history = begun()
    history.inject("a", "first")
    history.inject("b", "second")
    assert history.performed(history.pending[0]).chat[-1].text == "[USER INTERRUPT] 1. first\n2. second"  # type: ignore[union-attr]


def test_an_undone_delivery_is_delivered_again_and_one_on_another_branch_is_not() -> None:
    history = begun()
    commit(history, Reply("act", (ONE,)))
    history.inject("k", "hurry")
    commit(history, observation(ONE, "one"))
    commit(history, Reply("done", answer="done"))
    history.undo()
    assert [note.data["text"] for note in history.unheard()] == ["hurry"]
    history.undo()
    history.undo()
    assert history.unheard() == []


def test_what_was_said_at_an_entry_stays_said_when_that_entry_is_edited_and_edited_again() -> None:
    journal = Rows()
    history = begun(journal)
    commit(history, Reply("act", (ONE,)))
    commit(history, observation(ONE, "one"))
    history.inject("k", "hurry")
    for text in ("ONE", "1"):
        history.edit(history.line[-1], observation(ONE, text), author="human", reason="", at=0)
    reloaded = History("r", lambda: react("task"), (), journal)  # type: ignore[arg-type]
    reloaded.load(list(journal.kept))
    reloaded.rebuild()
    for each in (history, reloaded):
        step = each.performed(each.pending[0])
        assert [m.text for m in step.chat][-2:] == ["1", "[USER INTERRUPT] hurry"]  # type: ignore[union-attr]
    history.edit(history.line[1], Reply("act", (TWO,)), author="human", reason="", at=0)
    assert history.unheard() == []


def test_a_recalled_message_never_arrives_and_a_heard_one_cannot_be_recalled() -> None:
    history = begun()
    history.inject("k", "hurry")
    history.recall("k")
    assert history.performed(history.pending[0]) is history.pending[0].step
    history.inject("l", "wait")
    commit(history, Reply("act", (ONE,)))
    with pytest.raises(UsageError, match="has seen"):
        history.recall("l")


def test_a_message_that_no_model_has_seen_is_answered_before_the_end() -> None:
    history = begun()
    commit(history, Reply("done", answer="done"))
    history.inject("k", "and now?")
    commit(history, history.answer_first())
    assert heard(history)[-1] == "[USER INTERRUPT] and now?" and history.unheard() == []


def test_a_call_that_began_and_never_ended_is_uncertain_after_a_reload() -> None:
    journal = Rows()
    first = begun(journal)
    commit(first, Reply("act", (ONE,)))
    first.begin(first.pending[0], 0, sync=True)
    second = History("r", lambda: react("task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    note = second.uncertain(second.pending[0])
    assert isinstance(note, Note) and note.data["name"] == "w"
    commit(second, observation(ONE, "one"))
    assert second.begun == {}


def test_another_engine_keeps_what_agrees_and_leaves_the_rest_as_a_branch() -> None:
    journal = Rows()
    first = with_a_batch(journal)
    second = History("r", lambda: react("task", max_iterations=1), (), journal)  # type: ignore[arg-type]
    commit(first, Reply("more", (ONE,)))
    second.load(list(journal.kept))
    with pytest.raises(Diverged, match="answer"):
        second.rebuild(strict=True)
    second.rebuild()
    assert second.pending[0].step.role == "answer"
    assert [entry.kind for entry in second.line] == ["begin", "think", "batch", "act", "act", "join"]


def test_a_changed_prompt_is_drift_and_the_recording_is_used() -> None:
    journal = Rows()
    with_a_batch(journal)
    second = History("r", lambda: react("another task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    assert [second.drifted(entry) for entry in second.line if entry.kind == "think"] == [True]
    assert len(second.line) == 6
