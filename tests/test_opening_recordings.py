"""A file is data: it names engines, models and paths only as far as whoever opens it allows."""

from __future__ import annotations

import copy
import json
import os
import random
import socket
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crafted_recordings import with_new_digests

from agentkit import Agent, Answer, Chat, Loop, Think, load
from agentkit.agent import persona
from agentkit.config import read_config
from agentkit.core import outside
from agentkit.core.steps import After, All
from agentkit.engines.registry import ENGINES, configure, registered
from agentkit.errors import AgentkitError, NotRecorded, OptionError, ReadOnly, Unknown, UsageError
from agentkit.export import data_of_notebook, to_html, to_markdown, to_notebook
from agentkit.export import json as recording
from agentkit.export.playback import playback
from agentkit.journal import MemoryJournal, open_journal
from agentkit.models import Cassette, Scripted, Tape
from agentkit.models.brain import is_private
from agentkit.stepper.frames import Batch


def brief(task: Any) -> Any:
    """Answer at once: an engine that is not registered."""
    return Answer((yield Think(Chat.of(task))).text, Chat.of(task))


def recorded(engine: Any, *replies: str) -> dict[str, Any]:
    """Return the recording of a run, as it is read from a file."""
    run = Agent(Scripted(replies or ["rain"]), engine=engine, journal="memory").run("q").run
    data: dict[str, Any] = json.loads(json.dumps(run.to_json()))
    return data


def changed(data: dict[str, Any], **spec: Any) -> dict[str, Any]:
    data = copy.deepcopy(data)
    data["rows"][0]["row"]["result"]["json"].update(spec)
    return with_new_digests(data)


# -- engines -----------------------------------------------------------------------------------------------------------


def test_an_engine_that_is_not_registered_opens_read_only_with_its_trace_and_answer() -> None:
    run = load(recorded(brief))
    assert run.status == "readonly" and run.answer == "rain" and "rain" in repr(run) and len(run.entries) == 3
    assert f"it was opened without engine '{__name__}:brief'" in run.read_only
    assert "open it with Agent(..., engine=that function)" in run.read_only
    for change in (run.drive, run.step, run.play):
        with pytest.raises(ReadOnly, match="read-only"):
            change()
    assert len(run.entries) == 3 and run.to_json()["line"] == [1, 2, 3]


def test_an_unfinished_run_without_its_engine_opens_too() -> None:
    run = Agent(Scripted(["rain"]), engine=brief, journal="memory").start("q", paused=True)
    next(run)
    opened = load(run.to_json())
    assert opened.status == "readonly" and opened.answer is None and not opened.pending and len(opened.entries) == 2


def test_whoever_passes_the_engine_in_can_go_on() -> None:
    run = load(recorded(brief), Agent(Scripted(["snow"]), engine=brief, journal="memory"))
    assert not run.read_only
    assert run.undo().undo().drive().answer == "snow"


def test_a_registered_engine_is_found_without_an_agent() -> None:
    run = load(recorded(Loop("reflexion", actor="chain_of_thought"), "rain", "SATISFACTORY"))
    assert not run.read_only and run.agent.engine_name == ENGINES["reflexion"] and run.answer == "rain"


@pytest.mark.parametrize(
    "name", ["os:getcwd", {"engine": "os:getcwd"}, {"engine": "react", "max_iterations": 5, "x": 1}]
)
def test_a_nested_engine_of_a_file_is_registered_or_passed_in(name: Any) -> None:
    data = changed(recorded("reflexion", "rain", "SATISFACTORY"), options={"actor": name})
    run = load(data)
    assert run.status == "readonly" and run.answer == "rain"
    assert "unknown" in run.read_only


def test_a_nested_engine_that_was_passed_as_a_function_is_used_again() -> None:
    data = recorded(Loop("reflexion", actor=brief), "rain", "SATISFACTORY")
    assert "Agent(..., engine=Loop(..., actor=that function))" in load(data).read_only
    agent = Agent(Scripted(["snow", "SATISFACTORY"]), engine=Loop("reflexion", actor=brief), journal="memory")
    assert load(data, agent).fork(0).drive().answer == "snow"


def test_the_same_holds_for_a_journal(tmp_path: Path) -> None:
    agent = Agent(Scripted(["rain", "SATISFACTORY"]), engine=Loop("reflexion", actor=brief), journal=tmp_path / "r.db")
    run = agent.run("q").run
    run.close()
    opened = Agent("offline", engine="reflexion", journal=tmp_path / "r.db").resume(run.id)
    assert opened.status == "readonly" and opened.answer == "rain" and "actor=that function" in opened.read_only


