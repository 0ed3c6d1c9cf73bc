"""Requests stay within their budget; the trace, the task and the messages of a person are kept in full."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Message, Reply, Run, tool
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

WORDS = "lorem ipsum dolor sit amet "


@tool(effect="pure")
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: {WORDS * 20}"


def reader(turns: int, width: int = 1) -> Any:
    """Return a model that asks for a page in each turn, summarises when asked, and answers in the end."""
    left = iter(range(turns))

    def say(request: Any) -> Reply:
        if request.role == "compact":
            return Reply("notes: the pages are dull")
        turn = next(left, None)
        if turn is None:
            return Reply("done")
        calls = tuple(Call("read", {"page": turn * width + k}, f"c{turn}.{k}") for k in range(width))
        return Reply(f"I read on, turn {turn}", calls)

    return Scripted([say] * (4 * turns + 9), abilities=Abilities(tools=True))


def size(request: dict[str, Any]) -> int:
    texts = [
        str(message.get("content") or "") + str(message.get("tool_calls") or "") for message in request["messages"]
    ]
    return sum(map(len, texts)) // 4


def paired(messages: list[dict[str, Any]]) -> bool:
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return False
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return False
        else:
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
    return not open_calls


def agent(model: Any, turns: int, **options: Any) -> Agent:
    return Agent(model, [read], journal="memory", **split(options, Loop("react", max_iterations=turns + 1)))


def test_a_long_run_stays_within_its_budget_and_the_trace_keeps_everything() -> None:
    model = reader(60)
    result = agent(model, 60, compact=2_000, instructions="Be brief.").run("Read the book.")
    assert result.answer == "done" and max(map(size, model.requests)) <= 2_000
    acts = [entry.result.text for entry in result.run.entries if entry.kind == "act"]
    assert len(acts) == 60 and all(len(text) > 500 for text in acts)


def test_every_request_has_the_system_message_and_the_task_and_no_result_loses_its_call() -> None:
    model = reader(30, width=2)
    agent(model, 30, compact=2_500, instructions="Be brief.").run("Read the book.")
    for request in (sent for sent in model.requests if sent["role"] == "thought"):
        assert [message["content"] for message in request["messages"][:2]] == ["Be brief.", "Read the book."]
        assert paired(request["messages"])
    assert any(
        "[NOTES" in str(sent["messages"]) and "the pages are dull" in str(sent["messages"]) for sent in model.requests
    )


def test_a_message_injected_in_turn_one_is_unchanged_in_the_last_request_of_200_turns() -> None:
    model = reader(200)
    run = agent(model, 200, compact=2_000).start("Read the book.", paused=True)
    next(run)
    run.inject("The author's name is Zebedee Quux; never forget it.")
    assert run.drive().answer == "done"
    last = [message["content"] for message in model.requests[-1]["messages"]]
    assert last.count("[USER INTERRUPT] The author's name is Zebedee Quux; never forget it.") == 1
    assert last[0] == "Read the book." and max(map(size, model.requests)) <= 2_000


def test_a_pinned_message_of_the_conversation_is_kept_word_for_word_while_others_are_summarised() -> None:
    history = [Message("user", "one"), Message("assistant", "two")]
    history += [Message("user", "three", pinned=True), Message("assistant", "four")]
    model = reader(30)
    assert agent(model, 30, compact=2_000).run([*history, Message("user", "Read the book.")]).answer == "done"
    last = [message["content"] for message in model.requests[-1]["messages"]]
    assert "three" in last and "Read the book." in last and not {"two", "four"} & {*last}


@pytest.mark.parametrize(
    "options",
    [
        {"structured_thinking": {"schema": {"type": "object"}}},
        {"engine": "plan_and_execute", "max_step_iterations": 30},
    ],
)
def test_the_question_of_a_conversation_is_kept_even_if_something_was_added_to_it(options: dict[str, Any]) -> None:
    model, plan = reader(20), Scripted(["1. read"])
    history = [Message("user", "one"), Message("assistant", "two"), Message("user", "Read the book.")]
    thinker = Scripted(["{}"] * 30)
    roles = {"plan": plan, "structured_thought": thinker}
    options = options if "engine" in options else {**options, "max_iterations": 30}
    assert (
        Agent(model, [read], journal="memory", roles=roles, compact=2_000, **split(options)).run(history).answer
        == "done"
    )
    asked = [
        [message["content"] for message in sent["messages"]] for sent in model.requests if sent["role"] != "compact"
    ]
    assert len(asked) < len(model.requests) and all("Read the book." in texts for texts in asked)


def test_the_summary_is_a_step_of_the_trace_that_says_how_many_messages_it_replaces() -> None:
    heard: list[Any] = []
    result = agent(reader(40), 40, compact=2_000, on_event=heard.append).run("Read the book.")
    notes = [entry for entry in result.run.entries if entry.step and entry.step.role == "compact"]
    assert 1 < len(notes) < 15
    for entry in notes:
        assert entry.step.tags["original"] > entry.step.tags["kept"] > 0 and not entry.step.hears
    events = [event.data["tags"] for event in heard if event.kind == "thought" and event.data["role"] == "compact"]
    assert events == [dict(entry.step.tags) for entry in notes]
    assert [event.data for event in heard if event.kind == "compacted"] == events


def test_the_beginning_of_a_request_stays_the_same_between_two_compactions() -> None:
    model = reader(40)
    agent(model, 40, compact=3_000).run("Read the book.")
    sent = [request["messages"] for request in model.requests if request["role"] == "thought"]
    grown = sum(after[: len(before)] == before for before, after in pairwise(sent))
    assert grown >= 32


def test_without_a_summary_a_line_says_how_many_messages_are_not_shown() -> None:
    model, heard = reader(30), list[Any]()
    result = agent(model, 30, compact={"tokens": 2_000, "summarise": False}, on_event=heard.append).run(
        "Read the book."
    )
    compacted = [event.data for event in heard if event.kind == "compacted"]
    assert 1 < len(compacted) < 15 and all(data["original"] > data["kept"] > 0 for data in compacted)
    assert {entry.step.role for entry in result.run.entries if entry.kind == "think"} == {"thought"}
    assert "earlier messages are not shown any more" in str(model.requests[-1]["messages"])


def test_one_huge_result_is_cut_in_the_request_only() -> None:
    @tool(effect="pure")
    def dump() -> str:
        """Return a lot of text."""
        return "x" * 40_000

    model = Scripted([Reply("", (Call("dump", {}, "c"),)), "done"], abilities=Abilities(tools=True))
    result = Agent(model, [dump], journal="memory", compact=2_000).run("q")
    assert size(model.requests[-1]) <= 2_000 and "[Truncated]" in model.requests[-1]["messages"][-1]["content"]
    assert len(result.run[2].result.text) == 40_000


def test_a_short_run_sends_the_same_requests_as_without_compaction() -> None:
    uncompacted, compacted_model = reader(3), reader(3)
    agent(uncompacted, 3).run("q")
    agent(compacted_model, 3, compact=100_000).run("q")
    assert uncompacted.requests == compacted_model.requests


def test_a_compacted_run_replays_without_a_model_and_continues_after_an_undo() -> None:
    model = reader(40)
    run = agent(model, 40, compact=2_000).start("Read the book.", paused=True)
    run.drive()
    sent = model.requests[-1]
    calls = model.calls
    run.undo().undo()
    assert model.calls == calls and run.pending[0].step.role == "thought"
    run.drive()
    assert model.requests[-1]["messages"] == sent["messages"]


@pytest.mark.parametrize("tokens", [0, -1, 99, True, "many", 1.5])
def test_an_invalid_token_budget_is_refused_at_construction(tokens: Any) -> None:
    if tokens is True:
        assert agent(reader(1), 1, compact=True)
    else:
        with pytest.raises(ValueError, match="compact"):
            agent(reader(1), 1, compact=tokens)


# -- clearing ----------------------------------------------------------------------------------------------------------


def test_old_results_are_cleared_in_the_request_and_kept_in_the_trace() -> None:
    model = reader(9)
    result = agent(model, 9, clear_results=3).run("q")
    texts = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(texts) == 9 and [text.startswith("[Cleared") for text in texts] == [True] * 6 + [False] * 3
    assert paired(model.requests[-1]["messages"])
    results = [entry.result.text for entry in result.run.entries if entry.kind == "act"]
    assert len(results) == 9 and all(text.startswith("page") and len(text) > 500 for text in results)


def test_at_least_the_newest_results_are_always_shown_and_never_twice_as_many() -> None:
    model = reader(40, width=3)
    agent(model, 40, clear_results=4).run("q")
    for request in model.requests[3:]:
        texts = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        shown = [text for text in texts if not text.startswith("[Cleared")]
        assert 4 <= len(shown) < 8 and texts[-4:] == shown[-4:]


@tool(effect="pure")
def dump(size: int) -> str:
    """Return some text."""
    return "x" * size


def dumping(*sizes: int) -> Scripted:
    replies = [Reply("", (Call("dump", {"size": size}, f"c{n}"),)) for n, size in enumerate(sizes)]
    return Scripted([*replies, "FINAL_ANSWER: done"], abilities=Abilities(tools=True))


def seen_by(model: Scripted, request: int = -1) -> list[int]:
    """Return the lengths of the results in a request."""
    return [len(message["content"]) for message in model.requests[request]["messages"] if message["role"] == "tool"]


def test_by_default_old_results_are_cut_and_none_is_longer_than_fifty_thousand_characters() -> None:
    model = dumping(*[60_000, 2_150, 9_000, 100] * 3)
    run = Agent(model, [dump], engine=Loop("react", max_iterations=20), journal="memory").run("q").run
    assert seen_by(model, 1)[0] == len(f"{'x' * 50_000}\n[Truncated] 10,000 of 60,000 characters are not shown.")
    cut = len(f"{'x' * 2_000}\n[Truncated] 58,000 of 60,000 characters are not shown.")
    assert seen_by(model)[:5] == [cut, 2_150, cut - 2, 100, cut] and seen_by(model)[-4] > 50_000
    assert [len(entry.result.text) for entry in run.entries if entry.kind == "act"] == [60_000, 2_150, 9_000, 100] * 3
    calls = model.calls
    assert run.undo().status == "paused" and model.calls == calls
    model = dumping(*[9_000] * 12)
    Agent(model, [dump], engine=Loop("react", max_iterations=20), journal="memory", clear_results=False).run("q")
    assert seen_by(model) == [9_000] * 12


def test_cutting_old_results_costs_nothing_as_long_as_none_is_long() -> None:
    model = dumping(*[1_000] * 30)
    run = Agent(model, [dump], engine=Loop("react", max_iterations=40), journal="memory").run("q").run
    thoughts = [entry.step.chat for entry in run.entries if entry.kind == "think"]
    assert all(later.past.past is earlier for earlier, later in pairwise(thoughts))


def test_a_recording_from_before_old_results_were_cut_is_replayed_as_it_was() -> None:
    def replay(recorded: Any) -> Run:
        model = dumping(*[9_000] * 12)
        journal = MemoryJournal()
        engine = Loop("react", max_iterations=20)
        run = Agent(model, [dump], engine=engine, journal=journal, clear_results=recorded).run("q").run
        run.close()
        return Agent(model, [dump], engine=engine, journal=journal).resume(run.id, strict=True)

    for recorded, shown in ((None, {"shown": 2_000}), (False, None), (3, 3)):
        run = replay(recorded)
        assert run.status == "done" and run.task["agent"].get("clear_results") == shown
        assert run.fork().task["agent"].get("clear_results") == shown


def test_the_address_of_an_offloaded_result_is_not_cut_off() -> None:
    model = dumping(*[20_000] * 12)
    Agent(model, [dump], engine=Loop("react", max_iterations=20), journal="memory", offload=True).run("q")
    texts = [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert len(texts) == 12 and all("read_result(address=" in text for text in texts)


def test_clearing_and_compaction_work_together() -> None:
    model = reader(60)
    result = agent(model, 60, clear_results=2, compact=2_000).run("Read the book.")
    assert result.answer == "done" and max(map(size, model.requests)) <= 2_000
    assert all(paired(request["messages"]) for request in model.requests if request["role"] == "thought")


def test_all_results_together_respect_the_character_limit_and_a_longer_one_is_cut() -> None:
    @tool(effect="pure")
    def dump(size: int) -> str:
        """Return some text."""
        return "x" * size

    sizes = [900, 900, 900, 5_000, 100, 900]
    replies = [Reply("", (Call("dump", {"size": size}, f"c{n}"),)) for n, size in enumerate(sizes)]
    model = Scripted([*replies, "done"], abilities=Abilities(tools=True))
    result = Agent(model, [dump], journal="memory", clear_results={"keep": 3, "characters": 2_000}).run("q")
    for request in model.requests:
        texts = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        assert sum(len(text) for text in texts if text.startswith("x")) <= 2_100
    assert "[Truncated]" in model.requests[4]["messages"][-1]["content"]
    assert [len(entry.result.text) for entry in result.run.entries if entry.kind == "act"] == sizes


def test_a_window_of_two_keeps_the_last_two_turns_of_the_user() -> None:
    model = Scripted([Reply("", (Call("read", {"page": 1}, "c"),)), "done"], abilities=Abilities(tools=True))
    history = [
        ("system", "s"),
        ("user", "u1"),
        ("assistant", "a1"),
        ("user", "u2"),
        ("assistant", "a2"),
        ("user", "u3"),
    ]
    agent(model, 3, window=2).run([{"role": role, "content": text} for role, text in history])
    for request in model.requests:
        assert [message["content"] for message in request["messages"]][:4] == ["s", "u2", "a2", "u3"]
    assert [message["role"] for message in model.requests[1]["messages"]][4:] == ["assistant", "tool"]


def test_what_an_engine_adds_to_a_question_is_not_a_separate_turn() -> None:
    history = [Message("user", "old"), Message("assistant", "a"), Message("user", "new")]
    model = Scripted(["1. a", "A", "sum"])
    assert Agent(model, engine="plan_and_execute", window=1, journal="memory").run(history).answer == "sum"
    asked = [[message["content"] for message in request["messages"]] for request in model.requests]
    assert [texts[0] for texts in asked] == ["new"] * 3 and [len(texts) for texts in asked] == [2] * 3


def test_each_request_can_be_shown_again_as_it_was_sent() -> None:
    model = reader(40)
    run = agent(model, 40, compact=2_000, clear_results=3, select_tools={"over": 1}).run("Read the book.").run
    thoughts = [entry for entry in run.entries if entry.kind == "think"]
    assert [run.request(entry)["messages"] for entry in thoughts] == [request["messages"] for request in model.requests]


@pytest.mark.parametrize("dialect", ["text", "json"])
@pytest.mark.parametrize("text", [WORDS, "漢字仮名交じり文 ", 'quotes " and \\ back\n'])
def test_the_token_budget_is_respected_in_every_dialect_and_script(dialect: str, text: str) -> None:
    @tool(effect="pure")
    def read(page: int) -> str:
        """Read a page."""
        return f"page {page}: {text * 20}"

    act = {
        "text": 'Thought: on\nAction: read\nAction Input: {{"page": {n}}}',
        "json": '{{"type": "tool_call", "reasoning": "on", "tool_name": "read", "tool_args": {{"page": {n}}}}}',
    }[dialect]
    turns = iter(range(30))

    def say(request: Any) -> str:
        if request.role == "compact":
            return "notes"
        n = next(turns, None)
        return "FINAL_ANSWER: done" if n is None else act.format(n=n)

    model = Scripted([say] * 90)
    result = Agent(
        model, [read], journal="memory", engine=Loop("react", max_iterations=40), compact=2_000, dialect=dialect
    ).run("Read the book.")
    assert result.answer == "done" and max(map(size, model.requests)) <= 2_000
    assert all(
        "Read the book." in str(request["messages"][:3]) for request in model.requests if request["role"] == "thought"
    )


def test_a_budget_below_what_must_stay_is_told_once_and_no_summary_is_asked_for_in_vain() -> None:
    model = reader(12)
    result = agent(model, 12, compact=300).run("Read the book. " + WORDS * 60)
    assert result.answer == "done" and all(request["role"] == "thought" for request in model.requests)
    told = [event.data["text"] for event in result.run.events() if event.kind == "warning"]
    assert len(told) == 1 and "of the 300 tokens that compact allows" in told[0]
    assert max(map(size, model.requests)) < 1_500 and "earlier messages are not shown" in str(model.requests[-1])
