"""Sources of tools are asked for their schemas at the start of each run, and never to look at or resume a recording."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from crafted_recordings import with_new_digests

from agentkit import Agent, Call, Reply, compare, tool
from agentkit.errors import UsageError
from agentkit.journal.memory import MemoryJournal
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.tools.sources import source


class Skills:
    """A source whose tools change with every reading; `loops` are those in which its coroutines ran."""

    def __init__(self) -> None:
        self.readings = 0
        self.ran: list[str] = []
        self.loops: set[Any] = set()

    async def get_tool_schemas(self) -> list[dict[str, Any]]:
        self.readings += 1
        self.loops.add(asyncio.get_running_loop())
        number = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return [{"name": f"skill{self.readings}", "description": "A skill.", "parameters": number}]

    async def execute_tool(self, name: str, arguments: dict[str, Any]) -> str:
        self.loops.add(asyncio.get_running_loop())
        self.ran.append(name)
        return f"{name} is done"


def model(*names: str) -> Scripted:
    replies = [Reply("", (Call(name, {"n": 1}, f"c{n}"),)) for n, name in enumerate(names)]
    return Scripted([*replies, "done"] * 3, abilities=Abilities(tools=True))


def test_each_run_has_the_tools_that_its_source_has_at_its_start() -> None:
    skills, asked = Skills(), model("skill1")
    agent = Agent(asked, [skills], journal="memory")
    assert skills.readings == 0 and "source(get_tool_schemas)" in repr(agent)
    first, second = agent.run("q").run, agent.run("r").run
    assert (skills.readings, skills.ran, len(skills.loops)) == (2, ["skill1"], 1)
    assert first[2].result.text == "skill1 is done" and "'skill1' not found" in second[2].result.text
    offered = [[schema["function"]["name"] for schema in request["tools"]] for request in asked.requests]
    assert offered == [["skill1"], ["skill1"], ["skill2"], ["skill2"]]


def test_a_run_that_is_started_on_an_event_loop_reads_its_source() -> None:
    async def main() -> str:
        return (await Agent(model("skill1"), [Skills()], journal=None).start("q", paused=True)).answer

    assert asyncio.run(main()) == "done"


def test_a_run_that_an_asynchronous_tool_starts_reads_its_source() -> None:
    @tool(effect="pure")
    async def ask(n: int) -> str:
        return "".join(Agent(model(), [Skills()], journal=None).start("q", paused=True).performer.tools.names)

    assert Agent(model("ask"), [ask], journal=None).run("q").run[2].result.text == "skill1"


@pytest.mark.parametrize("journal", ["memory", "sqlite"])
def test_a_recording_has_the_schemas_of_its_run_and_its_source_is_not_asked_again(journal: str) -> None:
    skills = Skills()
    agent = Agent(model("skill1", "skill1"), [skills], journal=journal)
    run = agent.start("q", paused=True)
    next(run), next(run)
    run.close()
    for opened in (agent.look(run.id), agent.resume(run.id, strict=True)):
        assert skills.readings == 1 and opened.performer.tools.names == ("skill1",)
        assert opened.performer.tools.find("skill1").parameters["properties"] == {"n": {"type": "integer"}}
    assert opened.fork().performer.tools.names == ("skill1",)
    assert next(opened).result.calls[0].name == "skill1"
    next(opened)
    assert opened[4].result.text == "skill1 is done" and skills.ran == ["skill1", "skill1"]
    opened.close()
    elsewhere = Agent(model("skill1"), [Skills()], journal=MemoryJournal()).load(run.to_json())
    assert elsewhere.performer.tools.names == ("skill1",) and not elsewhere.read_only
    assert skills.readings == 1


def test_a_fork_with_another_source_reads_that_one() -> None:
    skills, other = Skills(), Skills()
    other.readings = 7
    run = Agent(model("skill1"), [skills], journal="memory").run("q").run
    fork = run.fork(1, tools=[other])
    assert fork.performer.tools.names == ("skill8",) and skills.readings == 1
    assert fork.agent.resume(fork.id).performer.tools.names == ("skill8",)
    assert run.fork(1, max_tool_calls=3).performer.tools.names == ("skill1",)


def test_a_source_that_fails_is_an_error_of_that_start_only() -> None:
    answers: list[Any] = [RuntimeError("down"), [{"name": "x"}]]

    def get_tool_schemas() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    journal = MemoryJournal()
    agent = Agent(model("x"), [source(get_tool_schemas, lambda name, arguments: "ok")], journal=journal)
    with pytest.raises(UsageError, match="the schemas of a source of tools could not be read: RuntimeError: down"):
        agent.run("q")
    assert journal.runs() == []
    assert agent.run("q").run[2].result.text == "ok"


def test_a_source_that_hangs_does_not_exceed_the_time_limit_of_a_run() -> None:
    over = threading.Event()
    agent = Agent("echo", [source(lambda: over.wait(60), print)], journal=None)
    begun = time.monotonic()
    with pytest.raises(UsageError, match=r"it did not return within 0\.2 s"):
        agent.run("q", timeout=0.2)
    assert time.monotonic() - begun < 30
    over.set()


def test_names_of_tools_are_checked_when_the_tools_are_known() -> None:
    agent = Agent(model("skill1"), [Skills()], journal="memory", approve=["skill1"])
    run = agent.start("q", paused=True)
    run.drive()
    assert run.status == "waiting"
    mistyped = Agent(model(), [Skills()], journal="memory", approve=["skil1"])
    with pytest.raises(UsageError, match="unknown tool to approve 'skil1'; did you mean 'skill1'"):
        mistyped.start("q")
    with pytest.raises(UsageError, match="unknown tool 'skil1'"):
        Agent(model(), [Skills()], journal="memory", select_tools={"pins": ["skil1"]}).start("q")


def test_comparing_engines_reads_the_source_for_each_run() -> None:
    skills = Skills()
    compare("q", ["react", "chain_of_thought"], model=model(), tools=[skills], journal="memory")
    assert skills.readings == 2


def test_memory_lasts_without_a_journal() -> None:
    agent = Agent(model(), [Skills()], journal=None)
    agent.run("My name is Ada.", session="s")
    assert "Ada" in str([message.text for message in agent.run("And?", session="s").run.messages])


@pytest.mark.filterwarnings("ignore:a tool schema cannot be read")
@pytest.mark.parametrize(
    ("sources", "names"),
    [
        ([[{"name": 5}]], ("skill1",)),
        ([[{}, {"name": "skill1"}]], ("skill1",)),
        ([[{"name": "skill1", "argument_schema": {"$ref": "#"}}]], ("skill1",)),
        ([[{"name": "skill1", "argument_schema": {"type": 5, "properties": [[]]}}], [{"name": "x"}]], ("skill1",)),
        ([], ("skill1",)),
        (5, ()),
        ([[5]], ()),
    ],
)
def test_schemas_of_a_crafted_recording_are_read_or_refused_and_never_asked_for(sources: Any, names: Any) -> None:
    skills = Skills()
    data = Agent(model("skill1"), [skills], journal="memory").run("q").run.to_json()
    data["rows"][0]["row"]["result"]["json"]["sources"] = sources
    agent = Agent(model(), [skills], journal=MemoryJournal())
    if names:
        run = agent.load(with_new_digests(data))
        assert run.performer.tools.names == names and repr(run) and run.to_html()
    else:
        with pytest.raises(UsageError, match="no valid 'sources'"):
            agent.load(with_new_digests(data))
    assert skills.readings == 1
