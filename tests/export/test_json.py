"""A run as JSON and back: the same tree, with everything that happened to it, or an error that names what is damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from splitting import split

from agentkit import Act, Agent, All, Answer, Ask, Call, Reply, Run, Think, tool
from agentkit.core.messages import Chat
from agentkit.errors import UsageError
from agentkit.export import json as recording
from agentkit.export import rows_of, to_json
from agentkit.journal import MemoryJournal, Note
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

Restored = Callable[[dict[str, Any], Agent], Run]


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def call(*cities: str) -> Reply:
    return Reply("I look", tuple(Call("look", {"city": city}, f"look{n}") for n, city in enumerate(cities)))


def agent(*replies: Any, journal: Any = "memory", **options: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), [look], journal=journal, **split(options))


def worked_over(journal: Any = "memory") -> Run:
    """A run with parallel calls to which everything was done that can be done to a run."""
    run = agent(call("Oslo", "Rome"), "first", "second", "third", journal=journal).start("How is it?", paused=True)
    run.step_over()
    run.step_over()
    run.edit(2, text="sun", reason="the sensor is broken")
    run.inject("be quick")
    run.inject("never mind").recall()
    run.drive()
    run.rewind(3)
    run.edit(3, text="snow")
    run.drive()
    run.undo()
    return run


def again(data: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(data, indent=1, sort_keys=True)))


@pytest.mark.parametrize("journal", ["memory", "sqlite", None])
def test_a_round_trip_gives_the_same_tree(journal: Any, restored: Restored) -> None:
    run = worked_over(journal)
    back = restored(again(to_json(run)), run.agent)
    assert repr(back) == repr(run)
    assert [[repr(e) for e in line] for line in back.branches()] == [[repr(e) for e in line] for line in run.branches()]
    assert {n: repr(e) for n, e in back.trace.tree.entries.items()} == {
        n: repr(e) for n, e in run.trace.tree.entries.items()
    }
    assert back.trace.tips == run.trace.tips


def test_what_was_read_back_says_the_same_when_it_is_written_again(restored: Restored) -> None:
    run = worked_over()
    data = to_json(run)
    assert data == to_json(run)
    written = to_json(restored(again(data), run.agent))
    assert written["line"] == data["line"]
    for one, other in zip(rows_of(data), rows_of(written), strict=True):
        other.run = one.run
        assert one == other  # a chat compares by its digest, and so does every request


def test_undo_redo_and_receipts_survive_a_round_trip(restored: Restored) -> None:
    run = worked_over()
    back = restored(to_json(run), run.agent)
    assert repr(back.redo()) == repr(run.redo()) and repr(back.undo().undo()) == repr(run.undo().undo())
    assert back.trace.injections.notes.keys() == run.trace.injections.notes.keys()


def test_forks_travel_with_their_tree(restored: Restored) -> None:
    run = worked_over()
    fork = run.fork(1)
    fork.edit(1, answer="I know it")
    fork.drive()
    data = to_json(fork)
    assert {about["run"]: about["parent"] for about in data["runs"]} == {run.id: "", fork.id: run.id}
    back = restored(data, run.agent)
    assert back.answer == "I know it" and repr(back) == repr(fork)
    (parent,) = [info.run for info in back.agent.journal.runs() if info.run != back.id]
    assert repr(back.agent.resume(parent)) == repr(run)


def test_a_fork_whose_first_run_is_forgotten_travels_too(restored: Restored) -> None:
    run = worked_over()
    fork = run.fork(1)
    fork.drive()
    run.agent.journal.release(run.id)
    run.agent.journal.delete(run.id)
    assert repr(restored(again(to_json(fork)), run.agent)) == repr(fork)


def test_lanes_questions_and_any_engine_survive_a_round_trip(restored: Restored) -> None:
    run = agent("one", "two", engine=ask_and_split, journal=MemoryJournal()).start("q", paused=True)
    run.respond("Oslo")
    run.step_over()
    run.drive()
    back = restored(again(to_json(run)), run.agent)
    assert repr(back) == repr(run) and back.answer == "Oslo one two rain in Oslo"


def ask_and_split(task: Any, *, tools: Any = ()) -> Any:
    city = yield Ask("Where?", choices=("Oslo", "Rome"))
    one, two, seen = yield All((Think(Chat.of("1")), Think(Chat.of("2")), Act(Call("look", {"city": city}))))
    return Answer(f"{city} {one.text} {two.text} {seen[0].text}", Chat.of(task))


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    run = agent(Reply("I look", (Call("look", {"city": key, "password": "hunter2222"}, "c"),)), "done").start(
        key, paused=True
    )
    run.drive()
    assert key not in (text := json.dumps(to_json(run))) and "hunter2222" not in text


def test_what_is_nested_deeply_or_no_number_is_read_back(restored: Restored) -> None:
    deep: Any = "deep"
    for _ in range(500):
        deep = [deep]
    run = agent(Reply("x", (Call("look", {"city": "Oslo", "deep": deep, "nan": float("nan")}, "c"),)), "done").start(
        "q", paused=True
    )
    run.drive()
    (row,) = [row for row in rows_of(again(to_json(run))) if getattr(row, "kind", "") == "act"]
    arguments = row.step.call.arguments  # type: ignore[union-attr]
    assert arguments["nan"] != arguments["nan"] and str(arguments["deep"]) == str(deep)


# -- what is no recording ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return again(to_json(worked_over()))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "'format'"),
        ([], "'format'"),
        ({"format": "other"}, "'format'"),
        ({"format": "agentkit.run", "version": 2}, "version 2"),
        ({"format": "agentkit.run", "version": "x"}, "version 'x'"),
        ({"format": "agentkit.run", "version": 1}, "no 'run'"),
    ],
)
def test_what_is_no_recording_says_what_is_missing(given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        rows_of(given)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["rows"].pop(3), "row 4 of the recording is missing"),
        (lambda d: d["rows"].pop(), "is missing, and maybe more"),
        (lambda d: d["rows"].clear(), "no rows"),
        (lambda d: d["rows"][4].pop("digest"), "row 5 of the recording has no 'digest'"),
        (
            lambda d: d["rows"][0]["row"]["result"]["json"]["task"][0].update(text="other"),
            "row 1 of the recording was changed",
        ),
        (lambda d: d["rows"][2].update(run="other"), "row 3 of the recording was changed"),
        (lambda d: d["rows"].__setitem__(1, "x"), "row 2 of the recording"),
        (lambda d: d["rows"].insert(1, d["rows"][2]), "row 2 of the recording is missing"),
        (lambda d: d.update(line=[999]), "'line'"),
        (lambda d: d.update(line=[]), "'line'"),
        (lambda d: d.update(run="other"), "what run 'other' is"),
        (lambda d: d.update(runs=[]), "'runs'"),
        (lambda d: d.update(rows={"a": 1}), "no rows"),
    ],
)
def test_a_damaged_recording_is_refused_by_name(data: dict[str, Any], change: Callable[[Any], Any], says: str) -> None:
    damaged = copy.deepcopy(data)
    change(damaged)
    with pytest.raises(UsageError, match=says):
        rows_of(damaged)


@pytest.mark.parametrize(
    ("number", "change", "says"),
    [
        (2, {"parent": 77}, "refers to row 77"),
        (2, {"parent": "x"}, r"a str, where there should be a int \(Entry.parent\)"),
        (2, {"entry": "dream"}, "not known: 'dream'"),
        (2, {"result": {"json": "x"}}, "where there should be a Reply"),
        (2, {"started": "yesterday"}, "Entry.started"),
        (2, {"colour": "x"}, "cannot be understood"),
        (2, {"step": {"do": "conclude", "role": "x", "answer": "y"}}, "is a think without its step"),
        (2, {"step": {"do": "think", "role": "x", "chat": {"is": "0" * 32}, "choice": "sing"}}, "none of auto, none"),
        (1, {"result": {"json": {"task": []}}}, "holds no task|does not say"),
        (1, {"result": {"json": {}}}, "does not say the run's task"),
    ],
)
def test_a_row_that_vouches_for_nonsense_is_refused(data: dict[str, Any], number: int, change: Any, says: str) -> None:
    forged = copy.deepcopy(data)
    forged["rows"][number - 1]["row"].update(change)
    with pytest.raises(UsageError, match=says):
        rows_of(sealed(forged))


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Compute all digests anew, as somebody would who means harm."""
    before = ""
    for record in data["rows"]:
        record["digest"] = before = recording._link(before, record)
    data["digest"] = before
    return data


