"""Overviews of a trace: a plan as a check list, episodes as a timeline, thoughts as a tree.

They are drawn from the roles and tags that an engine gives its steps, and from nothing else:

plan      tags["plan"]: the texts of its steps; tags["plan_step"]: the number, from 1, of the current step if the steps
              are done in order; tags["plan_lane"]: the same if several are done in parallel;
              tags["plan_needs"]: {number: numbers of the steps that it needs}, which makes the plan a graph;
              tags["plan_states"]: {number: "failed" | "skipped" | ...} where the state does not follow from the order
episodes  tags["episode"]: a number, from 1; an "evaluate" step gives the verdict, or the score if tags["threshold"] is
              a number; tags["ok"] and tags["score"] of any later step give them too; a "reflect" step gives the lesson
tree      tags["node"] and tags["parent"]: names such as "1.2"; an "evaluate" step gives the score, or tags["score"], or
              tags["scores"]: {name: score}; tags["pruned"], tags["chosen"]: names of nodes

The shapes are those of `Pictures` in widgets/src/protocol.ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.steps import Step
from agentkit.journal.entries import Entry
from agentkit.trace.layout import graph_places, in_reading_order
from agentkit.trace.progress import judgement, scored

Data = dict[str, Any]
_MAX_TEXT = 500
_MAX_DRAWN = 200  # steps of a plan that is drawn as a graph


class Pictures:
    """The overviews of one line: `add` takes its entries in order, and `data` returns what to draw."""

    def __init__(self) -> None:
        self._plan: list[Data] = []
        self._episodes: dict[int, Data] = {}
        self._nodes: dict[str, Data] = {}

    def add(self, entry: Entry) -> bool:
        """Add an entry; return whether it changed an overview."""
        tags = entry.step.tags if entry.step is not None else None
        if not tags:
            return False
        text = _result_text(entry)
        try:
            changed = [
                self._add_plan(tags, entry),
                self._add_episode(tags, entry, text),
                self._add_node(tags, entry, text),
            ]
        except (TypeError, ValueError):  # an engine may use the same tags for something else
            return False
        return any(changed)

    def data(self, steps: list[Step], done: bool) -> Data:
        """Return the overviews as they are now; `steps` are the pending ones, and `done` is true once there is an
        answer.
        """
        plan = [dict(step) for step in self._plan]
        for pending in steps:
            try:
                plan = _updated_plan(plan, pending.tags)  # a plan is shown before its first step is performed
                _set_states(plan, pending.tags, 0)
            except (TypeError, ValueError):
                continue
        in_progress = {
            number for pending in steps for number in (pending.tags.get("plan_step"), pending.tags.get("plan_lane"))
        }
        for number, step in enumerate(plan, 1):
            if step["state"] == "doing" and (done or number not in in_progress):
                step["state"] = "done"
        return {
            "plan": _placed(plan),
            "episodes": [*map(dict, self._episodes.values())],
            "tree": [*map(dict, in_reading_order([*self._nodes.values()]))],
        }

    # -- the three overviews -----------------------------------------------------------------------------------------

    def _add_plan(self, tags: Mapping[str, Any], entry: Entry) -> bool:
        if not tags.keys() & {"plan", "plan_step", "plan_lane"}:
            return False
        self._plan = _updated_plan(self._plan, tags)
        _set_states(self._plan, tags, entry.id)
        return True

    def _add_episode(self, tags: Mapping[str, Any], entry: Entry, text: str) -> bool:
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
        if _has_role(entry, "evaluate") and "threshold" in tags:
            tags = {**judgement(entry), **tags}
        episode["score"] = _number(tags.get("score"), episode["score"])
        episode["ok"] = tags.get("ok", episode["ok"])
        if _has_role(entry, "reflect"):
            episode["lesson"] = text
        return True

    def _add_node(self, tags: Mapping[str, Any], entry: Entry, text: str) -> bool:
        changed = False
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
            if _has_role(entry, "evaluate"):
                tags = {**scored(entry), **tags}
            node["score"] = _number(tags.get("score"), node["score"])
            if not node["text"] or _has_role(entry, "propose"):
                node["text"], node["entry"] = text, entry.id
            changed = True
        for name, score in dict(tags.get("scores", {})).items():
            changed |= self._set(str(name), "score", _number(score, None))
        for mark in ("pruned", "chosen"):
            for name in tags.get(mark, ()):
                changed |= self._set(str(name), mark, True)
        return changed

    def _set(self, name: str, key: str, value: Any) -> bool:
        if name in self._nodes:
            self._nodes[name][key] = value
        return name in self._nodes


def _updated_plan(plan: list[Data], tags: Mapping[str, Any]) -> list[Data]:
    """Return the plan in these tags; steps that were in the plan before keep their state."""
    texts = [str(text)[:_MAX_TEXT] for text in tags.get("plan", ())]
    if not texts or texts == [step["text"] for step in plan]:
        return plan
    before = {step["text"]: step for step in plan}
    needs = {int(number): [*map(int, numbers)] for number, numbers in dict(tags.get("plan_needs", {})).items()}
    return [
        {"state": "todo", "entry": 0, **before.get(text, {}), "text": text, "needs": needs.get(number, [])}
        for number, text in enumerate(texts, 1)
    ]


def _placed(plan: list[Data]) -> list[Data]:
    """Return a plan with the `place` of each step, if it is a graph; `needs` are then only steps further left."""
    if not any(step["needs"] for step in plan) or len(plan) > _MAX_DRAWN:
        return plan
    places = graph_places([[need - 1 for need in step["needs"]] for step in plan])
    for step, (column, row) in zip(plan, places, strict=True):
        known = [need for need in step["needs"] if 1 <= need <= len(plan) and places[need - 1][0] < column]
        step.update(place=[column, row], needs=known)
    return plan


def _set_states(plan: list[Data], tags: Mapping[str, Any], entry: int) -> None:
    """Set the states of the steps of a plan: those before the current one are done unless the tags say otherwise."""
    current, lane = tags.get("plan_step"), tags.get("plan_lane")
    states = {int(number): str(state) for number, state in dict(tags.get("plan_states", {})).items()}
    for number, step in enumerate(plan, 1):
        if number in states:
            step["state"] = states[number]
        elif isinstance(current, int) and step["state"] not in ("failed", "skipped"):
            step["state"] = "done" if number < current else "doing" if number == current else "todo"
        elif number == lane and step["state"] == "todo":
            step["state"] = "doing"
        if number in (current, lane) and entry and not step["entry"]:
            step["entry"] = entry


def _has_role(entry: Entry, role: str) -> bool:
    """Return whether a step with this role was performed, so that its result is of this role."""
    return entry.step is not None and entry.step.role == role and entry.kind != "end"


def _result_text(entry: Entry) -> str:
    return str(getattr(entry.result, "text", entry.result) or "")[:_MAX_TEXT]


def _number(value: Any, default: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default
