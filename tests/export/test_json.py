"""A run as JSON and back: the same tree, with everything that was done to it, or an error that says what is damaged."""

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


def changed_run(journal: Any = "memory") -> Run:
    """Return a run with parallel calls that was changed in every possible way."""
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


def copied(data: dict[str, Any]) -> dict[str, Any]:
    """Return data that went through a JSON text."""
    return dict(json.loads(json.dumps(data, indent=1, sort_keys=True)))


@pytest.mark.parametrize("journal", ["memory", "sqlite", None])
def test_a_round_trip_returns_the_same_tree(journal: Any, restored: Restored) -> None:
    run = changed_run(journal)
    back = restored(copied(to_json(run)), run.agent)
    assert repr(back) == repr(run)
    assert [[repr(e) for e in line] for line in back.branches()] == [[repr(e) for e in line] for line in run.branches()]
    assert {n: repr(e) for n, e in back.trace.tree.entries.items()} == {
        n: repr(e) for n, e in run.trace.tree.entries.items()
    }


def test_a_run_that_was_read_back_is_written_in_the_same_way(restored: Restored) -> None:
    run = changed_run()
    data = to_json(run)
    assert data == to_json(run)
    second = to_json(restored(copied(data), run.agent))
    assert second["line"] == data["line"]
    for one, other in zip(rows_of(data), rows_of(second), strict=True):
        other.run = one.run
        assert one == other  # chats and requests are compared by their digests


def test_undo_redo_and_receipts_survive_a_round_trip(restored: Restored) -> None:
    run = changed_run()
    back = restored(to_json(run), run.agent)
    assert repr(back.redo()) == repr(run.redo()) and repr(back.undo().undo()) == repr(run.undo().undo())
    assert back.trace.injections.notes.keys() == run.trace.injections.notes.keys()


def test_forks_are_exported_with_their_tree(restored: Restored) -> None:
    run = changed_run()
    fork = run.fork(1)
    fork.edit(1, answer="I know it")
    fork.drive()
    data = to_json(fork)
    assert {about["run"]: about["parent"] for about in data["runs"]} == {run.id: "", fork.id: run.id}
    back = restored(data, run.agent)
    assert back.answer == "I know it" and repr(back) == repr(fork)
    (parent,) = [info.run for info in back.agent.journal.runs() if info.run != back.id]
    assert repr(back.agent.resume(parent)) == repr(run)


def test_a_fork_is_exported_even_if_its_first_run_was_deleted(restored: Restored) -> None:
    run = changed_run()
    fork = run.fork(1)
    fork.drive()
    run.agent.journal.release(run.id)
    run.agent.journal.delete(run.id)
    assert repr(restored(copied(to_json(fork)), run.agent)) == repr(fork)


def test_lanes_questions_and_any_engine_survive_a_round_trip(restored: Restored) -> None:
    run = agent("one", "two", engine=ask_and_split, journal=MemoryJournal()).start("q", paused=True)
    run.respond("Oslo")
    run.step_over()
    run.drive()
    back = restored(copied(to_json(run)), run.agent)
    assert repr(back) == repr(run) and back.answer == "Oslo one two rain in Oslo"


def ask_and_split(task: Any, *, tools: Any = ()) -> Any:
    city = yield Ask("Where?", choices=("Oslo", "Rome"))
    one, two, seen = yield All((Think(Chat.of("1")), Think(Chat.of("2")), Act(Call("look", {"city": city}))))
    return Answer(f"{city} {one.text} {two.text} {seen.text}", Chat.of(task))


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    run = agent(Reply("I look", (Call("look", {"city": key, "password": "hunter2222"}, "c"),)), "done").start(
        key, paused=True
    )
    run.drive()
    assert key not in (text := json.dumps(to_json(run))) and "hunter2222" not in text


def test_deeply_nested_data_and_nan_are_read_back(restored: Restored) -> None:
    deep: Any = "deep"
    for _ in range(500):
        deep = [deep]
    run = agent(Reply("x", (Call("look", {"city": "Oslo", "deep": deep, "nan": float("nan")}, "c"),)), "done").start(
        "q", paused=True
    )
    run.drive()
    (row,) = [row for row in rows_of(copied(to_json(run))) if getattr(row, "kind", "") == "act"]
    arguments = row.step.call.arguments  # type: ignore[union-attr]
    assert arguments["nan"] != arguments["nan"] and str(arguments["deep"]) == str(deep)


# -- invalid recordings ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return copied(to_json(changed_run()))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "'format'"),
        ([], "'format'"),
        ({"format": "other"}, "'format'"),
        ({"format": "agentkit.run", "version": 3}, "version 3.*newer"),
        ({"format": "agentkit.run", "version": 1}, "version 1.*older"),
        ({"format": "agentkit.run", "version": "x"}, "version 'x'"),
        ({"format": "agentkit.run", "version": 2}, "no 'run'"),
    ],
)
def test_a_value_that_is_not_a_recording_is_refused_with_what_is_missing(value: Any, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        rows_of(value)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda d: d["rows"].pop(3), "row 4 of the recording is missing"),
        (lambda d: d["rows"].pop(), "is missing, and possibly more"),
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
        (lambda d: d.update(run="other"), "run 'other' is missing from the list 'runs'"),
        (lambda d: d.update(runs=[]), "'runs'"),
        (lambda d: d.update(rows={"a": 1}), "no rows"),
    ],
)
def test_a_damaged_recording_is_refused_with_the_damaged_row(
    data: dict[str, Any], change: Callable[[Any], Any], error: str
) -> None:
    damaged = copy.deepcopy(data)
    change(damaged)
    with pytest.raises(UsageError, match=error):
        rows_of(damaged)