@pytest.mark.parametrize("changes", ["x", {"options": []}, {"task": []}, {"synthesize": "yes"}])
def test_a_fork_that_changes_what_a_fork_cannot_change_is_refused(changes: Any) -> None:
    data = Agent("echo", journal="memory").run("q").run.fork(1).to_json()
    data["rows"][-1]["row"]["data"]["changes"] = changes
    with pytest.raises(UsageError, match="with changes that a fork cannot have"):
        rows_of(sealed(data))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "wizard", "text": "x"},
        {"role": "tool", "text": 5},
        {"role": "tool", "text": "x", "calls": [{"name": 5}]},
        {"text": "x"},
    ],
)
def test_a_message_that_is_none_is_refused(data: dict[str, Any], message: Any) -> None:
    forged = copy.deepcopy(data)
    forged["rows"][1]["new"].append(message)
    with pytest.raises(UsageError, match="row 2 of the recording"):
        rows_of(sealed(forged))


def test_no_change_of_one_value_gets_through_as_something_else(data: dict[str, Any]) -> None:
    for number, record in enumerate(data["rows"]):
        for key in record["row"]:
            for value in (None, 5, "x", [], {}, [[]], {"json": [1]}, -1, {"is": 1}):
                forged = copy.deepcopy({**data, "rows": data["rows"][: number + 1]})
                forged["rows"][number]["row"][key] = value
                try:
                    rows = rows_of(sealed({**forged, "line": [1]}))
                except UsageError:
                    continue
                assert len(rows) == number + 1 and repr(rows[number])


def test_a_packed_recording_that_is_damaged_says_so(data: dict[str, Any]) -> None:
    packed = recording.pack(data)
    assert recording.unpack(packed) == data
    for damaged in (packed[:-8], packed[8:], "AAAA", "", "é", packed[:40] + "AAAA" + packed[44:]):
        with pytest.raises(UsageError, match="damaged"):
            recording.unpack(damaged)


def test_a_note_of_an_unknown_kind_is_kept(data: dict[str, Any]) -> None:
    later = copy.deepcopy(data)
    run = later["rows"][0]["run"]
    later["rows"].append(
        {"id": len(later["rows"]) + 1, "run": run, "row": {"note": "news", "at": 0.0, "data": {"x": 1}}}
    )
    assert rows_of(sealed(later))[-1] == Note("news", {"x": 1}, 0.0, run, len(later["rows"]))
