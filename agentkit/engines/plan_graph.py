"""A plan as a graph: steps that need other steps, read from the text of a model or a person.

A plan is a list, usually a numbered one. An item may end with brackets that name the steps that it needs, and the model
to use:

    1. find the population of Oslo [model: fast]
    2. find the population of Bergen
    3. compare the two [after: 1, 2]

A plan can also be a JSON list (or an object with such a list under "steps") of objects with "id", "task", "after" and
"model". In a numbered list only numbers count as needs, so that "(after lunch)" stays part of the task; a need that is
not a step of the plan is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from agentkit.engines.parsing import list_of, task_of

_NOTE = re.compile(
    r"[ \t]*[\[(][ \t]*(?:(?:after|needs|depends on|requires)\b[ \t]*[:=]?((?:steps?|and|none|[-#\d',;&.\s])++)"
    r"|model[ \t]*[:=]([^\])\n]{0,200}))[\])]",
    re.I,
)
_AFTER = ("after", "needs", "depends_on", "dependencies", "requires")


@dataclass(slots=True, frozen=True)
class Node:
    """One step of a plan: its name, its task, the names of the steps that it needs, and the model to use."""

    name: str
    task: str
    after: tuple[str, ...] = ()
    model: str = ""

    def __str__(self) -> str:
        notes = f" [after: {', '.join(self.after)}]" if self.after else ""
        return f"{self.name}. {self.task}{notes}" + (f" [model: {self.model}]" if self.model else "")


def read_plan(text: str, limit: int = 1000) -> tuple[Node, ...]:
    """Return the steps of a plan, at most `limit` of them; an empty tuple if the text contains no plan.

    Names are made unique. Needs of steps beyond the limit are kept, so that `find_problem` can say so.
    """
    nodes = [node for node in _of_list(text) if node.task]
    known = {node.name for node in nodes}
    unique: dict[str, Node] = {}
    for node in nodes[:limit]:
        name = node.name if node.name not in unique else f"{node.name}'"
        while name in unique:
            name += "'"
        unique[name] = replace(node, name=name, after=_needs(node.after, known))
    return tuple(unique.values())


def find_problem(nodes: Iterable[Node]) -> str:
    """Return why a plan cannot be carried out, if steps need each other in a circle or need a missing step; else ""."""
    known = {node.name: node for node in nodes}
    missing = [f"step {n.name} needs {need}" for n in known.values() for need in n.after if need not in known]
    if missing:
        return f"{', '.join(missing[:10])}, but the plan has no such step"
    circle = _circle(known)
    if circle == circle[:1]:
        return f"step {circle[0]} needs itself" if circle else ""
    needs = [f"{a} needs {b}" for a, b in zip(circle, [*circle[1:], circle[0]], strict=True)]
    return f"steps need each other in a circle: {', '.join(needs)}"


def problem_of(plan: str) -> str:
    """Return why the plan of a caller cannot be carried out; "" if it can, or if there is none."""
    nodes = read_plan(plan)
    return find_problem(nodes) if nodes or not plan.strip() else "it contains no list of steps"


def _circle(known: dict[str, Node]) -> list[str]:
    """Return the names of the steps of a circle; an empty list if there is no circle."""
    left = {name: set(node.after) for name, node in known.items()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    if not left:
        return []
    path: dict[str, None] = {}
    at = next(iter(left))
    while at not in path:
        path[at] = None
        at = next(need for need in known[at].after if need in left)
    names = list(path)
    return names[names.index(at) :]


def _of_list(text: str) -> list[Node]:
    nodes: list[Node] = []
    for number, item in list_of(text):
        if isinstance(item, dict):
            nodes.append(_node(number, item))
            continue
        notes = list(_NOTE.finditer(item))
        after = tuple(note[1] for note in notes if note[1])
        model = next((note[2].strip() for note in notes if note[2]), "")
        nodes.append(Node(number.lstrip("0") or "0", _NOTE.sub("", item).strip(), after, model))
    return nodes


def _node(number: str, row: dict[str, Any]) -> Node:
    needs = _first(row, _AFTER) or []
    after = tuple(map(str, needs if isinstance(needs, list) else [needs]))
    return Node(
        number,
        task_of(row),
        after,
        str(row.get("model") or row.get("model_hint") or ""),
    )


def _first(row: dict[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name)), None)


def _needs(needs: Iterable[str], known: set[str]) -> tuple[str, ...]:
    """Return the names of the steps that are needed: each need is the name of a step, or a text with several names."""
    words = [word for need in needs for word in ([need] if need in known else re.split(r"[\s,;.&]+", need))]
    names = (word if word in known else re.sub(r"^\D+", "", word) for word in words)
    return tuple(dict.fromkeys(name for name in names if name in known))