@pytest.mark.parametrize(
    ("number", "change", "error"),
    [
        (2, {"parent": 77}, "refers to row 77"),
        (2, {"parent": "x"}, r"contains a str instead of an int \(Entry.parent\)"),
        (2, {"entry": "dream"}, "unknown kind 'dream'"),
        (2, {"result": {"json": "x"}}, r"contains a str instead of a Reply \(Entry.result\)"),
        (2, {"started": "yesterday"}, "Entry.started"),
        (2, {"colour": "x"}, "cannot be read"),
        (2, {"step": {"do": "conclude", "role": "x", "answer": "y"}}, "is of kind 'think' but has no such step"),
        (
            2,
            {"step": {"do": "think", "role": "x", "chat": {"is": "0" * 32}, "choice": "sing"}},
            "not one of auto, none",
        ),
        (1, {"result": {"json": {"task": []}}}, "has no valid 'engine'"),
        (1, {"result": {"json": {}}}, "has no valid 'task'"),
    ],
)
def test_an_invalid_row_with_a_correct_digest_is_refused(
    data: dict[str, Any], number: int, change: Any, error: str
) -> None:
    forged = copy.deepcopy(data)
    forged["rows"][number - 1]["row"].update(change)
    with pytest.raises(UsageError, match=error):
        rows_of(with_new_digests(forged))


def with_new_digests(data: dict[str, Any]) -> dict[str, Any]:
    """Compute all digests again, as an attacker would."""
    before = ""
    for record in data["rows"]:
        record["digest"] = before = recording._chained_digest(before, record)
    data["digest"] = before
    return data


@pytest.mark.parametrize("changes", ["x", {"options": []}, {"task": []}, {"synthesize": "yes"}])
def test_a_fork_that_changes_what_a_fork_cannot_change_is_refused(changes: Any) -> None:
    data = Agent("echo", journal="memory").run("q").run.fork(1).to_json()
    data["rows"][-1]["row"]["data"]["changes"] = changes
    with pytest.raises(UsageError, match="with changes that a fork cannot have"):
        rows_of(with_new_digests(data))


@pytest.mark.parametrize("lost", ["x", {"": 5}, {"": {"input": "x"}}, {"": {"calls": -9}}, {"": {"colour": 1}}])
def test_a_wrong_account_of_what_failed_calls_used_is_refused(lost: Any) -> None:
    data = Agent(lambda request: 1 / 0, journal="memory").run("q").run.to_json()
    assert data["rows"][-1]["row"]["data"]["lost"][""]["calls"] == 1
    data["rows"][-1]["row"]["data"]["lost"] = lost
    with pytest.raises(UsageError, match="without a valid 'lost'"):
        rows_of(with_new_digests(data))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "wizard", "text": "x"},
        {"role": "tool", "text": 5},
        {"role": "tool", "text": "x", "calls": [{"name": 5}]},
        {"text": "x"},
    ],
)
def test_an_invalid_message_is_refused(data: dict[str, Any], message: Any) -> None:
    forged = copy.deepcopy(data)
    forged["rows"][1]["new"].append(message)
    with pytest.raises(UsageError, match="row 2 of the recording"):
        rows_of(with_new_digests(forged))


def test_a_row_with_one_wrong_value_is_refused_or_harmless(data: dict[str, Any]) -> None:
    for number, record in enumerate(data["rows"]):
        for key in record["row"]:
            for value in (None, 5, "x", [], {}, [[]], {"json": [1]}, -1, {"is": 1}):
                forged = copy.deepcopy({**data, "rows": data["rows"][: number + 1]})
                forged["rows"][number]["row"][key] = value
                try:
                    rows = rows_of(with_new_digests({**forged, "line": [1]}))
                except UsageError:
                    continue
                assert len(rows) == number + 1 and repr(rows[number])


def test_a_damaged_packed_recording_is_refused(data: dict[str, Any]) -> None:
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
    assert rows_of(with_new_digests(later))[-1] == Note("news", {"x": 1}, 0.0, run, len(later["rows"]))


def test_tags_are_exported_and_come_back_as_data() -> None:
    run = agent("one").run("How is it?", name="weather.1", tags={"experiment": "weather", "case": "1"}).run
    data = copied(to_json(run))
    assert data["runs"][0]["tags"] == {"experiment": "weather", "case": "1"}
    journal = MemoryJournal()
    loaded = agent(journal=journal).load(data)
    assert [info.run for info in journal.runs(tags={"experiment": "weather"})] == [loaded.id]
    assert journal.runs("weather.") == []  # a loaded run has a new name, and is not taken for the other one
    assert "tags" not in to_json(agent("one").run("How is it?").run)["runs"][0]


@pytest.mark.parametrize(
    "tags", [3, ["a"], {"a": 1}, {"": "x"}, {"a": "x" * 300}, {str(n): "" for n in range(30)}, None]
)
def test_tags_that_are_none_are_refused_and_nothing_is_added(tags: Any) -> None:
    data = copied(to_json(agent("one").run("How is it?").run))
    data["runs"][0]["tags"] = tags
    journal = MemoryJournal()
    with pytest.raises(UsageError, match="no valid 'tags'"):
        agent(journal=journal).load(data)
    assert journal.runs() == []


def test_secrets_in_tags_are_masked() -> None:
    data = to_json(agent("one").run("How is it?", tags={"key": "sk-abcdefghijklmnopqrstuvwxyz012345"}).run)
    assert "abcdefghijklmnop" not in json.dumps(data)
