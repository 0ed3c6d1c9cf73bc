"""Exchanges that are recorded once and played any number of times: the same bytes, no network, no secrets."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, cut, delta, fault, lines, parts, sse, stall

from agentkit import Agent, tool
from agentkit.errors import ModelTimeout, ModelUnreachable, NotRecorded, UsageError
from agentkit.models import local_servers
from agentkit.models.openai import OpenAI
from agentkit.models.tape import Tape, pieces_of
from agentkit.models.transport.retries import Retries

pytestmark = pytest.mark.slow

KEY = "sk-proj-abcdefghij0123456789abcdefghij"
QUICK = Retries(2, first=0.01)


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent(url: str, key: str | None = KEY) -> Agent:
    return Agent(OpenAI("m", base_url=url + "/v1", api_key=key, retries=QUICK), [add], journal=None)


def drive(made: Agent, background: bool) -> Any:
    return made.start("2+3?").wait() if background else made.run("2+3?")


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_a_run_is_played_from_its_tape_without_a_host_or_a_key(tmp_path: Path, background: bool) -> None:
    path = tmp_path / "deep" / "tape.json"
    acts = [fault("429 Too Many Requests", "slow", retry_after="0"), answer(calling("add", '{"a": 2, "b": 3}'))]
    with Loopback([*acts, parts(cut(completion("five 5️⃣"), 7))]) as host, Tape(path, "record"):
        first = drive(agent(host.url), background)
    assert len(host.got) == 3
    with Tape(path) as tape:
        again = drive(agent("http://127.0.0.1:9", None), background)
    assert (first.answer, again.answer) == ("five 5️⃣", "five 5️⃣") and len(tape.exchanges) == 3
    assert [repr(entry) for entry in again.run.entries[1:]] != [] and again.tool_calls_count == 1


def test_a_replay_waits_neither_for_retry_after_nor_for_a_rate_limit(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    busy = fault("429 Too Many Requests", "slow", retry_after="0")
    with Loopback([busy, busy, answer(completion("at last"))]) as host, Tape(path, "record"):
        assert agent(host.url).run("q").answer == "at last"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"retry-after": "0"', '"retry-after": "59"'), encoding="utf-8"
    )
    with Tape(path):
        model = OpenAI("m", base_url="http://127.0.0.1:9/v1", per_minute=1)
        runs = [Agent(model, [add], journal=None).start("q").wait(20) for _ in range(2)]
    assert [result.answer for result in runs] == ["at last"] * 2


def test_the_same_bytes_are_played_in_the_same_pieces(tmp_path: Path) -> None:
    path, pieces = tmp_path / "tape.json", cut(completion("naïve 😀" * 20), 33)
    with Loopback([parts(pieces, pause=0.002)]) as host, Tape(path, "record") as tape:
        agent(host.url).run("q")
        assert b"".join(pieces_of(tape.exchanges[0]["response"])) == b"".join(pieces)
    played = pieces_of(json.loads(path.read_text(encoding="utf-8"))["exchanges"][0]["response"])
    assert b"".join(played) == b"".join(pieces) and len(played) > 10


def test_binary_data_and_broken_connections_are_played_as_they_were(tmp_path: Path) -> None:
    noise, path = bytes(range(256)) * 3, tmp_path / "tape.json"
    with Loopback([answer(noise), parts([sse(delta(content="half"))], whole=False)]) as host, Tape(path, "record"):
        model = OpenAI("m", base_url=host.url, retries=1)
        failed = Agent(model, journal=None).run("q")
    with Tape(path) as tape:
        again = Agent(OpenAI("m", base_url="http://127.0.0.1:9", retries=1), journal=None).run("q")
    assert pieces_of(tape.exchanges[0]["response"])[0][:3] == noise[:3]
    assert type(failed.error) is type(again.error) is ModelUnreachable


def test_no_secret_reaches_the_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PASSWORD", "correct-horse-battery")
    stream = completion(f"the key is {KEY} and correct-horse-battery")
    path = tmp_path / "tape.json"
    with Loopback([answer(stream, set_cookie="session=abcdef123456")]) as host, Tape(path, "record"):
        agent(host.url).run(f"keep {KEY}")
    kept = path.read_text(encoding="utf-8")
    for secret in (KEY, "correct-horse", "session=", "authorization", "Bearer"):
        assert secret not in kept, secret
    with Tape(path):
        assert "[secret" in agent("http://127.0.0.1:9").run(f"keep {KEY}").answer


def test_no_secret_reaches_the_tape_in_a_url(tmp_path: Path) -> None:
    path, key = tmp_path / "tape.json", "plain4words-in2a5query"
    elsewhere = answer("", "302 Found", location=f"https://login.example/{KEY}")
    with Loopback([elsewhere]) as host, Tape(path, "record"):
        Agent(OpenAI("m", base_url=f"{host.url}/v1?key={key}"), journal=None).run("q")
        assert key in host.got[0].line
    kept = path.read_text(encoding="utf-8")
    assert "login.example" in kept and KEY not in kept and key not in kept


def test_no_secret_reaches_the_tape_in_binary_data(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    with Loopback([answer(b"\xff\xfe " + KEY.encode())]) as host, Tape(path, "record") as tape:
        agent(host.url).run("q")
    assert b"[secret" in (kept := b"".join(pieces_of(tape.exchanges[0]["response"]))) and KEY.encode() not in kept


def test_no_secret_reaches_the_tape_in_a_compressed_response(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    packed = [gzip.compress(completion(text)) for text in (f"it is {KEY}, really", "nothing to hide")]
    with Loopback([answer(body, content_encoding="gzip") for body in packed]) as host, Tape(path, "record") as tape:
        first = [agent(host.url).run(task).answer for task in "ab"]
        kept = [b"".join(pieces_of(exchange["response"])) for exchange in tape.exchanges]
    assert KEY.encode() not in kept[0] and b"[secret" in kept[0] and kept[1] == packed[1]
    with Tape(path):
        assert [agent("http://127.0.0.1:9").run(task).answer for task in "ab"] == first


def test_a_missing_request_raises_and_shows_the_closest_recording(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    with Loopback([answer(completion("ok"))]) as host, Tape(path, "record"):
        agent(host.url).run("the weather in Oslo")
    with Tape(path):
        result = agent("http://127.0.0.1:9").run("the weather in Rome")
    assert isinstance(result.error, NotRecorded) and "Oslo" in str(result.error) and "Rome" in str(result.error)
    with pytest.raises(NotRecorded, match="record it first"):
        Tape(tmp_path / "none.json")
    with pytest.raises(UsageError, match="must be one of"):
        Tape(path, "rewind")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"request": 1},
        {"response": {}},
        {"response": {"status": 1, "base64": "abc"}},
        {"response": {"status": 1, "sizes": "x"}},
    ],
)
def test_the_error_for_a_damaged_tape_names_the_exchange(changed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    with Loopback([answer(completion("ok"))]) as host, Tape(path, "record") as tape:
        agent(host.url).run("q")
        good = tape.exchanges[0]
    damaged = {**good, **changed} if changed else {}
    path.write_text(json.dumps({"agentkit_tape": 1, "exchanges": [good, damaged]}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"tape\.json is not a tape: its exchange 2 cannot be read"):
        Tape(path)


def test_auto_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    with Loopback([answer(completion("ok"))]) as host:
        for task in ("a", "b", "a"):
            with Tape(path, "auto"):
                assert agent(host.url).run(task).answer == "ok"
        assert len(host.got) == 2


def test_a_response_that_was_stopped_is_not_recorded(tmp_path: Path) -> None:
    path, begun = tmp_path / "tape.json", threading.Event()
    with Loopback([stall([sse(delta(content="half a "))])]) as host, Tape(path, "record") as tape:
        run = agent(host.url).start("q", paused=True)
        run.on_event(lambda event: begun.set() if event.kind == "model_chunk" else None)
        run.play()
        assert begun.wait(10)
        run.stop()
        run.wait()
        assert host.wait_closed() and tape.exchanges == []


def open_after(data: bytes) -> Any:
    def act(connection: Any, over: Any) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + data)
        connection.settimeout(10)
        connection.recv(1)

    return act


def test_a_response_that_was_whole_or_timed_out_is_recorded(tmp_path: Path) -> None:
    path, whole = tmp_path / "tape.json", completion("whole").removesuffix(b"data: [DONE]\n\n")
    with Loopback([open_after(whole), open_after(sse(delta(content="half")))]) as host, Tape(path, "record"):
        assert agent(host.url).run("a").answer == "whole"
        late = Agent(OpenAI("m", base_url=host.url, timeout=0.5, retries=0), journal=None).run("b")
    assert isinstance(late.error, ModelTimeout)
    with Tape(path) as tape:
        assert agent("http://127.0.0.1:9").run("a").answer == "whole"
        assert "half" in tape.exchanges[1]["response"]["text"]


def json_answer(**data: Any) -> bytes:
    return answer(json.dumps(data), kind="application/json")


def test_the_answers_of_local_servers_about_their_models_are_played_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the model would be asked in another dialect than it was recorded in, or not be found at all."""
    ollama, other = tmp_path / "ollama.json", tmp_path / "other.json"
    no_tools, final = (
        json_answer(capabilities=["completion"]),
        lines({"message": {"content": "FINAL_ANSWER: 5"}, "done": True}),
    )
    with Loopback([no_tools, answer(final)]) as host, Tape(ollama, "record"):
        monkeypatch.setenv("OLLAMA_HOST", host.host)
        assert Agent("ollama:tiny", [add], journal=None).run("2+3?").answer == "5"
    with Loopback([json_answer(data=[{"id": "qwen3"}]), answer(completion("five"))]) as host, Tape(other, "record"):
        assert Agent(host.url, journal=None).run("2+3?").answer == "five"
    with Tape(ollama):
        assert Agent("ollama:tiny", [add], journal=None).run("2+3?").answer == "5"
    with Tape(other):
        assert Agent(host.url, journal=None).run("2+3?").answer == "five"


