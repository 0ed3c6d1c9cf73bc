"""Which model answers: the one that was named, else what this machine has."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, answer, completion
from typer.testing import CliRunner

from agentkit import Agent, cli
from agentkit.errors import Unknown, UsageError
from agentkit.models import local_servers, ollama, resolve
from agentkit.models.base import Abilities
from agentkit.models.tape import Tape


def listing(*names: str) -> bytes:
    return answer(json.dumps({"object": "list", "data": [{"id": name} for name in names]}), kind="application/json")


def tags(*names: str) -> bytes:
    return answer(json.dumps({"models": [{"name": name} for name in names]}), kind="application/json")


@pytest.fixture(autouse=True)
def nothing_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    resolve._announced.clear()


def test_a_name_with_a_provider_is_a_model_of_that_provider() -> None:
    for name, host in (
        ("openai:gpt-5-mini", "api.openai.com"),
        ("anthropic:claude-haiku-4-5", "api.anthropic.com"),
        ("ollama:qwen3:8b", "127.0.0.1:11434"),
    ):
        model = resolve.find(name)
        assert (model.name, model.endpoint.host, resolve.is_name(model.name)) == (name, host, True)
    for name in ("openai:", "ollama: "):
        with pytest.raises(UsageError, match="names no model"):
            resolve.find(name)
    with pytest.raises(Unknown, match="openai:NAME"):
        resolve.find("my-own")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("gpt-4.1", "openai:gpt-4.1"),
        ("openai/gpt-5", "openai:gpt-5"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("localhost", "http://localhost"),
        ("gpu-box:8000", "http://gpu-box:8000"),
        ("llm.example.com/v1", "http://llm.example.com/v1"),
        ("ecko", "echo"),
        ("OpenAI:gpt-5", "openai:gpt-5"),
        ("Ollama :qwen3:8b", "ollama:qwen3:8b"),
        ("GPT-5", "openai:gpt-5"),
        ("o3", "openai:o3"),
    ],
)
def test_a_name_without_its_provider_or_scheme_gets_the_right_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(Unknown, match=f"did you mean '{suggestion}'"):
        resolve.find(name)


@pytest.mark.parametrize("name", ["llama3.1", "llama3.1:8b", "qwen2.5:7b-instruct", "meta/llama-3.1"])
def test_a_name_with_a_version_is_not_mistaken_for_an_address(name: str) -> None:
    with pytest.raises(Unknown, match="unknown model") as refused:
        resolve.find(name)
    assert "http" not in str(refused.value)


def test_an_absent_server_and_one_without_models_have_different_errors() -> None:
    with Loopback([listing()]) as host, pytest.raises(UsageError, match="lists no models"):
        resolve.find(host.url)
    with pytest.raises(UsageError, match=r"v1 did not answer .*refused.* Is it up.*v1#NAME"):
        resolve.find(host.url)


def test_the_full_url_of_the_api_is_cut_to_its_base() -> None:
    with Loopback([listing("m")]) as host:
        assert resolve.find(f"{host.url}/v1/chat/completions").name == f"{host.url}/v1#m"
        assert host.got[0].line == "GET /v1/models HTTP/1.1"


def test_a_url_is_a_server_with_the_api_of_openai_and_its_first_chat_model() -> None:
    with Loopback([listing("nomic-embed-text", "qwen3-8b"), answer(completion("hi"))]) as host:
        model = resolve.find(host.url)
        assert model.name == f"{host.url}/v1#qwen3-8b" and host.got[0].line == "GET /v1/models HTTP/1.1"
        assert "authorization" not in host.got[0].headers
        assert Agent(model.name, journal=None).run("q").answer == "hi"
        assert host.got[1].json["model"] == "qwen3-8b"
    with pytest.raises(UsageError, match="#NAME"):
        resolve.find(host.url)


def test_the_query_of_a_url_is_sent_but_not_shown() -> None:
    with Loopback([answer(completion("hi"))]) as host:
        model = resolve.find(f"{host.url}?key=abc123def456#m")
        assert model.name == f"{host.url}/v1#m" and Agent(model, journal=None).run("q").answer == "hi"
        assert host.got[0].line == "POST /v1/chat/completions?key=abc123def456 HTTP/1.1"
    with pytest.raises(UsageError) as refused:
        resolve.find(f"{host.url}/v1?key=abc123def456")
    assert "abc123def456" not in str(refused.value)


def test_ollama_is_asked_for_the_abilities_of_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    can = answer(json.dumps({"capabilities": ["completion", "thinking"]}), kind="application/json")
    with Loopback([can]) as host:
        monkeypatch.setenv("OLLAMA_HOST", host.host)
        known = Abilities(json=True, stream=True, reasoning=True, schema=True, temperature=True)
        assert resolve.find("ollama:m").abilities == known
        assert host.got[0].json == {"model": "m"}


@pytest.mark.parametrize(
    ("variable", "base"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:9", "http://box:9"),
        ("https://o.example", "https://o.example:443"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:11434", "http://127.0.0.1:11434"),
        ("http://box/ollama", "http://box:80/ollama"),
        ("http://box:11434/api", "http://box:11434"),
        ("HTTP://box:11434/v1", "http://box:11434"),
        ("box:", "http://box:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_itself_reads_it(
    variable: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", variable)
    assert ollama.server_url() == base and ollama.Ollama("m").url == f"{base}/api/chat"


# -- when no model is named --------------------------------------------------------------------------------------------


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a local server, played from a tape: even a busy machine can ask it within 0.2 s."""
    tape = tmp_path / "tape.json"
    with Loopback([listing("qwen3-8b")]) as host, Tape(tape, "record"):
        local_servers.models_at(f"{host.url}/v1", 20)
        assert not {"authorization", "x-api-key"} & host.got[0].headers.keys()
    with Tape(tape):
        yield f"{host.url}/v1"


