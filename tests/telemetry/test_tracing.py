"""Spans of runs: which there are, what is inside what, and what they say."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_secrets import KEYS
from opentelemetry.trace import SpanKind, StatusCode
from spans import Collected, check

from agentkit import Agent, Call, Reply, load, tool
from agentkit.core.usage import Usage
from agentkit.errors import ModelError, UsageError
from agentkit.models import Scripted
from agentkit.models.base import Abilities, Chunk
from agentkit.telemetry import trace

TOOLS = Abilities(tools=True)


@pytest.fixture
def collected() -> Collected:
    return Collected()


def calls(*names: str) -> Reply:
    """Return a reply that calls tools, each with its position as the number."""
    return Reply("", tuple(Call(name, {"number": n}, f"{name}{n}") for n, name in enumerate(names)))


def tools_of(collected: Collected) -> list[Any]:
    """Return a tool that opens a span, one that fails, and an asynchronous one that opens a span."""

    @tool(effect="pure")
    def look(number: int) -> str:
        """Look."""
        with collected.tracer.start_as_current_span(f"inside look {number}"):
            return "seen"

    @tool(effect="pure")
    def fail(number: int) -> str:
        """Fail."""
        raise LookupError("not there")

    @tool(effect="pure")
    async def wait(number: int) -> str:
        """Wait."""
        with collected.tracer.start_as_current_span(f"inside wait {number}"):
            await asyncio.sleep(0.001)
            return "waited"

    return [look, fail, wait]


THREE_CALLS = [
    "invoke_agent shop",
    "  agentkit.turn",
    "    chat scripted",
    "    execute_tool look",
    "      inside look 0",
    "    execute_tool fail (LookupError)",
    "    execute_tool wait",
    "      inside wait 2",
    "  agentkit.turn",
    "    chat scripted",
]


def in_order(tree: list[str]) -> list[str]:
    """Return a tree with parallel calls in the order of their names in `THREE_CALLS`."""
    first, last = THREE_CALLS.index("    execute_tool look"), THREE_CALLS.index("  agentkit.turn", 2)
    blocks: dict[str, list[str]] = {}
    for line in tree[first:last]:
        if not line.startswith("      "):
            blocks[line] = block = []
        block.append(line)
    keys = [line for line in THREE_CALLS[first:last] if not line.startswith("      ")]
    return [*tree[:first], *(line for key in keys for line in blocks[key]), *tree[last:]]


@pytest.mark.parametrize("how", ["run", "drive", "play", "await"])
def test_a_run_contains_its_turns_and_a_turn_its_calls_and_what_tools_open(collected: Collected, how: str) -> None:
    agent = collected.agent(Scripted([calls("look", "fail", "wait"), "done"], abilities=TOOLS), tools_of(collected))
    if how == "run":
        agent.run("q")
    elif how == "drive":
        agent.start("q", paused=True).drive()
    elif how == "play":
        agent.start("q").wait()
    else:

        async def task() -> None:
            await agent.start("q")

        asyncio.run(task())
    assert in_order(collected.tree()) == THREE_CALLS
    check(collected, rests=1)


def test_each_single_step_has_a_root_that_is_linked_to_the_one_before(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("look"), "done"], abilities=TOOLS), tools_of(collected))
    run = agent.start("q", paused=True)
    for _ in run:
        pass
    turn = ["invoke_agent shop", "  agentkit.turn"]
    tool_span = ["    execute_tool look", "      inside look 0"]
    assert collected.tree() == [*turn, "    chat scripted", *turn, *tool_span, *turn, "    chat scripted", turn[0]]
    check(collected, rests=4)
    roots = collected.named("invoke_agent")
    for before, after in itertools.pairwise(roots):
        (link,) = after.links
        assert (link.context.trace_id, link.context.span_id) == (before.context.trace_id, before.context.span_id)
    assert not roots[0].links and {root.attributes["gen_ai.conversation.id"] for root in roots} == {run.id}
    assert [root.attributes["agentkit.run.status"] for root in roots] == ["paused"] * 3 + ["done"]


def test_a_run_that_is_over_has_no_more_spans(collected: Collected) -> None:
    run = collected.agent(Scripted(["done"])).run("q").run
    before = len(collected.spans)
    assert next(run, None) is None and run.drive().answer == "done"
    assert len(collected.spans) == before


def test_nothing_that_is_only_looked_at_or_replayed_has_spans_or_counts(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("look"), "done"], abilities=TOOLS), tools_of(collected))
    run = agent.run("q").run
    spans, counted = len(collected.spans), [point.count for point in collected.metric("gen_ai.execute_tool.duration")]
    rows = len(run.rows())
    agent.look(run.id), load(run.to_json(), agent), list(run.events()), repr(run), run._repr_html_(), run.to_json()
    run.undo()
    assert len(collected.spans) == spans
    assert [point.count for point in collected.metric("gen_ai.execute_tool.duration")] == counted
    assert [row for row in run.rows()[rows:] if getattr(row, "kind", "") == "traced"] == []


def test_the_spans_say_what_the_conventions_ask_for(collected: Collected) -> None:
    reply = Reply(
        "done", usage=Usage(input=70, output=5, cached=20, reasoning=2, cost=0.25), finish="stop", model="m-1"
    )
    agent = collected.agent(Scripted([calls("look"), reply], abilities=TOOLS), tools_of(collected))
    run = agent.run("q", session="s1").run
    root, _, _, tool_span, _, _, chat = collected.spans
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "shop",
        "gen_ai.provider.name": "agentkit",
        "gen_ai.request.model": "scripted",
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 70,
        "gen_ai.usage.output_tokens": 5,
        "agentkit.run.id": run.id,
        "agentkit.engine": "react",
        "agentkit.run.status": "done",
        "agentkit.cost": 0.25,
    }
    assert dict(tool_span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "look0",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Look.",
        "gen_ai.conversation.id": "s1",
    }
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "agentkit",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": False,
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 70,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 2,
        "agentkit.cost": 0.25,
    }
    assert [span.kind for span in (root, tool_span, chat)] == [SpanKind.INTERNAL] * 3


def test_a_turn_says_its_role_its_path_and_its_tags(collected: Collected) -> None:
    model = Scripted(["1. look around", "looked", "done"])
    collected.agent(model, engine="plan_and_execute").run("q")
    turns = collected.named("agentkit.turn")
    assert [turn.attributes["agentkit.role"] for turn in turns][:1] == ["plan"]
    assert {turn.attributes["agentkit.path"] for turn in turns} > {""}
    assert any(key.startswith("agentkit.tag.") for turn in turns for key in turn.attributes)


@pytest.mark.parametrize("content", [False, True])
def test_content_is_left_out_unless_it_is_asked_for_and_then_masked(collected: Collected, content: bool) -> None:
    secret = KEYS[0].text

    @tool(effect="pure")
    def find(query: str) -> str:
        """Find."""
        return f"the result, with {secret}"

    reply = Reply("the thought", (Call("find", {"query": f"the argument, with {secret}"}, "a"),))
    agent = collected.agent(
        Scripted([reply, "the answer"], abilities=TOOLS), [find], content=content, instructions="the instruction"
    )
    agent.run(f"the task, with {secret}")
    written = " ".join(json.dumps(dict(span.attributes)) for span in collected.spans)
    texts = ["the task", "the thought", "the argument", "the result", "the answer", "the instruction"]
    assert [text in written for text in texts] == [content] * len(texts)
    assert secret not in written
    if content:
        last = collected.named("chat")[-1].attributes
        assert json.loads(last["gen_ai.system_instructions"]) == [{"type": "text", "content": "the instruction"}]
        roles = [message["role"] for message in json.loads(last["gen_ai.input.messages"])]
        assert roles == ["user", "assistant", "tool"]
        (answer,) = json.loads(last["gen_ai.output.messages"])
        assert answer["role"] == "assistant" and answer["parts"] == [{"type": "text", "content": "the answer"}]
        assert json.loads(last["gen_ai.tool.definitions"])[0]["name"] == "find"


def test_a_model_that_fails_is_an_error_of_its_span_and_of_the_run(collected: Collected) -> None:
    agent = collected.agent(Scripted([ModelError("the host is on fire\nand more"), "done"]))
    run = agent.run("q").run
    root, _, chat = collected.spans
    assert (chat.attributes["error.type"], root.attributes["error.type"]) == ("ModelError", "ModelError")
    assert chat.status.status_code is StatusCode.ERROR and "\n" not in chat.status.description
    assert root.attributes["agentkit.run.status"] == "failed"
    run.drive()
    again = collected.named("invoke_agent")[1]
    assert again.attributes["agentkit.run.status"] == "done" and again.links
    check(collected, rests=2)


def test_a_call_that_takes_too_long_ends_when_it_is_given_up(collected: Collected) -> None:
    release = threading.Event()

    @tool(effect="pure", timeout=0.05)
    def slow(number: int) -> str:
        """Be slow."""
        release.wait(30)
        return "late"

    @tool(effect="pure", timeout=0.05)
    async def aslow(number: int) -> str:
        """Be slow, too."""
        await asyncio.sleep(30)
        return "late"

    agent = collected.agent(Scripted([calls("slow", "aslow"), "done"], abilities=TOOLS), [slow, aslow])
    result = agent.run("q")
    assert result.answer == "done"
    assert {span.name: span.attributes["error.type"] for span in collected.named("execute_tool")} == {
        "execute_tool slow": "timeout",
        "execute_tool aslow": "timeout",
    }
    count = len(collected.spans)
    release.set()
    check(collected, rests=1)
    assert len(collected.spans) == count


def test_a_stopped_call_is_cancelled_and_goes_on_in_a_linked_span(collected: Collected) -> None:
    begun = threading.Event()
    quick = threading.Event()

    @tool(effect="pure")
    async def wait(number: int) -> str:
        """Wait."""
        begun.set()
        if not quick.is_set():
            await asyncio.sleep(60)
        return "waited"

    agent = collected.agent(Scripted([calls("wait"), "done"], abilities=TOOLS), [wait])
    run = agent.start("q")
    assert begun.wait(30)
    run.stop()
    run.wait()
    quick.set()
    run.drive()
    assert collected.tree() == [
        "invoke_agent shop",
        "  agentkit.turn",
        "    chat scripted",
        "    execute_tool wait (cancelled)",
        "invoke_agent shop",
        "  agentkit.turn",
        "    execute_tool wait",
        "  agentkit.turn",
        "    chat scripted",
    ]
    check(collected, rests=2)
    assert [root.attributes["agentkit.run.status"] for root in collected.named("invoke_agent")] == ["stopped", "done"]


def test_a_call_that_waits_for_approval_has_no_span_until_it_is_made(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("look"), "done"], abilities=TOOLS), tools_of(collected), approve=["look"])
    run = agent.start("q")
    run.wait()
    assert collected.named("execute_tool") == []
    assert collected.named("invoke_agent")[0].attributes["agentkit.run.status"] == "waiting"
    run.approve()
    run.drive()
    assert len(collected.named("execute_tool")) == 1
    check(collected, rests=2)


def test_a_nested_engine_is_inside_the_turn_that_opened_it(collected: Collected) -> None:
    agent = collected.agent(
        Scripted(["1. look around", calls("look"), "seen", "done"], abilities=TOOLS),
        tools_of(collected),
        engine="plan_and_execute",
    )
    agent.run("q")
    tree = collected.tree()
    assert tree[:3] == ["invoke_agent shop", "  agentkit.turn", "    chat scripted"]
    assert "      execute_tool look" in tree and "        inside look 0" in tree
    check(collected, rests=1)


def test_the_nodes_of_a_graph_are_inside_the_turn_of_its_plan(collected: Collected) -> None:
    plan = '[{"id": 1, "task": "a"}, {"id": 2, "task": "b"}, {"id": 3, "task": "c", "needs": [1, 2]}]'

    def model(request: Any) -> Reply:
        time.sleep(0.002)
        return Reply(plan if request.role == "plan" else "seen")

    agent = collected.agent(model, engine="dag")
    agent.run("q")
    check(collected, rests=1)
    turns = collected.named("agentkit.turn")
    planned = next(turn for turn in turns if turn.attributes["agentkit.role"] == "plan")
    inner = [turn for turn in turns if turn.parent and turn.parent.span_id == planned.context.span_id]
    assert len({turn.attributes["agentkit.path"] for turn in inner}) >= 3


def test_an_agent_in_a_tool_and_an_agent_as_a_model_are_inside_the_call(collected: Collected) -> None:
    helper = collected.agent(Scripted(["4"]))

    @tool(effect="pure")
    def ask(number: int) -> str:
        """Ask the helper."""
        return helper.run("2 + 2?").answer

    model = Scripted([calls("ask"), "done"], abilities=TOOLS)
    collected.agent(model, [ask]).run("q")
    collected.agent(collected.agent(Scripted(["5"]))).run("q")
    tree = collected.tree()
    assert "      invoke_agent shop" in tree
    assert tree[tree.index("    execute_tool ask") + 1] == "      invoke_agent shop"
    assert tree[-6:-3] == ["invoke_agent shop", "  agentkit.turn", "    chat react (scripted)"]


def test_a_run_is_inside_the_span_of_its_caller(collected: Collected) -> None:
    agent = collected.agent(Scripted(["done"]))
    with collected.tracer.start_as_current_span("request"):
        agent.run("q")
    assert collected.tree()[:2] == ["request", "  invoke_agent shop"]


def test_what_a_generator_of_a_model_opens_is_inside_its_call_and_the_first_chunk_is_timed(
    collected: Collected,
) -> None:
    def model(request: Any) -> Iterator[Chunk]:
        with collected.tracer.start_as_current_span("http"):
            time.sleep(0.02)
            yield Chunk("do")
        yield Chunk("ne", finish="stop", usage=Usage(input=3, output=1))

    async def amodel(request: Any) -> Any:
        with collected.tracer.start_as_current_span("http"):
            await asyncio.sleep(0.02)
            return Reply("done")

    collected.agent(model).run("q")
    collected.agent(amodel).run("q")
    turn = ["invoke_agent shop", "  agentkit.turn"]
    assert collected.tree() == [*turn, "    chat model", "      http", *turn, "    chat amodel", "      http"]
    chat = collected.named("chat")[0]
    seconds = (chat.end_time - chat.start_time) / 1e9
    assert 0.02 <= chat.attributes["gen_ai.response.time_to_first_chunk"] <= seconds


def test_edits_are_events_of_the_span_that_follows_them(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("look"), "first", "second"], abilities=TOOLS), tools_of(collected))
    run = agent.start("q", paused=True)
    next(run), next(run)
    run.edit(2, text="something secret")
    run.inject("also secret")
    run.drive()
    events = [(event.name, dict(event.attributes)) for root in collected.named("invoke_agent") for event in root.events]
    assert [name for name, _ in events] == ["agentkit.edited", "agentkit.moved", "agentkit.injected"]
    assert events[0][1]["agentkit.author"] == "human"
    assert "secret" not in json.dumps(events)
    check(collected, rests=3)


def test_a_fork_is_linked_to_the_run_that_it_was_forked_from(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("look"), "one", "two"], abilities=TOOLS), tools_of(collected))
    run = agent.run("q").run
    fork = run.fork(2)
    fork.drive()
    first, second = collected.named("invoke_agent")
    assert second.links[0].context.span_id == first.context.span_id
    assert second.attributes["agentkit.run.id"] == fork.id != run.id
    assert [span.name for span in collected.spans].count("execute_tool look") == 1


RESUMING = """
import sys
sys.path[:0] = {path!r}
from spans import Collected
from agentkit.models import Scripted
collected = Collected()
run = collected.agent(Scripted(["done"]), journal=sys.argv[1]).resume(sys.argv[2])
run.drive()
(root,) = collected.named("invoke_agent")
(link,) = root.links
print(f"{{link.context.trace_id:032x}}-{{link.context.span_id:016x}}", link.context.is_remote, len(collected.spans))
"""


def test_a_run_that_another_process_goes_on_with_is_linked(collected: Collected, tmp_path: Path) -> None:
    journal = str(tmp_path / "runs.db")
    run = collected.agent(Scripted([ModelError("not now")]), journal=journal).start("q", paused=True)
    with pytest.raises(ModelError):
        next(run)
    run.close()
    (root,) = collected.named("invoke_agent")
    program = RESUMING.format(path=[str(Path(__file__).parents[1])])
    done = subprocess.run([sys.executable, "-c", program, journal, run.id], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{root.context.trace_id:032x}-{root.context.span_id:016x}", "True", "3"]


@pytest.mark.parametrize("traceparent", ["", "00-zz-1-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5000])
def test_a_span_in_a_recording_that_is_none_is_not_linked(collected: Collected, traceparent: str) -> None:
    run = collected.agent(Scripted(["done"])).start("q", paused=True)
    run.trace.note("traced", {"traceparent": traceparent})
    run.drive()
    (root,) = collected.named("invoke_agent")
    assert not root.links


def test_names_that_a_model_invents_are_in_no_name(collected: Collected) -> None:
    agent = collected.agent(Scripted([calls("rm\x1b[31m -rf"), "done"], abilities=TOOLS), tools_of(collected))
    agent.run("q")
    (span,) = collected.named("execute_tool")
    assert span.name == "execute_tool unknown" and span.attributes["error.type"] == "tool_error"
    assert "\x1b" not in json.dumps(dict(span.attributes), ensure_ascii=False) + str(span.status.description)


def test_without_a_provider_nothing_is_recorded_and_nothing_listens() -> None:
    run = Agent(Scripted(["done"]), journal="memory", within=[trace()]).run("q").run
    assert run.answer == "done"
    assert [row.kind for row in run.rows()].count("traced") == 0
    assert not run.control.scheduler.listeners


def test_a_surrounding_that_raises_is_dropped_with_a_warning_and_the_run_goes_on() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("broken")

    run = Agent(Scripted(["done"]), journal="memory", within=[lambda scheduler, spec: [Broken()]]).run("q").run
    assert run.answer == "done"
    assert [event.data["text"] for event in run.events() if event.kind == "warning"] == [
        "Broken raised RuntimeError: broken; it does not surround the run now"
    ]


def test_without_the_package_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from agentkit.errors import UsageError\n"
        "from agentkit.telemetry import trace\n"
        "try:\n    trace()\nexcept UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "pip install 'jupyter-agentkit[otel]'" in done.stdout, done.stderr


def test_an_agent_without_telemetry_does_not_import_it() -> None:
    program = (
        "import sys\nfrom agentkit import Agent\nfrom agentkit.models import Scripted\n"
        "Agent(Scripted(['x']), journal='memory').run('q')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_an_option_that_is_no_list_is_refused() -> None:
    with pytest.raises(UsageError, match="within"):
        Agent(Scripted(["x"]), within=trace())  # type: ignore[arg-type]
