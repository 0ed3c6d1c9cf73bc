"""The line of a run through its tree, driven by hand: the test provides the results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentkit.core.messages import Call, Message, Reply
from agentkit.engines.react import react
from agentkit.errors import Diverged, UsageError
from agentkit.journal.entries import Entry, Note, Row
from agentkit.trace.injections import Injections
from agentkit.trace.trace import Trace

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


def observation(call: Call, text: str) -> Message:
    return Message("tool", text, (), call.id, call.name)


def commit(trace: Trace, result: Any, lane: int = 0) -> Entry:
    pending = trace.pending[lane]
    return trace.commit(pending, trace.to_perform(pending), result, Entry(0, "", run=trace.run))


def begun(journal: Rows | None = None) -> Trace:
    trace = Trace("r", lambda chat: react(chat or "task"), (), journal)  # type: ignore[arg-type]
    trace.start({"task": []})
    return trace


def with_a_batch(journal: Rows | None = None) -> Trace:
    trace = begun(journal)
    commit(trace, Reply("both", (ONE, TWO)))
    commit(trace, observation(TWO, "two"), lane=1)
    commit(trace, observation(ONE, "one"))
    return trace


def heard(trace: Trace) -> list[str]:
    return [message.text for message in trace.pending[0].step.chat]  # type: ignore[union-attr]


def test_lanes_are_listed_in_call_order_and_the_engine_gets_their_results_in_that_order() -> None:
    trace = with_a_batch()
    assert [entry.kind for entry in trace.line] == ["begin", "think", "act", "act"]
    assert [entry.path for entry in trace.line] == ["", "", "[1.0]", "[1.1]"]
    assert heard(trace) == ["task", "both", "one", "two"]


def test_an_edit_in_one_lane_keeps_the_entries_of_parallel_lanes() -> None:
    trace = with_a_batch()
    fresh = trace.edit(trace.line.entries[2], observation(ONE, "ONE"), author="human", reason="wrong", at=0)
    assert heard(trace) == ["task", "both", "ONE", "two"]
    assert (fresh.original, fresh.author, fresh.reason) == (4, "human", "wrong")
    assert trace.tree.entries[4].result.text == "one"


def test_undo_and_redo_go_over_edits_and_steps_one_at_a_time() -> None:
    trace = with_a_batch()
    trace.edit(trace.line.entries[2], observation(ONE, "ONE"), author="human", reason="", at=0)
    commit(trace, Reply("done", answer="done"))
    trace.undo()
    assert heard(trace)[2] == "ONE"
    trace.undo()
    assert heard(trace)[2] == "one"
    trace.undo()
    assert len(trace.pending) == 1 and trace.pending[0].path == "[1.0]"
    for _ in range(3):
        trace.redo()
    assert trace.pending[0].step.kind == "conclude"
    with pytest.raises(UsageError, match="nothing to redo"):
        trace.redo()


def test_undo_at_the_start_says_that_there_is_nothing_to_undo() -> None:
    with pytest.raises(UsageError, match="not taken a step"):
        begun().undo()


def test_a_reloaded_trace_is_at_the_same_position_and_undoes_the_same() -> None:
    journal = Rows()
    first = with_a_batch(journal)
    first.edit(first.line.entries[2], observation(ONE, "ONE"), author="human", reason="", at=0)
    first.inject("k", "hurry")
    commit(first, Reply("done", answer="done"))
    second = Trace("r", lambda chat: react(chat or "task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    assert [e.id for e in second.line] == [e.id for e in first.line]
    assert second.injections.heard == {"k"} == first.injections.heard
    for trace in (first, second):
        trace.undo()
        trace.undo()
        assert heard(trace)[2] == "one"


def test_an_injected_message_reaches_the_next_think_once_and_stays() -> None:
    trace = begun()
    commit(trace, Reply("act", (ONE,)))
    trace.inject("k", "hurry")
    commit(trace, observation(ONE, "one"))
    step = trace.to_perform(trace.pending[0])
    assert [m.text for m in step.chat][-2:] == ["one", "[USER INTERRUPT] hurry"]  # type: ignore[union-attr]
    commit(trace, Reply("act", (TWO,)))
    commit(trace, observation(TWO, "two"))
    assert heard(trace) == ["task", "act", "one", "[USER INTERRUPT] hurry", "act", "two"]
    assert trace.to_perform(trace.pending[0]) is trace.pending[0].step


def test_several_injected_messages_are_numbered_in_one_message() -> None:
    trace = begun()
    trace.inject("a", "first")
    trace.inject("b", "second")
    assert trace.to_perform(trace.pending[0]).chat[-1].text == "[USER INTERRUPT] 1. first\n2. second"  # type: ignore[union-attr]


def test_an_undone_delivery_is_repeated_and_one_on_another_branch_does_not_count() -> None:
    trace = begun()
    commit(trace, Reply("act", (ONE,)))
    trace.inject("k", "hurry")
    commit(trace, observation(ONE, "one"))
    commit(trace, Reply("done", answer="done"))
    trace.undo()
    assert [note.data["text"] for note in trace.unheard()] == ["hurry"]
    trace.undo()
    trace.undo()
    assert trace.unheard() == []


def test_a_message_injected_at_an_entry_stays_when_the_entry_is_edited_again_and_again() -> None:
    journal = Rows()
    trace = begun(journal)
    commit(trace, Reply("act", (ONE,)))
    commit(trace, observation(ONE, "one"))
    trace.inject("k", "hurry")
    for text in ("ONE", "1"):
        trace.edit(trace.line.entries[-1], observation(ONE, text), author="human", reason="", at=0)
    reloaded = Trace("r", lambda chat: react(chat or "task"), (), journal)  # type: ignore[arg-type]
    reloaded.load(list(journal.kept))
    reloaded.rebuild()
    for current in (trace, reloaded):
        step = current.to_perform(current.pending[0])
        assert [m.text for m in step.chat][-2:] == ["1", "[USER INTERRUPT] hurry"]  # type: ignore[union-attr]
    trace.edit(trace.line.entries[1], Reply("act", (TWO,)), author="human", reason="", at=0)
    assert trace.unheard() == []


def test_a_recalled_message_never_arrives_and_one_that_was_seen_cannot_be_recalled() -> None:
    trace = begun()
    trace.inject("k", "hurry")
    trace.recall("k")
    assert trace.to_perform(trace.pending[0]) is trace.pending[0].step
    trace.inject("l", "wait")
    commit(trace, Reply("act", (ONE,)))
    with pytest.raises(UsageError, match="already seen"):
        trace.recall("l")


def test_a_message_that_no_model_has_seen_is_answered_before_the_end() -> None:
    trace = begun()
    commit(trace, Reply("done", answer="done"))
    trace.inject("k", "and now?")
    commit(trace, trace.answer_first())
    assert heard(trace)[-1] == "[USER INTERRUPT] and now?" and trace.unheard() == []


def test_a_call_that_began_but_never_ended_is_uncertain_after_a_reload() -> None:
    journal = Rows()
    first = begun(journal)
    commit(first, Reply("act", (ONE,)))
    first.begin_call(first.pending[0], "irreversible", 0)
    second = Trace("r", lambda chat: react(chat or "task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    note = second.uncertain(second.pending[0])
    assert isinstance(note, Note) and note.data["name"] == "w"
    commit(second, observation(ONE, "one"))
    assert second.begun == {}


def test_another_engine_keeps_the_matching_entries_and_leaves_the_rest_as_a_branch() -> None:
    journal = Rows()
    first = with_a_batch(journal)
    second = Trace("r", lambda chat: react(chat or "task", max_iterations=1), (), journal)  # type: ignore[arg-type]
    commit(first, Reply("more", (ONE,)))
    second.load(list(journal.kept))
    with pytest.raises(Diverged, match="answer"):
        second.rebuild(strict=True)
    second.rebuild()
    assert "the engine now asks for think (answer)" in second.difference
    assert [entry.kind for entry in second.line] == ["begin", "think", "act", "act", "think"]
    rows = len(journal.kept)
    assert second.settle() and second.difference == "" and len(journal.kept) == rows + 1
    assert second.pending[0].step.role == "answer"
    assert [entry.kind for entry in second.line] == ["begin", "think", "act", "act"]


def test_a_changed_prompt_is_drift_and_the_recording_is_used() -> None:
    journal = Rows()
    with_a_batch(journal)
    second = Trace("r", lambda chat: react(chat or "another task"), (), journal)  # type: ignore[arg-type]
    second.load(list(journal.kept))
    second.rebuild()
    assert [second.has_drifted(entry) for entry in second.line if entry.kind == "think"] == [True]
    assert len(second.line) == 4


def test_messages_are_injected_while_a_view_looks_at_them() -> None:
    injections = Injections()

    class Anchored(dict[str, Any]):
        """The data of a note; another note arrives whenever it is looked at."""

        def __getitem__(self, name: str) -> Any:
            injections.notes[f"note {len(injections.notes)}"] = Note("injected", {"anchor": 0})
            return super().__getitem__(name)

    injections.notes["first"] = Note("injected", Anchored(anchor=0))
    line: Any = SimpleNamespace(tree=SimpleNamespace(slot=int), slots=())
    assert [note for note in injections.live(line) if isinstance(note.data, Anchored)] == [injections.notes["first"]]