@pytest.mark.parametrize("value", [0, -5, "x", None, 1.5, [1], {"a": 1}])
def test_options_of_a_file_are_checked_like_those_of_a_call(value: Any) -> None:
    run = load(changed(recorded("react"), options={"max_iterations": value}))
    assert run.status == "readonly" and "max_iterations must be" in run.read_only and run.answer == "rain"


def test_an_option_that_was_a_tuple_is_a_list_in_a_file_and_fits() -> None:
    def counting(task: Any, *, words: tuple[str, ...] = ()) -> Any:
        return Answer((yield Think(Chat.of(task))).text, Chat.of(task))

    agent = Agent(Scripted(["rain"]), engine=Loop(counting, words=("a", "b")), journal="memory")
    assert not load(recorded(Loop(counting, words=("a", "b"))), agent).read_only


def test_engines_are_nested_to_a_limited_depth() -> None:
    spec: Any = "react"
    for _ in range(300):
        spec = {"engine": "reflexion", "actor": spec}
    assert "20 levels deep" in load(changed(recorded("reflexion"), options={"actor": spec})).read_only
    endless: dict[str, Any] = {"engine": "reflexion"}
    endless["actor"] = endless
    for nested in (spec, endless):
        with pytest.raises(OptionError, match="20 levels deep"):
            configure(nested)


@pytest.mark.parametrize("engine", ["json:dumps", "os:getcwd", ":x", "x:", ".a:b", "json:", "no_such_module:x"])
def test_an_import_path_that_is_not_an_engine_is_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="engine"):
        Agent("echo", engine=engine)
    assert registered(engine) is None


def test_what_a_part_needs_is_found_in_linear_time() -> None:
    parts = [After(tuple(need for need in (n - 1, n - 2) if need >= 0), lambda *results: None) for n in range(400)]
    assert Batch(All(tuple(parts)), "").needs(399) == set(range(399))


# -- sessions and types ------------------------------------------------------------------------------------------------


def test_a_recording_changes_no_session_of_whoever_opens_it(tmp_path: Path) -> None:
    history = [{"role": "user", "text": "x"}, {"role": "assistant", "text": "y"}]
    session = {"id": "mine", "user": "me", "turns": 1, "upto": 10**6}
    data = changed(recorded("react"), session=session, history=history)
    agent = Agent(Scripted(["rain", "a false summary"]), journal=tmp_path / "runs.db")
    run = load(data, agent)
    run.fork(0).drive()
    run.undo().undo().drive()
    assert agent.memory.summary("mine", user="me") == (0, "") and agent.memory.turns("mine", user="me") == []


def test_a_type_that_a_recording_names_is_only_a_pydantic_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loud:
        called = False

        @classmethod
        def model_json_schema(cls) -> dict[str, Any]:
            cls.called = True
            return {}

        model_validate_json = model_json_schema

    monkeypatch.setitem(globals(), "Loud", Loud)
    output = {"name": "x", "schema": {"type": "object"}, "type": f"{__name__}:Loud"}
    assert load(changed(recorded("react", "{}"), output=output)).result.output == {} and not Loud.called


# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_packed_recording_that_would_take_too_much_memory_names_the_limit() -> None:
    for content in (b'{"a":' + b"[0]," * (8 << 20), b" " * (100 << 20)):
        packed = recording.base64.b64encode(zlib.compress(content, 9)).decode()
        with pytest.raises(UsageError, match=r"96 MB of memory|limit is 96 MB"):
            recording.unpack(packed)


def test_a_large_recording_that_repeats_itself_is_packed_so_that_it_can_be_unpacked() -> None:
    data = {"text": "again " * 5_000_000}
    assert recording.unpack(recording.pack(data)) == data


def test_the_estimate_is_no_less_than_what_a_text_takes() -> None:
    import tracemalloc

    choose = random.Random(5)
    for junk in ("[0],", '{"":0},', "{},", '"ab",', "1000,", "[[]],", '{"aa":{}},', '{"a":0,"b":1.5,"c":"xyz"},'):
        text = f"[{junk * (choose.randrange(100_000, 200_000) // len(junk))}0]"
        tracemalloc.start()
        data = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert data and 2 * taken < outside.memory_needed(text.encode()) < 20 * taken + 8 * len(text)


