"""The progress of an engine, derived from the roles and tags of its entries: plans, steps, attempts, lessons, thoughts.

Nothing here is stored: the same rows always give the same events, so there are events while a run is running, and again
whenever its events are read. They have cursor 0; the event of the row itself, which comes after them, has the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentkit.core.secrets import mask_json
from agentkit.core.steps import warnings_in
from agentkit.engines.parsing import answer_of, score_of, verdict_of
from agentkit.journal.entries import Entry, Row
from agentkit.trace.events import Event

KINDS = {
    "plan_created": "steps (texts), changed (whether there was another plan before)",
    "plan_step_started": "step (its number, from 1), text",
    "plan_step_completed": "step, text, state (done, failed or skipped)",
    "attempt_started": "episode",
    "attempt_judged": "episode, ok, score",
    "lesson": "episode, text",
    "thought_proposed": "node, parent, text",
    "thought_scored": "node, score",
    "thoughts_pruned": "nodes",
    "solved": "nodes (from the first thought to the last), answer",
    "critique": "round, text",
    "revised": "round, text",
    "warning": "text (what an engine or an around could not do as it was meant to)",
    "compacted": "original (messages that a request, or the session, would have had), kept (those that it has)",
}
"""Every kind of progress, and the keys of its data."""

Pairs = Iterator[tuple[str, dict[str, Any]]]
"""Kinds of progress, each with its data."""


class Progress:
    """A reader of the rows of one run, in order; `take` yields the events that come before the row's own event."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._plan: list[str] = []
        self._states: dict[int, str] = {}
        self._episode = 0
        self._pruned: set[str] = set()
        self._warned: set[Any] = set()
        for row in list(rows):
            for _ in self.take(row):
                pass

    def take(self, row: Row) -> Iterator[Event]:
        """Yield the events of progress in a row; none if its tags mean something else."""
        if not isinstance(row, Entry) or row.step is None or not row.step.tags:
            return
        tags = row.step.tags
        try:
            events = [*self._of_plan(tags), *_of_chat(tags), *self._of_warning(tags)]
            if row.kind != "end":  # that step was not performed, and has no result of its own
                for of in (self._of_episode, self._of_tree, self._of_round):
                    events += of(row, tags)
        except (TypeError, ValueError, AttributeError):
            return
        for kind, data in events:
            yield Event(kind, row.run, 0, mask_json(data))

    def _of_plan(self, tags: Mapping[str, Any]) -> Pairs:
        texts = [str(text) for text in tags.get("plan", ())]
        if not texts:
            return
        if texts != self._plan:
            changed, self._plan = bool(self._plan), texts
            self._states = {n: state for n, state in self._states.items() if n <= len(texts)}
            yield "plan_created", {"steps": texts, "changed": changed}
        for number, text in enumerate(texts, 1):
            before = self._states.get(number, "todo")
            state = _state(number, tags, before)
            self._states[number] = state
            if state != before and (state == "doing" or (before == "todo" and state in ("done", "failed"))):
                yield "plan_step_started", {"step": number, "text": text}
            if state != before and state in ("done", "failed", "skipped"):
                yield "plan_step_completed", {"step": number, "text": text, "state": state}

    def _of_episode(self, row: Entry, tags: Mapping[str, Any]) -> Pairs:
        episode = tags.get("episode")
        if not isinstance(episode, int) or row.step is None:
            return
        if episode > self._episode:
            self._episode = episode
            yield "attempt_started", {"episode": episode}
        if row.step.role == "evaluate":
            yield "attempt_judged", {"episode": episode, **judgement(row)}
        if row.step.role == "reflect":
            yield "lesson", {"episode": episode, "text": answer_of(row.result)}

    def _of_tree(self, row: Entry, tags: Mapping[str, Any]) -> Pairs:
        pruned = [str(node) for node in tags.get("pruned", ()) if str(node) not in self._pruned]
        if pruned:
            self._pruned.update(pruned)
            yield "thoughts_pruned", {"nodes": pruned}
        role = row.step.role if row.step is not None else ""
        if "node" in tags and role == "propose":
            yield (
                "thought_proposed",
                {"node": tags["node"], "parent": tags.get("parent", ""), "text": answer_of(row.result)},
            )
        if "node" in tags and role == "evaluate":
            yield "thought_scored", {"node": tags["node"], **scored(row)}
        if row.kind == "conclude" and tags.get("chosen"):
            yield "solved", {"nodes": [str(node) for node in tags["chosen"]], "answer": getattr(row.step, "answer", "")}

    def _of_round(self, row: Entry, tags: Mapping[str, Any]) -> Pairs:
        role = row.step.role if row.step is not None else ""
        if "round" in tags and role in ("critique", "feedback"):
            yield "critique", {"round": tags["round"], "text": answer_of(row.result)}
        if "round" in tags and role == "revise":
            yield "revised", {"round": tags["round"], "text": answer_of(row.result)}

    def _of_warning(self, tags: Mapping[str, Any]) -> Pairs:
        for text in warnings_in(tags):
            key = (text, tags.get("episode"))
            if key not in self._warned:  # all steps of the engine that is fallen back on carry it
                self._warned.add(key)
                yield "warning", {"text": text}


def _of_chat(tags: Mapping[str, Any]) -> Pairs:
    if "original" in tags and "kept" in tags:
        yield "compacted", {"original": tags["original"], "kept": tags["kept"]}


def judgement(row: Entry) -> dict[str, Any]:
    """Return the judgement of an attempt in an "evaluate" step, as the engine reads it: a verdict, or a score."""
    threshold = row.step.tags.get("threshold") if row.step is not None else None
    text = row.result.raw or row.result.text
    if threshold is None:
        return {"ok": verdict_of(text) is True, "score": None}
    value = score_of(text, 1.0)
    return {"ok": value is not None and value >= threshold, "score": value}


def scored(row: Entry) -> dict[str, Any]:
    """Return the score of a thought in an "evaluate" step, as the engine reads it."""
    value = score_of(row.result.raw or row.result.text, 10.0)
    return {"score": 5.0 if value is None else value}


def _state(number: int, tags: Mapping[str, Any], before: str) -> str:
    """Return the state of a step of the plan: that in the tags, or else what follows from the step in progress.

    `plan_step` is the step in progress if the steps run in order. `plan_lane` is one of several steps that run in
    parallel, and says nothing about the others.
    """
    states = {int(n): str(state) for n, state in dict(tags.get("plan_states", {})).items()}
    at, lane = tags.get("plan_step"), tags.get("plan_lane")
    if number in states:
        return states[number]
    if isinstance(at, int):
        return "done" if number < at else "doing" if number == at else "todo"
    return "doing" if number == lane and before == "todo" else before
