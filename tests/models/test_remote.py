"""What is sent and what is kept, with all three APIs."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from loopback import Loopback, answer, calling, completion, cut, delta, fault, lines, message, parts, sse

from agentkit import Agent, Usage, tool
from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.models.anthropic import Anthropic
from agentkit.models.base import Abilities
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.prices import PRICES, Price, price_of
from agentkit.models.remote import Remote

KEY = "sk-live-ABCDEFGH12345678ijklmnop"


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers — “Grüße”."""
    return a + b


def ollama_call(name: str, arguments: dict[str, Any]) -> bytes:
    call = {"function": {"name": name, "arguments": arguments}}
    done = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return lines({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}, done)


def ollama_text(text: str, **more: Any) -> bytes:
    pieces = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in text]
    return lines(
        *pieces, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **more}
    )


def model(host: Loopback, wire: str, **more: Any) -> Remote:
    make = {"openai": OpenAI, "anthropic": Anthropic, "ollama": Ollama}[wire]
    return make("m", base_url=host.url + ("/v1" if wire == "openai" else ""), **more)


SCRIPTS: dict[str, list[Any]] = {
    "openai": [answer(calling("add", '{"a": 1, "b": 2}')), answer(completion("three"))],
    "anthropic": [
        answer(message({"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}, stop="tool_use")),
        answer(message({"type": "text", "text": "three"})),
    ],
    "ollama": [answer(ollama_call("add", {"a": 1, "b": 2}), kind="application/x-ndjson"), answer(ollama_text("three"))],
}
WIRES = pytest.mark.parametrize("wire", SCRIPTS)
DIALECTS = pytest.mark.parametrize("dialect", ["native", "json", "text"])


@WIRES
def test_a_tool_runs_and_the_shown_request_is_what_was_sent_byte_for_byte(wire: str) -> None:
    with Loopback(list(SCRIPTS[wire])) as host:
        made = model(host, wire)
        run = Agent(made, [add], instructions="Sei höflich 😀", journal="memory", settings={"temperature": 0}).start(
            "1+2?"
        )
        assert run.wait().answer == "three"
        thoughts = [entry for entry in run.entries if entry.kind == "think"]
        for got, thought in zip(host.got, thoughts, strict=True):
            body = run.request(thought)
            assert got.json == body
            assert got.body == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        assert host.got[1].json["messages"] != host.got[0].json["messages"]


@WIRES
@DIALECTS
def test_every_dialect_works_with_every_api(wire: str, dialect: str) -> None:
    texts = {
        "json": [
            '{"type": "tool_call", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}',
            '{"type": "final_answer", "answer": "three"}',
        ],
        "text": ['Thought: add\nAction: add\nAction Input: {"a": 1, "b": 2}', "FINAL_ANSWER: three"],
    }.get(dialect)
    speak = {
        "openai": completion,
        "ollama": ollama_text,
        "anthropic": lambda text: message({"type": "text", "text": text}),
    }
    with Loopback([answer(speak[wire](text)) for text in texts] if texts else list(SCRIPTS[wire])) as host:
        result = Agent(model(host, wire), [add], journal=None, dialect=dialect).run("1+2?")
        assert (result.answer, result.tool_calls_count) == ("three", 1)
        first, second = (got.json for got in host.got)
    assert ("tools" in first) == (dialect == "native")
    assert ("response_format" in first or "format" in first) == (dialect == "json" and wire != "anthropic")
    assert "3" in json.dumps(second["messages"][-1])


@WIRES
def test_half_of_a_character_can_be_sent(wire: str) -> None:
    with Loopback([SCRIPTS[wire][1]]) as host:
        result = Agent(model(host, wire), journal=None, settings={"seed": 3}).run("half \ud83d a character")
        assert result.answer == "three" and b"half ? a character" in host.got[0].body


def test_turns_for_anthropic_alternate_and_results_come_first() -> None:
    uses = [{"type": "tool_use", "id": f"t{n}", "name": "add", "input": {"a": n, "b": 1}} for n in range(2)]
    with Loopback([answer(message(*uses, stop="tool_use")), answer(message({"type": "text", "text": "ok"}))]) as host:
        run = Agent(model(host, "anthropic"), [add], instructions="Be brief.", journal=None).start("go", paused=True)
        next(run), run.inject("hurry"), run.drive()
        first, second = (got.json for got in host.got)
    assert first["system"][0]["text"] == "Be brief." and first["max_tokens"] == 8192
    assert [turn["role"] for turn in second["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in second["messages"][2]["content"]] == ["tool_result", "tool_result", "text"]
    assert second["messages"][1]["content"] == uses


# -- thinking ----------------------------------------------------------------------------------------------------------

THINKING = {"type": "thinking", "thinking": "first this, then that", "signature": "c2lnbmVkIGJ5IHRoZW0="}
REDACTED = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
USE = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}


def test_signed_thinking_goes_back_unchanged_to_its_own_host_only() -> None:
    first = answer(message(THINKING, REDACTED, {"type": "text", "text": "I add."}, USE, stop="tool_use"))
    end = answer(message({"type": "text", "text": "three"}))
    with (
        Loopback([first, end]) as first_host,
        Loopback([end]) as second_host,
        Loopback([answer(completion("three"))]) as third_host,
    ):
        run = Agent(model(first_host, "anthropic"), [add], journal="memory").start("1+2?", paused=True)
        thought = next(run)
        assert thought.result.reasoning == THINKING["thinking"] and thought.result.text == "I add."
        next(run)
        elsewhere = run.fork(2, model=model(second_host, "anthropic"))
        openai = run.fork(2, model=model(third_host, "openai"))
        assert [each.drive().answer for each in (run, elsewhere, openai)] == ["three"] * 3
        assert first_host.got[1].json["messages"][1]["content"] == [
            THINKING,
            REDACTED,
            {"type": "text", "text": "I add."},
            USE,
        ]
        assert second_host.got[0].json["messages"][1]["content"] == [{"type": "text", "text": "I add."}, USE]
        assert b"signature" not in third_host.got[0].body and b"opaque" not in third_host.got[0].body


def test_signed_thinking_survives_a_restart(tmp_path: Any) -> None:
    first = answer(message(THINKING, USE, stop="tool_use"))
    with Loopback([first, answer(message({"type": "text", "text": "three"}))]) as host:
        agent = Agent(model(host, "anthropic"), [add], journal=str(tmp_path / "runs.db"))
        run = agent.start("1+2?", paused=True)
        next(run), next(run), run.close()
        again = Agent(model(host, "anthropic"), [add], journal=str(tmp_path / "runs.db")).resume(run.id)
        assert again.drive().answer == "three"
        assert host.got[1].json["messages"][1]["content"] == [THINKING, USE]


def test_signed_thinking_is_not_sent_back_after_an_edit() -> None:
    with Loopback(
        [answer(message(THINKING, USE, stop="tool_use")), answer(message({"type": "text", "text": "ok"}))]
    ) as host:
        run = Agent(model(host, "anthropic"), [add], journal="memory").start("1+2?", paused=True)
        next(run)
        run.edit(1, arguments={"a": 5, "b": 5})
        run.drive()
        (block,) = host.got[1].json["messages"][1]["content"]
        assert (block["type"], block["input"]) == ("tool_use", {"a": 5, "b": 5})


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_thinking_in_tags_is_shown_as_thought_wherever_the_stream_is_cut(size: int) -> None:
    text = "<think>is 5 < 6 and </thin> no tag?\nyes</think>\n\nThe answer: a <b> c, `<think>` is a tag"
    pieces = [delta(content=piece.decode()) for piece in cut(text.encode(), size)]
    events: list[Any] = []
    with Loopback([answer(sse(*pieces, delta("stop"), b"[DONE]"))]) as host:
        result = Agent(model(host, "openai"), journal=None, on_event=events.append).run("q")
    chunks = [event.data for event in events if event.kind == "model_chunk"]
    assert result.answer == "The answer: a <b> c, `<think>` is a tag"
    assert "".join(piece["text"] for piece in chunks) == result.answer
    assert "".join(piece["reasoning"] for piece in chunks) == "is 5 < 6 and </thin> no tag?\nyes"
    assert result.run.entries[1].result.reasoning == "is 5 < 6 and </thin> no tag?\nyes"


def test_thinking_alone_is_not_an_answer() -> None:
    alone = sse(delta(reasoning_content="hm, "), delta(reasoning_content="so"), delta("stop"), b"[DONE]")
    with Loopback([answer(alone), answer(completion("said"))]) as host:
        result = Agent(model(host, "openai"), [add], journal=None).run("q")
    assert result.answer == "said" and result.run.entries[1].result.reasoning == "hm, so"


def test_signed_reasoning_details_go_back_to_their_own_gateway_only() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "hm, "},
        {"type": "reasoning.text", "index": 0, "text": "so", "signature": "c2lnbmVk"},
    ]
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    pieces = [
        delta(reasoning="hm, ", reasoning_details=details[:1]),
        delta(reasoning="so", reasoning_details=details[1:]),
    ]
    first = answer(sse(*pieces, delta(tool_calls=[call]), delta("tool_calls"), b"[DONE]"))
    end = answer(completion("three"))
    with Loopback([first, end]) as first_host, Loopback([end]) as second_host:
        run = Agent(model(first_host, "openai"), [add], journal="memory").start("1+2?", paused=True)
        assert next(run).result.reasoning == "hm, so" and next(run)
        elsewhere = run.fork(2, model=model(second_host, "openai"))
        assert (run.drive().answer, elsewhere.drive().answer) == ("three", "three")
        kept = first_host.got[1].json["messages"][1]["reasoning_details"]
    assert kept == [{"type": "reasoning.text", "index": 0, "text": "hm, so", "signature": "c2lnbmVk"}]
    assert "reasoning_details" not in second_host.got[0].json["messages"][1]


# -- cost --------------------------------------------------------------------------------------------------------------


def test_tokens_and_cost_are_counted_and_prices_can_be_set(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    acts = [answer(completion("a", usage=usage)), answer(completion("b", usage={**usage, "cost": 0.5}))]
    with Loopback(acts) as host:
        made = OpenAI("gpt-4o-mini-2024-07-18", base_url=host.url)
        first, second = Agent(made, journal=None).run("q"), Agent(made, journal=None).run("q")
    assert first.usage == Usage(1000, 100, 400, cost=(600 * 0.15 + 400 * 0.075 + 100 * 0.6) / 1e6, calls=1)
    assert second.usage.cost == 0.5
    monkeypatch.setitem(PRICES, "mine", Price(1, 2))
    assert price_of("mine") == Price(1, 2) and price_of("a-model-that-nobody-knows") is None
    (home / "config.toml").write_text('[prices]\n"qwen3-8b" = [0.1, 0.4]\n')
    assert price_of("vendor/qwen3-8b") == Price(0.1, 0.4)
    (home / "config.toml").write_text("prices = 3")
    with pytest.raises(UsageError, match="dollars per million"):
        price_of("gpt-5")


def test_a_reply_in_which_the_host_ran_a_tool_is_not_asked_for_again() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    begun = message({"type": "text", "text": "I search."}, search, ends=False)
    with Loopback([parts([begun]), answer(message({"type": "text", "text": "again"}))]) as host:
        result = Agent(model(host, "anthropic"), journal=None).run("q")
        assert "cut off its reply" in str(result.error) and len(host.got) == 1


def test_the_cost_of_a_broken_reply_counts_too() -> None:
    stream = message({"type": "text", "text": "hello"})
    with Loopback([parts([stream[:400]]), answer(stream)]) as host:
        result = Agent(model(host, "anthropic", retries=1), journal=None).run("q")
    assert (result.answer, result.usage.input, result.usage.output) == ("hello", 18, 8)


def test_the_cost_of_a_call_that_failed_for_good_counts_too() -> None:
    broken, whole = (
        parts([message({"type": "text", "text": "hello"})[:400]]),
        answer(message({"type": "text", "text": "hello"})),
    )
    with Loopback([broken, broken, whole]) as host:
        run = Agent(model(host, "anthropic", retries=0), journal="memory").start("q", paused=True)
        spent = [run.drive().usage.input for _ in range(3)]
    assert spent == [9, 18, 27] and run.entries[1].usage.input == 9  # type: ignore[union-attr]
    assert Agent("offline", journal="memory").load(run.to_json()).usage.input == 27
    with Loopback([whole, broken]) as host:
        agent = Agent(model(host, "anthropic", retries=0), journal="memory", synthesize=True, budget={"max_cost": 9})
        result = agent.run("q")
        again = Agent(model(host, "anthropic"), journal="memory").load(result.run.to_json())
    assert (result.answer, result.usage.input, again.usage.input) == ("hello", 18, 18)


# -- keys --------------------------------------------------------------------------------------------------------------


@WIRES
def test_a_key_is_shown_nowhere(wire: str, tmp_path: Any) -> None:
    echo = fault("401 Unauthorized", f"Incorrect API key provided: {KEY}")
    events: list[Any] = []
    with Loopback([*SCRIPTS[wire], echo]) as host:
        made = model(host, wire, api_key=KEY)
        agent = Agent(made, [add], journal=str(tmp_path / "runs.db"), on_event=events.append)
        run, failed = agent.run("1+2?").run, agent.run("again")
        assert KEY in str(host.got[0].headers)
    shown = [
        repr(made),
        repr(vars(made)),
        repr(agent),
        repr(run),
        run.to_markdown(),
        run.to_html(),
        json.dumps(run.to_json()),
    ]
    shown += [
        str(failed.error),
        repr(failed.error),
        repr(events),
        repr(failed.run),
        json.dumps(run.request(1), default=str),
    ]
    assert not [text for text in shown if KEY in text]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(made._key)


def test_custom_headers_and_a_query_are_sent_and_hidden() -> None:
    with Loopback([answer(completion("ok"))]) as host:
        made = OpenAI("m", base_url=f"{host.url}/openai?api-version=7", headers={"Api-Key": KEY, "X-Team": "blue team"})
        assert Agent(made, journal=None).run("q").answer == "ok"
        assert host.got[0].line == "POST /openai/chat/completions?api-version=7 HTTP/1.1"
        assert (host.got[0].headers["api-key"], host.got[0].headers["x-team"]) == (KEY, "blue team")
    assert KEY not in repr(vars(made)) and "api-version" not in made.name
    with Loopback([answer(completion("ok"))]) as host:
        error = Agent(OpenAI("m", base_url=host.url, headers={"X-Team": f"{KEY}\nx"}), journal=None).run("q").error
    assert "Illegal header value" in str(error) and KEY not in str(error)


@WIRES
def test_a_key_in_the_query_is_shown_nowhere(wire: str, tmp_path: Any) -> None:
    key, ends, events = "plain4words-in2a5query", {"openai": "v1", "anthropic": "v1/messages", "ollama": "api"}, []
    with Loopback([fault("404 Not Found", f"no such page for {key}")]) as host:
        make, base = (
            {"openai": OpenAI, "anthropic": Anthropic, "ollama": Ollama}[wire],
            f"{host.url}/{ends[wire]}?key={key}",
        )
        made = make("m", base_url=base)
        result = Agent(made, journal=str(tmp_path / "runs.db"), on_event=events.append).run("q")
        assert host.got[0].line.count("/v1") == (wire != "ollama") and f"?key={key}" in host.got[0].line
        assert "no such page" in str(result.error)
    shown = [repr(made), repr(result.error), repr(events), repr(result.run), json.dumps(result.run.to_json())]
    assert not [text for text in shown if key in text]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def test_a_key_can_stay_in_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def get_password(service: str, name: str) -> str:
        asked.append((service, name))
        return KEY

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=get_password))
    assert OpenAI("m").headers()["authorization"] == f"Bearer {KEY}"
    assert asked == [("agentkit", "OPENAI_API_KEY")] and KEY not in mask(f"it is {KEY}")
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment-1")
    assert OpenAI("m").headers()["authorization"] == "Bearer from-the-environment-1"


def test_a_keyring_that_waits_for_a_person_does_not_delay_other_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()

    def get_password(service: str, name: str) -> str:
        return KEY if opened.wait(20) else ""

    async def other(request: Any) -> str:
        return "meanwhile"

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=get_password))
    with Loopback([answer(completion("at last"))]) as host:
        run = Agent(OpenAI("m", base_url=host.url, key_name="RING_KEY"), journal=None).start("q")
        assert Agent(other, journal=None).start("q").wait(10).answer == "meanwhile" and not host.got
        opened.set()
        assert run.wait(10).answer == "at last"