def test_a_chat_with_many_injected_messages_is_refused() -> None:
    data = recorded("react")
    messages = [json.dumps({"notes": [f"n{n}"], "role": "user", "text": ""}) for n in range(2_000)]
    record = next(record for record in data["rows"] if "step" in record["row"])
    names = [recording.digest(message.encode()) for message in messages]
    record["row"]["step"]["chat"] = {"is": "x", "past": "0" * 32, "then": names}
    record["new"] += messages
    with pytest.raises(UsageError, match="too many injected messages"):
        load(with_new_digests(data))


@pytest.mark.parametrize("path", ["[0.0]" * 60, ".1" * 600, "x", "[1.1<1", "." + "1" * 5000, "[1.2]]"])
def test_a_step_has_a_path_of_limited_depth(path: str) -> None:
    data = recorded("react")
    data["rows"][1]["row"]["path"] = path
    with pytest.raises(UsageError, match="row 2 of the recording"):
        load(with_new_digests(data))


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -1.0, 1e18, 10**30])
def test_a_time_that_cannot_be_shown_is_refused(moment: float) -> None:
    data = recorded("react")
    data["rows"][1]["row"]["started"] = moment
    with pytest.raises(UsageError, match="row 2 of the recording"):
        load(with_new_digests(data))
    data = recorded("react")
    data["runs"][0]["created"] = moment
    with pytest.raises(UsageError, match="no valid 'created'"):
        load(data)


# -- every door --------------------------------------------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000
FILES = (b"", b"null", b"[]", b"5", b"{}", DEEP, b'{"a":' * 100_000, b"1" * 10_000, b"\xff\x00", b'{"cells": 5}')
VALUES: tuple[Any, ...] = (5, None, b"x", [], "a\0b", "\ud800", "~nobody-of-this-name/x", "", "/", object(), 1.5, True)
OPENERS: dict[str, Callable[[Any], Any]] = {
    "load": load,
    "agent.load": lambda value: Agent("echo", journal=MemoryJournal()).load(value),
    "resume": lambda value: Agent("echo", journal=MemoryJournal()).resume(value),
    "notebook": data_of_notebook,
    "playback": lambda value: playback(recording=value),
    "cassette": Cassette,
    "tape": Tape,
    "persona": persona.load,
}


@pytest.mark.parametrize("opener", OPENERS)
def test_a_wrong_value_is_a_typed_error_at_every_door(opener: str) -> None:
    for value in VALUES:
        with pytest.raises(AgentkitError) as refused:
            OPENERS[opener](value)
        assert "\n" not in str(refused.value) and str(refused.value)


@pytest.mark.parametrize("opener", ["load", "notebook", "cassette", "tape"])
def test_a_wrong_file_is_a_typed_error_at_every_door(opener: str, tmp_path: Path) -> None:
    for number, content in enumerate(FILES):
        path = tmp_path / f"{number}.ipynb"
        path.write_bytes(content)
        if opener == "cassette" and content.startswith(b"{") and len(content) < 100:
            continue  # an empty cassette
        with pytest.raises(AgentkitError):
            OPENERS[opener](path)
    os.mkfifo(tmp_path / "pipe")
    for device in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(UsageError, match=r"regular file|directory"):
            OPENERS[opener](device)


@pytest.mark.parametrize("spec", ["a\0b", "~nobody-of-this-name/x", "\ud800"])
def test_a_journal_at_an_impossible_path_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="a journal cannot be"):
        open_journal(spec)


@pytest.mark.parametrize("cursor", ["1", None, 1.5, [], True])
def test_a_cursor_is_an_integer(cursor: Any) -> None:
    with pytest.raises(UsageError, match="a cursor must be an integer"):
        Agent("echo", journal="memory").run("q").run.events(cursor)


def test_a_deep_config_file_is_a_typed_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text("a = " + "[" * 5_000)
    with pytest.raises(UsageError, match="cannot read"):
        read_config()


@pytest.mark.parametrize(
    "tape",
    [
        [],
        {"recordings": 5},
        {"recordings": [5]},
        {"recordings": [{"key": 5, "request": {}, "reply": {}}]},
        {"recordings": [{"key": "k", "request": [], "reply": {}}]},
        {"recordings": [{"key": "k", "request": {}, "reply": {"text": 5}}]},
        {"recordings": [{"key": "k", "request": {}, "reply": {"text": "x", "calls": 5}}]},
        {"recordings": [], "abilities": 5},
    ],
)
def test_a_cassette_with_a_wrong_value_says_which(tape: Any) -> None:
    with pytest.raises(UsageError, match="cassette"):
        Cassette(tape)


