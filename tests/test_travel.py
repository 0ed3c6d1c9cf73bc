"""What can be sent to another process, by pickle and by cloudpickle: agents, tools and models, without their keys."""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from agentkit import Agent, Call, Reply, ToolBox, tool
from agentkit.core.messages import Chat
from agentkit.errors import UsageError
from agentkit.experiments import worker
from agentkit.experiments.worker import Work
from agentkit.journal import sqlite
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models import Scripted
from agentkit.models.fallback import Fallback
from agentkit.models.ollama import Ollama
from agentkit.models.openai import OpenAI
from agentkit.models.scripted import Echo
from agentkit.models.transport import rate_limit
from agentkit.models.transport.rate_limit import RateLimit
from agentkit.tools.toolset import ToolSet

cloudpickle = pytest.importorskip("cloudpickle")
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


@tool(effect="irreversible", timeout=7, approve=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


class Till(ToolBox):
    """A toolbox with a state of its own."""

    def __init__(self, start: int) -> None:
        self.start = start

    @tool(effect="pure")
    def count(self, more: int = 1) -> int:
        """Count the money."""
        return self.start + more


both = pytest.mark.parametrize("packer", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])


def sent(value, packer=cloudpickle):
    return pickle.loads(packer.dumps(value))  # noqa: S301 (it was packed here)


@both
def test_an_agent_travels_with_what_it_was_made_of(packer, tmp_path):
    agent = Agent(
        "offline", ["math", pay], engine={"engine": "react", "max_iterations": 4}, journal=tmp_path / "runs.db"
    )
    agent.run("What is 2 * 3?")
    other = sent(agent, packer)
    assert repr(other) == repr(agent)
    assert other.run("What is 17 * 3?").answer == "17 * 3 is 51."
    assert len(agent.journal.runs()) == 2


@both
def test_an_agent_made_with_using_travels_with_the_changes(packer, tmp_path):
    agent = Agent("echo", journal=tmp_path / "runs.db").using(engine="chain_of_thought", instructions="Be brief.")
    other = sent(agent, packer)
    assert (other.engine_name, other.options["instructions"]) == (agent.engine_name, "Be brief.")


def test_an_agent_is_small_when_it_travels(tmp_path):
    agent = Agent("openai:gpt-5-mini", ["math", "units", pay], journal=tmp_path / "runs.db")
    assert len(cloudpickle.dumps(agent)) < 1000