def test_the_default_key_is_sent_to_no_other_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GATEWAY_KEY", "gateway-key-0001")
    with Loopback([answer(completion("ok"))]) as host:
        Agent(OpenAI("m", base_url=host.url), journal=None).run("q")
        Agent(OpenAI("m", base_url=host.url, key_name="GATEWAY_KEY"), journal=None).run("q")
        monkeypatch.setenv("OPENAI_BASE_URL", host.url)
        Agent("openai:m", journal=None).run("q")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{host.url}/chat/completions")  # as people copy it
        Agent("openai:m", journal=None).run("q")
        sent = [got.headers.get("authorization") for got in host.got]
    assert sent == [None, "Bearer gateway-key-0001", f"Bearer {KEY}", f"Bearer {KEY}"]


# -- abilities and settings --------------------------------------------------------------------------------------------


def test_abilities_can_be_set_and_choose_the_dialect() -> None:
    with Loopback([answer(completion("FINAL_ANSWER: ok"))]) as host:
        made = OpenAI("m", base_url=host.url, abilities={"tools": False, "json": False})
        assert made.abilities == Abilities(stream=True)
        assert Agent(made, [add], journal=None).run("q").answer == "ok"
        assert "tools" not in host.got[0].json and "Observation:" in host.got[0].json["stop"][0]
        assert Agent(made, journal=None).run("q").answer == "ok" and "stop" not in host.got[1].json
    assert "stop" in OpenAI("gpt-5-mini").without and "stop" not in OpenAI("gpt-4o").without