def test_a_server_that_was_found_is_found_again_on_the_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tape.json"
    with Loopback([json_answer(data=[{"id": "qwen3"}]), answer(completion("five"))]) as host, Tape(path, "record"):
        monkeypatch.setenv("AGENTKIT_LOCAL", f"{host.url}/v1")
        (name,) = local_servers.models_at(f"{host.url}/v1", 20)
        assert Agent(f"{host.url}/v1#{name}", journal=None).run("2+3?").answer == "five"
    with Tape(path):
        agent_without_model = Agent(journal=None)
        assert (
            agent_without_model.model.name == f"{host.url}/v1#qwen3"
            and agent_without_model.run("2+3?").answer == "five"
        )
    assert Agent(journal=None).model.name == "offline"


def test_each_of_several_servers_has_its_own_answers_on_the_tape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, listed = tmp_path / "tape.json", [json_answer(data=[{"id": name}]) for name in ("qwen3", "llama3")]
    with Loopback(listed[:1]) as first_host, Loopback(listed[1:]) as second_host, Tape(path, "record"):
        urls = [f"{host.url}/v1" for host in (first_host, second_host)]
        recorded = [local_servers.models_at(url, 20) for url in urls]
    monkeypatch.setenv("AGENTKIT_LOCAL", ",".join(["http://127.0.0.1:9/v1", *reversed(urls)]))
    with Tape(path):
        assert [(server.address, server.models) for server in local_servers.servers()] == list(
            zip(urls, recorded, strict=True)
        )[::-1]
        assert (
            local_servers.models_at("http://127.0.0.1:9/v1", 20) == recorded[0]
        )  # a host that moved is recognized by its path


TEST = """
from agentkit import Agent
from agentkit.models.openai import OpenAI


def ask(task):
    import os
    model = OpenAI("m", base_url=os.environ.get("HOST", "http://127.0.0.1:9"))
    assert Agent(model, journal=None).run(task).answer == "from the tape"

def test_it(agentkit_tape):
    ask("one")

class TestMore:
    def test_it(self, agentkit_tape):
        ask("two")
"""


def test_the_fixture_records_once_and_then_plays(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TEST)

    def run(*more: str, **env: str) -> str:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
            *more,
            str(tmp_path),
        ]
        return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, cwd=tmp_path).stdout

    assert "there is no tape" in run()
    with Loopback([answer(completion("from the tape"))]) as host:
        assert "2 passed" in run("--agentkit-tape=record", HOST=host.url)
    assert {path.name for path in (tmp_path / "tapes" / "test_mine").iterdir()} == {
        "test_it.json",
        "TestMore-test_it.json",
    }
    assert "2 passed" in run()