@pytest.mark.parametrize(
    "make", [lambda: OpenAI("gpt-5-mini"), lambda: Ollama("qwen3"), lambda: Fallback([OpenAI("x")])]
)
def test_a_model_travels_without_its_key(make, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = make()
    assert KEY.encode() not in pickle.dumps(model)
    assert sent(model).name == model.name


@pytest.mark.parametrize(
    "make",
    [
        lambda: OpenAI("gpt-5-mini", api_key=KEY),
        lambda: OpenAI("gpt-5-mini", headers={"x-api-key": KEY}),
        lambda: OpenAI("m", base_url=f"https://host.example/v1?api_key={KEY}"),
    ],
)
def test_a_model_with_a_key_of_its_own_is_not_sent(make):
    with pytest.raises(TypeError, match="key_name"):
        pickle.dumps(make())


def test_models_that_share_a_rate_limit_share_it_where_they_arrive():
    limit = RateLimit(60)
    one, two = sent([OpenAI("a", per_minute=limit), OpenAI("b", per_minute=limit)])
    assert one.rate_limit is two.rate_limit
    assert sent(OpenAI("a", per_minute=limit)).rate_limit is one.rate_limit


def test_several_processes_divide_a_rate_limit():
    rate_limit.share_among(4)
    try:
        limit = RateLimit(60)
        assert asyncio.run(limit._turn()) == 0
        assert 3 < asyncio.run(limit._turn()) <= 4  # a second for each of the four
    finally:
        rate_limit.share_among(1)


def test_processes_that_have_a_place_for_it_take_turns(tmp_path):
    def limit_of(journal):
        return RateLimit(1, id="shared", take_turn=journal.take_turn)

    async def turns(*limits):
        return [await limit._turn() for limit in limits]

    with closing(SqliteJournal(tmp_path / "runs.db")) as one, closing(SqliteJournal(tmp_path / "runs.db")) as other:
        here, there = limit_of(one), limit_of(other)
        first, second, again = asyncio.run(turns(here, there, there))
    assert first == 0 and 50 < again <= second <= 60


def test_processes_divide_a_rate_limit_while_they_cannot_take_turns(tmp_path):
    journal = SqliteJournal(tmp_path / "runs.db")
    journal.close()
    rate_limit.share_among(4)
    try:
        limit = RateLimit(60, take_turn=journal.take_turn)
        assert asyncio.run(limit._turn()) == 0
        assert 3 < asyncio.run(limit._turn()) <= 4
    finally:
        rate_limit.share_among(1)


def test_an_agent_without_a_place_for_turns_leaves_those_of_others_alone(tmp_path):
    limit = RateLimit(60)
    agents = [
        Agent(OpenAI("a", base_url="http://127.0.0.1:9", per_minute=limit), journal=journal)
        for journal in (str(tmp_path / "runs.db"), None)
    ]
    arrived = [worker._unpacked(Work(agent, None).pack())[0] for agent in agents]
    assert arrived[0].model.rate_limit is arrived[1].model.rate_limit is limit
    assert limit.take_turn == arrived[0].journal.take_turn


def test_a_script_travels_with_what_is_left_of_it():
    model = Scripted(["one", "two"])
    Agent(model, journal=None, engine="chain_of_thought").run("?")
    other = sent(model)
    assert (other.calls, next(other._lines)) == (0, "two")


def test_an_adapter_travels_with_its_object():
    assert sent(Agent(Talker(), journal=None)).run("hello").answer == "I heard hello"


class Talker:
    """A model of another library."""

    def chat(self, messages):
        return "FINAL_ANSWER: I heard " + messages[-1]["content"]


@both
def test_a_tool_of_a_module_travels_by_its_name(packer):
    assert pay.schema
    if packer is pickle or __name__ in sys.modules:
        assert sent(pay, packer) is pay


def test_a_tool_that_no_module_has_travels_with_its_function():
    @tool(effect="pure", timeout=3, repeat="reuse", name="half_of")
    def half(n: float) -> float:
        """Return half of a number."""
        return n / 2

    assert half.schema
    other = sent(half)
    assert (other(4), other.schema, other.effect, other.timeout, other.repeat) == (2, half.schema, "pure", 3, "reuse")


def test_the_tools_of_a_toolbox_travel_with_their_object():
    till = Till(5)
    list(till)
    assert sent(till).call_tool("count", {"more": 2}) == 7
    assert sent(next(iter(till)))(more=3) == 8
    assert sent(ToolSet.of([till])).find("count")(more=4) == 9


def test_the_entries_of_a_run_travel(tmp_path):
    model = Scripted([Reply("", (Call("count", {"more": 2}),)), "FINAL_ANSWER: 7"])
    run = Agent(model, [Till(5)], journal=tmp_path / "runs.db").run("Count.").run
    entries = sent(run.entries)
    assert [entry.kind for entry in entries] == ["begin", "think", "act", "think", "conclude"]
    assert isinstance(entries[1].step.chat, Chat)


def test_a_journal_in_memory_is_not_sent():
    with pytest.raises(UsageError, match="in memory"):
        pickle.dumps(Agent(Echo(), journal="memory"))


def test_a_journal_in_a_file_is_the_same_one_in_this_process(tmp_path):
    journal = sqlite.SqliteJournal(tmp_path / "runs.db", synchronous="NORMAL")
    assert sent(journal) is journal
    journal.close()
    other = sent(journal)
    assert (other.path, other._synchronous) == (journal.path, "NORMAL")
    other.close()


def test_a_journal_in_a_file_is_refused_on_another_machine(tmp_path, monkeypatch):
    packed = pickle.dumps(Agent(Echo(), journal=tmp_path / "runs.db"))
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    with pytest.raises(UsageError, match=r"this is elsewhere.*postgresql"):
        pickle.loads(packed)  # noqa: S301 (it was packed here)


def test_a_process_without_the_package_of_a_tool_says_so(tmp_path, monkeypatch):
    (tmp_path / "till_tools.py").write_text(
        'from agentkit import tool\n@tool\ndef pay(n: int) -> int:\n    """Pay."""\n    return n\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    import till_tools  # type: ignore[import-not-found]

    packed = pickle.dumps(till_tools.pay)
    code = f"import pickle\ntry:\n    pickle.loads({packed!r})\nexcept Exception as error: print(error)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "no tool 'pay' of the module 'till_tools'" in out
    assert "install the package" in out