def test_each_role_asks_its_own_model() -> None:
    with (
        Loopback([answer(completion("from the one"))]) as main_host,
        Loopback([answer(completion("from the other"))]) as role_host,
    ):
        agent = Agent(model(main_host, "openai"), journal=None, roles={"thought": model(role_host, "openai")})
        assert agent.run("q").answer == "from the other" and main_host.got == []


def test_a_reply_of_anthropic_can_be_longer_than_its_thinking() -> None:
    """The API refuses a request whose limit is not above the thinking budget."""
    limits = []
    for more in ({"budget_tokens": 4_000}, {"budget_tokens": 10_000}, {"budget_tokens": 10_000, "most": 12_000}):
        own = {"max_tokens": more.pop("most")} if "most" in more else {}
        with Loopback([answer(message({"type": "text", "text": "ok"}))]) as host:
            settings = {"thinking": {"type": "enabled", **more}, **own}
            assert Agent(Anthropic("m", base_url=host.url, settings=settings), journal=None).run("q").answer == "ok"
            limits.append(host.got[0].json["max_tokens"])
    assert limits == [8192, 18192, 12_000]


def test_options_and_token_counts_of_ollama() -> None:
    with Loopback([answer(ollama_text("hi", prompt_eval_count=11, eval_count=3))]) as host:
        made = Ollama("m", base_url=host.url, settings={"num_ctx": 8192, "keep_alive": "5m", "think": True})
        result = Agent(made, journal=None, settings={"temperature": 0}).run("q")
        sent = host.got[0].json
    assert sent["options"] == {"num_ctx": 8192, "temperature": 0} and (sent["keep_alive"], sent["think"]) == (
        "5m",
        True,
    )
    assert (result.answer, result.usage.input, result.usage.output) == ("hi", 11, 3)
    broken = lines({"message": {"role": "assistant", "content": "hal"}, "done": False})
    with Loopback([parts([broken])]) as host:
        assert "cut off its reply" in str(Agent(Ollama("m", base_url=host.url, retries=0), journal=None).run("q").error)
    with Loopback([answer(broken + b'{"error": "out of memory"}\n')]) as host:
        assert "out of memory" in str(Agent(Ollama("m", base_url=host.url, retries=0), journal=None).run("q").error)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://x/v1", "http://", "http://[half", "http://h:port/", "http://u:p@h/"]
)
def test_an_unusable_base_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError):
        OpenAI("m", base_url=url)


