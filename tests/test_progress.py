"""Each engine reports its progress, live and when its events are read again."""

from __future__ import annotations

from typing import Any

from splitting import split

from agentkit import Agent, Loop, Run, tool
from agentkit.models.scripted import Scripted
from agentkit.trace.events import Event
from agentkit.trace.pictures import Pictures
from agentkit.trace.progress import KINDS


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return "found"


def progress_of(engine: str, replies: list[str], **options: Any) -> tuple[Run, list[tuple[str, dict[str, Any]]]]:
    events: list[Event] = []
    model, tools = Scripted(replies), options.pop("tools", ())
    run = Agent(model, tools, journal="memory", on_event=events.append, **split(options, engine)).start(
        "q", paused=True
    )
    for _ in run:
        pass
    live = [(event.kind, event.data) for event in events if event.kind in KINDS]
    assert live == [(event.kind, event.data) for event in run.events() if event.kind in KINDS]
    assert all(set(data) == {part.partition("(")[0].strip() for part in _parts(KINDS[kind])} for kind, data in live)
    return run, live


def _parts(text: str) -> list[str]:
    import re

    return re.sub(r"\([^)]*\)", "", text).split(",")


def pictures(run: Run) -> dict[str, Any]:
    drawn = Pictures()
    for entry in run.entries:
        drawn.add(entry)
    return drawn.data([], True)


def test_events_show_a_plan_its_steps_and_their_results() -> None:
    run, live = progress_of("plan_and_execute", ["1. a\n2. b", "FAILED: no", "B", "done"])
    assert live == [
        ("plan_created", {"steps": ["a", "b"], "changed": False}),
        ("plan_step_started", {"step": 1, "text": "a"}),
        ("plan_step_completed", {"step": 1, "text": "a", "state": "failed"}),
        ("plan_step_started", {"step": 2, "text": "b"}),
        ("plan_step_completed", {"step": 2, "text": "b", "state": "done"}),
    ]
    assert [(step["text"], step["state"]) for step in pictures(run)["plan"]] == [("a", "failed"), ("b", "done")]


def test_a_plan_is_shown_before_its_first_step() -> None:
    model = Scripted(["1. a\n2. b"])
    run = Agent(model, engine="plan_and_execute", journal="memory").start("q", paused=True)
    next(run)
    drawn = Pictures().data([pending.step for pending in run.pending], False)
    assert [(step["text"], step["state"]) for step in drawn["plan"]] == [("a", "doing"), ("b", "todo")]


def test_a_changed_plan_is_reported() -> None:
    _, live = progress_of("plan_and_execute", ["1. a\n2. b", "FAILED: no", "1. c", "C", "done"], replan=True)
    assert [data["changed"] for kind, data in live if kind == "plan_created"] == [False, True]


def test_parallel_steps_are_reported() -> None:
    run, live = progress_of("dag", ["1. a\n2. b\n3. c [after: 1]", "FAILED: x", "B", "ACHIEVED: yes\nANSWER: d"])
    ended = {data["step"]: data["state"] for kind, data in live if kind == "plan_step_completed"}
    assert ended == {1: "failed", 2: "done", 3: "skipped"}
    assert [step["state"] for step in pictures(run)["plan"]] == ["failed", "done", "skipped"]


def test_attempts_and_lessons_are_reported() -> None:
    run, live = progress_of("reflexion", ["A", "Score: 0.4", "look", "B", "Score: 0.9"], threshold=0.8)
    assert live == [
        ("attempt_started", {"episode": 1}),
        ("attempt_judged", {"episode": 1, "ok": False, "score": 0.4}),
        ("lesson", {"episode": 1, "text": "look"}),
        ("attempt_started", {"episode": 2}),
        ("attempt_judged", {"episode": 2, "ok": True, "score": 0.9}),
    ]
    first, second = pictures(run)["episodes"]
    assert (first["score"], first["ok"], first["lesson"]) == (0.4, False, "look")
    assert (second["score"], second["ok"]) == (0.9, True)


def test_thoughts_are_proposed_scored_pruned_and_solved() -> None:
    replies = ["a", "b", "3", "8", "c", "ANSWER: d"]
    run, live = progress_of("tree_of_thoughts", replies, n_branches=2, beam_width=1)
    assert [kind for kind, _ in live] == [
        *["thought_proposed"] * 2,
        *["thought_scored"] * 2,
        "thoughts_pruned",
        *["thought_proposed"] * 2,
        "solved",
    ]
    assert live[4][1] == {"nodes": ["1"]} and live[-1][1] == {"nodes": ["2", "2.2"], "answer": "d"}
    tree = {node["node"]: node for node in pictures(run)["tree"]}
    assert (tree["1"]["score"], tree["1"]["pruned"], tree["2"]["chosen"], tree["2.2"]["parent"]) == (3, True, True, "2")


def test_a_score_is_reported_as_soon_as_it_is_known() -> None:
    model = Scripted(["a", "b", "3"])
    run = Agent(model, engine=Loop("tree_of_thoughts", n_branches=2), journal="memory").start("q", paused=True)
    for _ in range(3):
        next(run)
    assert [node["score"] for node in pictures(run)["tree"]] == [3, None]


def test_critiques_and_revisions_are_reported() -> None:
    claims = "CLAIM: a\nTOOL: look\nTOOL INPUT: a"
    _, live = progress_of("critic", ["draft", claims, "better", "VERIFIED: all"], tools=[look])
    assert [(kind, data["round"]) for kind, data in live] == [("critique", 1), ("revised", 1), ("critique", 2)]