def test_a_missing_cassette_still_says_how_to_record_it(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="record it first"):
        Cassette(tmp_path / "none.json")


# -- personas ----------------------------------------------------------------------------------------------------------


def of(engine: str = "react", **options: Any) -> dict[str, Any]:
    return {"solvers": [engine], "plugin-config": {engine: options}}


@pytest.mark.parametrize("engine", ENGINES)
def test_without_its_brain_a_persona_replies_so_and_asks_no_other_model(
    engine: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    with pytest.warns(RuntimeWarning, match="unknown model 'ovos-nothing'"):
        agent = persona.load(of(engine, brain="ovos-nothing", toolboxes=["math"]), journal="memory")
    assert agent.run("What is 2 + 2?").answer == "Error: no brain configured."
    assert "the persona cannot reply: unknown model 'ovos-nothing'" in caplog.text


@pytest.mark.parametrize("brain", [None, 5, [], {"a": 1}, "", "http://", "http://user:pw@x/"])
def test_a_brain_that_is_not_a_model_is_no_brain(brain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    with pytest.warns(RuntimeWarning):
        agent = persona.load(of(brain=brain), journal="memory")
    assert agent.run("q").answer == "Error: no brain configured."


def test_a_persona_without_a_brain_is_answered_by_the_usual_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    assert persona.load(of(), journal="memory").model.name == "echo"


def test_a_url_of_a_persona_is_asked_only_when_it_is_used_and_a_private_one_never(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        agent = persona.load(of(brain=url, roles={"evaluate": url}), journal="memory")
        repr(agent)
        assert agent.run("q").answer == "Error: no brain configured."
        with pytest.raises(TimeoutError):
            server.accept()
    assert "only a file names it" in caplog.text and "persona.load(config, model=URL)" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0x7f.1"])
def test_private_addresses_are_known(host: str) -> None:
    assert is_private(host)
    assert not is_private("93.184.215.14")


@pytest.mark.parametrize("solvers", [5, [5], [[]], {"a": 1}, True])
def test_solvers_are_names(solvers: Any) -> None:
    with pytest.raises(UsageError, match="solvers of a persona must be a list of names"):
        persona.load({"solvers": solvers})


def test_a_persona_names_no_code_and_no_paths(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning), pytest.raises(UsageError, match="none of the engines"):
        persona.load({"solvers": ["os:getcwd"]})
    with pytest.warns(RuntimeWarning, match="unknown engine 'os:getcwd'"), pytest.raises(UsageError):
        persona.load(of("reflexion", actor="os:getcwd"))
    with pytest.warns(RuntimeWarning, match="a persona cannot set") as warned:
        agent = persona.load(of(journal=str(tmp_path / "x.db"), discover=str(tmp_path)), "echo")
    assert len(warned) == 2 and agent.options == {}


# -- files that are written --------------------------------------------------------------------------------------------


def test_exports_and_cassettes_are_for_their_owner_only_and_keep_a_mode_that_was_set(tmp_path: Path) -> None:
    run = Agent("echo", journal="memory").run("q").run
    before = os.umask(0)
    try:
        to_html(run, tmp_path / "a.html")
        to_markdown(run, tmp_path / "a.md")
        to_notebook(run, tmp_path / "a.ipynb")
        Agent(Cassette(tmp_path / "a.json", Scripted(["x"]), "record"), journal="memory").run("q")
    finally:
        os.umask(before)
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == dict.fromkeys(
        ("a.html", "a.md", "a.ipynb", "a.json"), "0o600"
    )
    (tmp_path / "a.md").chmod(0o644)
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    to_markdown(run, tmp_path / "link.md", overwrite=True)
    assert stat.S_IMODE((tmp_path / "a.md").stat().st_mode) == 0o644 and (tmp_path / "link.md").is_symlink()


def test_an_export_can_go_to_a_pipe() -> None:
    to_markdown(Agent("echo", journal="memory").run("q").run, os.devnull)
    assert not Path(os.devnull).is_file()


def test_an_unknown_engine_says_which_are_known() -> None:
    with pytest.raises(Unknown, match="did you mean 'react'"):
        Agent("echo", engine="reactt")