@pytest.mark.parametrize(
    ("tail", "headers"),
    [
        ("/v1?sig=Quiet77CompanyWord", {}),
        ("/v1?code=Quiet77CompanyWord", {}),
        ("/v1", {"Cookie": "sid=Quiet77CompanyWord; v=1"}),
    ],
)
def test_a_signature_in_the_url_and_a_cookie_are_masked_when_a_host_repeats_them(
    tail: str, headers: dict[str, str]
) -> None:
    with Loopback(
        [fault("400 Bad", "what is Quiet77CompanyWord?"), answer(completion("it is Quiet77CompanyWord"))]
    ) as host:
        run = Agent(OpenAI("m", base_url=host.url + tail, headers=headers), journal="memory").start("q", paused=True)
        refused, reply = str(run.drive().error), run.drive().answer
    assert "what is [secret" in refused and "it is [secret" in str(reply)
    assert "Quiet77" not in f"{refused} {reply} {json.dumps(run.to_json(), default=str)}"


TRIP = {"type": "object", "title": "Trip", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize("wire", ["openai", "ollama"])
@DIALECTS
def test_a_host_that_can_be_held_to_a_schema_is_held_to_that_of_a_typed_answer(wire: str, dialect: str) -> None:
    speak = {"openai": completion, "ollama": ollama_text}[wire]
    with Loopback([answer(speak('{"city": "Oslo"}'))]) as host:
        asked = model(host, wire, abilities={"schema": True})
        result = Agent(asked, journal=None, dialect=dialect).run("Where?", output=TRIP)
        assert result.output == {"city": "Oslo"}
        (sent,) = (got.json for got in host.got)
    assert result.run.request(1) == sent
    assert sent.get("format") == TRIP or sent["response_format"]["json_schema"]["schema"] == TRIP


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_a_host_without_schemas_is_held_to_json_for_a_typed_answer(wire: str) -> None:
    speak = {"openai": completion, "ollama": ollama_text}[wire]
    with Loopback([answer(speak('{"city": "Oslo"}'))]) as host:
        asked = model(host, wire, abilities={"schema": False, "json": True})
        assert Agent(asked, journal=None).run("Where?", output=TRIP).output == {"city": "Oslo"}
        (sent,) = (got.json for got in host.got)
    assert sent.get("format") == "json" or sent["response_format"] == {"type": "json_object"}


def test_only_the_steps_that_write_a_typed_answer_are_held_to_it() -> None:
    texts = ["1. look", "FINAL_ANSWER: Oslo", '{"city": "Oslo"}']
    with Loopback([answer(completion(text)) for text in texts]) as host:
        asked = model(host, "openai", abilities={"schema": True})
        result = Agent(asked, journal=None, engine="plan_and_execute").run("Where?", output=TRIP)
        assert result.output == {"city": "Oslo"}
        assert ["response_format" in got.json for got in host.got] == [False, False, True]


def test_a_host_that_may_be_asked_for_a_call_is_not_held_to_the_type_of_the_answer() -> None:
    with Loopback([answer(completion('{"city": "Oslo"}'))]) as host:
        asked = model(host, "openai", abilities={"schema": True})
        assert Agent(asked, [add], journal=None).run("Where?", output=TRIP).output == {"city": "Oslo"}
        assert "response_format" not in host.got[0].json
