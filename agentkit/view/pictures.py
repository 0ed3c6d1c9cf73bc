"""What a trace looks like as a whole: a plan as a check-list, episodes as a timeline, thoughts as a tree.

Drawn from the roles and tags that an engine gives its steps, and from nothing else:

    plan      tags["plan"]: the steps as texts; tags["plan_step"]: the number, from 1, of the one that is worked on, if they
              are done in order; tags["plan_lane"]: the same, if several are worked on side by side;
              tags["plan_states"]: {number: "failed" | "skipped" | ...} if it is not what the order says
    episodes  tags["episode"]: a number from 1; an "evaluate" step says the verdict, or the score where tags["threshold"] is a
              number; tags["ok"] and tags["score"] of any later step say it, too; a "reflect" step says the lesson
    tree      tags["node"] and tags["parent"]: names such as "1.2"; an "evaluate" step says the score, or tags["score"], or
              tags["scores"]: {name: score}; tags["pruned"], tags["chosen"]: node names

The shapes are those of `Pictures` in widgets/src/protocol.ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.steps import Step
from agentkit.journal.entries import Entry
from agentkit.trace.progress import judgement, scored

Data = dict[str, Any]
_TEXT = 500


class Pictures:
    """The pictures of one line; `add` takes the entries in their order, and `data` gives what there is to draw."""

    def __init__(self) -> None:
        self._plan: list[Data] = []
        self._episodes: dict[int, Data] = {}
        self._nodes: dict[str, Data] = {}

    def add(self, entry: Entry) -> bool:
        """Take up an entry; say whether it has changed a picture."""
        tags = entry.step.tags if entry.step is not None else None
        if not tags:
            return False
        said = _said(entry)
        try:
            return any(
                [self._add_plan(tags, entry), self._add_episode(tags, entry, said), self._add_node(tags, entry, said)]
            )
        except (TypeError, ValueError):  # tags are an engine's own words: others may mean something else by them
            return False

    def data(self, ahead: list[Step], done: bool) -> Data:
        """Give the pictures as they are now; `ahead` are the pending steps, and `done` says that the engine has its answer."""
        plan = [dict(step) for step in self._plan]
        for pending in ahead:
            try:
                plan = _planned(plan, pending.tags)  # a plan is seen before its first step is taken
                _work_on(plan, pending.tags, 0)
            except (TypeError, ValueError):
                continue
        busy = {
            number for pending in ahead for number in (pending.tags.get("plan_step"), pending.tags.get("plan_lane"))
        }
        for number, step in enumerate(plan, 1):
            if step["state"] == "doing" and (done or number not in busy):
                step["state"] = "done"
        return {
            "plan": plan,
            "episodes": [*map(dict, self._episodes.values())],
            "tree": [*map(dict, self._nodes.values())],
        }

    # -- the three of them -------------------------------------------------------------------------------------------

    def _add_plan(self, tags: Mapping[str, Any], entry: Entry) -> bool:
        if not tags.keys() & {"plan", "plan_step", "plan_lane"}:
            return False
        self._plan = _planned(self._plan, tags)
        _work_on(self._plan, tags, entry.id)
        return True

    def _add_episode(self, tags: Mapping[str, Any], entry: Entry, said: str) -> bool:
        number = tags.get("episode")
        if not isinstance(number, int):
            return False
        new = {
            "number": number,
            "label": f"Episode {number}",
            "score": None,
            "ok": None,
            "lesson": "",
            "entry": entry.id,
            "entries": 0,
        }
        episode = self._episodes.setdefault(number, new)
        episode["entries"] += 1
        if entry.step is not None and entry.step.role == "evaluate" and "threshold" in tags:
            tags = {**judgement(entry), **tags}
        episode["score"] = _number(tags.get("score"), episode["score"])
        episode["ok"] = tags.get("ok", episode["ok"])
        if entry.step is not None and entry.step.role == "reflect":
            episode["lesson"] = said
        return True

    def _add_node(self, tags: Mapping[str, Any], entry: Entry, said: str) -> bool:
        drawn = False
        if (name := tags.get("node")) is not None:
            new = {
                "node": str(name),
                "parent": "",
                "text": "",
                "score": None,
                "pruned": False,
                "chosen": False,
                "entry": entry.id,
            }
            node = self._nodes.setdefault(str(name), new)
            node["parent"] = str(tags.get("parent", node["parent"]))
            if entry.step is not None and entry.step.role == "evaluate":
                tags = {**scored(entry), **tags}
            node["score"] = _number(tags.get("score"), node["score"])
            if not node["text"] or (entry.step is not None and entry.step.role == "propose"):
                node["text"], node["entry"] = said, entry.id
            drawn = True
        for name, score in dict(tags.get("scores", {})).items():
            drawn |= self._mark(str(name), "score", _number(score, None))
        for mark in ("pruned", "chosen"):
            for name in tags.get(mark, ()):
                drawn |= self._mark(str(name), mark, True)
        return drawn

    def _mark(self, name: str, mark: str, value: Any) -> bool:
        if name in self._nodes:
            self._nodes[name][mark] = value
        return name in self._nodes


def _planned(plan: list[Data], tags: Mapping[str, Any]) -> list[Data]:
    """Give the plan of these tags, with what is known of the steps that it shares with the plan before."""
    texts = [str(text)[:_TEXT] for text in tags.get("plan", ())]
    if not texts or texts == [step["text"] for step in plan]:
        return plan
    before = {step["text"]: step for step in plan}
    return [dict(before.get(text) or {"text": text, "state": "todo", "entry": 0}) for text in texts]


def _work_on(plan: list[Data], tags: Mapping[str, Any], entry: int) -> None:
    """Move the plan on to the step that these tags say is worked on: what stands before it is done, if nothing else is said."""
    at, lane = tags.get("plan_step"), tags.get("plan_lane")
    states = {int(number): str(state) for number, state in dict(tags.get("plan_states", {})).items()}
    for number, step in enumerate(plan, 1):
        if number in states:
            step["state"] = states[number]
        elif isinstance(at, int) and step["state"] not in ("failed", "skipped"):
            step["state"] = "done" if number < at else "doing" if number == at else "todo"
        elif number == lane and step["state"] == "todo":
            step["state"] = "doing"
        if number in (at, lane) and entry and not step["entry"]:
            step["entry"] = entry


def _said(entry: Entry) -> str:
    return str(getattr(entry.result, "text", entry.result) or "")[:_TEXT]


def _number(value: Any, default: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default