def test_the_order_is_environment_config_file_local_server_key_offline(
    monkeypatch: pytest.MonkeyPatch, home: Any, address: str
) -> None:
    assert resolve.choose().name == "offline"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    assert resolve.choose() == resolve.Choice(
        "anthropic:claude-haiku-4-5",
        "no model was named, no local server answers, and ANTHROPIC_API_KEY is set",
        "ANTHROPIC_API_KEY",
    )
    monkeypatch.setenv("AGENTKIT_LOCAL", address)
    assert resolve.choose().name == f"{address}#qwen3-8b" and "answers on this machine" in resolve.choose().why
    (home / "config.toml").write_text('model = "ollama:mine"\n')
    assert resolve.choose() == resolve.Choice("ollama:mine", "config.toml names it")
    monkeypatch.setenv("AGENTKIT_MODEL", "echo")
    assert resolve.choose().name == "echo"


def test_an_unreadable_config_file_is_an_error(home: Any) -> None:
    (home / "config.toml").write_text("model =")
    with pytest.raises(UsageError, match=r"cannot read .*config\.toml"):
        Agent().start("q")


def test_a_key_that_is_billed_is_announced_once_before_its_first_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-proj-0123456789abcdef0123"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with caplog.at_level(logging.WARNING, "agentkit"):
        assert Agent(journal=None).model.name == "openai:gpt-5-mini"
        assert [record.getMessage() for record in caplog.records] == [
            "openai:gpt-5-mini answers: no model was named, no local server answers, and OPENAI_API_KEY is set. "
            'What it does is billed to that key. Agent("offline") asks no host.'
        ]
        Agent(journal=None), Agent("openai:gpt-5-mini", journal=None)
    assert len(caplog.records) == 1 and key not in caplog.text


def test_the_search_for_local_servers_does_not_wait_for_a_silent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def silent(connection: Any, over: Any) -> None:
        over.wait(30)
        ended.append("silence")

    with Loopback([silent]) as mute, Loopback([answer("<html>no api</html>")]) as web, Loopback([tags("a:1")]) as good:
        monkeypatch.setenv("AGENTKIT_LOCAL", f"{mute.url}/v1,{web.url}/v1,{good.url},http://127.0.0.1:9")
        looked = (local_servers.servers() for _ in range(50))  # a busy machine may exceed the time once or twice
        found = next(filter(None, looked), [])
        assert [(server.address, server.models) for server in found] == [(good.url, ("a:1",))] and not ended
    monkeypatch.setenv("AGENTKIT_LOCAL", "none")
    assert local_servers.addresses() == {} and local_servers.servers() == []
    monkeypatch.delenv("AGENTKIT_LOCAL")
    assert list(local_servers.addresses()) == ["Ollama", "LM Studio", "llama.cpp", "vLLM"]


def test_the_terminal_lists_the_models_and_why_one_was_chosen(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AGENTKIT_LOCAL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdef0123")
    text = " ".join(CliRunner().invoke(cli.app, ["models"]).stdout.split())
    assert f"* {address}#qwen3-8b is used without -m" in text and "answers on this machine" in text
    assert "OPENAI_API_KEY is set, and is billed for it" in text and "needs a key: ANTHROPIC_API_KEY" in text
    assert "sk-proj" not in text


def test_the_scheme_of_a_url_may_be_in_capitals() -> None:
    model = resolve.find("HTTP://127.0.0.1:9/v1#m")
    assert model.name == "http://127.0.0.1:9/v1#m" and resolve.is_name("HTTP://127.0.0.1:9/v1#m")


@pytest.mark.parametrize(
    "name",
    ["http://me:hunter2secret@127.0.0.1:9/v1", "sk-live-ABCDEFGH12345678ijkl", "openai:sk-live-ABCDEFGH12345678ijkl"],
)
def test_a_secret_in_the_place_of_a_model_name_is_not_shown(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolve.find(name)
    assert "hunter2" not in str(refused.value) and "ABCDEFGH" not in str(refused.value)


LOADING = answer('{"error": {"message": "Loading model", "code": 503}}', "503 Service Unavailable", "application/json")
DENIED = answer('{"error": {"message": "no key"}}', "401 Unauthorized", "application/json")


@pytest.mark.parametrize(("said", "told"), [(LOADING, "still loading its model"), (DENIED, "answered 401: no key")])
def test_a_server_that_does_not_list_its_models_is_told_with_what_it_says(
    monkeypatch: pytest.MonkeyPatch, said: bytes, told: str
) -> None:
    with Loopback([said]) as host:
        with pytest.raises(UsageError, match=told):
            resolve.find(f"{host.url}/v1")
        monkeypatch.setenv("AGENTKIT_LOCAL", f"{host.url}/v1")
        assert told in resolve.list_all()[f"{host.url}/v1"]
        assert local_servers.servers() == []


def test_a_local_server_is_found_without_the_path_of_its_api(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback([answer("", "404 Not Found"), listing("qwen3")]) as host:
        monkeypatch.setenv("AGENTKIT_LOCAL", host.url)
        assert resolve.choose().name == f"{host.url}/v1#qwen3"


def test_a_configured_model_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_MODEL", "zzz")
    assert resolve.choose().why.endswith("names it, but there is no such model")
    monkeypatch.setenv("AGENTKIT_MODEL", "gpt-5")
    assert resolve.choose().why.endswith("did you mean 'openai:gpt-5'?")
    monkeypatch.setenv("AGENTKIT_MODEL", "offline")
    assert resolve.choose().why.endswith("names it")
