"""The layout of overviews: in what order a tree is read, and where the steps of a graph are.

The static form and the live view draw both from here, each in its own measures.
"""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]


def in_reading_order(nodes: list[Data]) -> list[Data]:
    """Return the nodes of a tree (`node`, `parent`), each one followed by those below it.

    Nothing stops an engine from making a circle of nodes; the first of them is a root. So a parent that does not come
    before its child is to be ignored.
    """
    names, below = {node["node"] for node in nodes}, dict[str, list[Data]]()
    for node in nodes:
        below.setdefault(node["parent"] if node["parent"] in names else "", []).append(node)
    ordered = dict[str, Data]()
    for start in (*below.get("", ()), *nodes):
        stack = [start]
        while stack:
            node = stack.pop()
            if node["node"] not in ordered:
                ordered[node["node"]] = node
                stack += reversed(below.get(node["node"], ()))
    return list(ordered.values())


def graph_places(needs: list[list[int]]) -> list[tuple[int, int]]:
    """Return the column and the row of each step, to the right of those that it needs (their indices), so that no line
    to a step crosses another one.
    """
    columns = _columns(needs)
    found, taken = dict[int, tuple[int, int]](), set[tuple[int, int]]()
    for number in sorted(range(len(needs)), key=lambda number: (columns[number], number)):
        column = columns[number]
        before = (columns[need] for need in needs[number] if columns.get(need, column) < column)
        span = range(min(before, default=column - 1) + 1, column + 1)  # the lines to the step need the places before it
        row = next(row for row in range(len(needs)) if not any((place, row) in taken for place in span))
        taken.update((place, row) for place in span)
        found[number] = column, row
    return [found[number] for number in range(len(needs))]


def _columns(needs: list[list[int]]) -> dict[int, int]:
    """Return the column of each step: one more than the largest of those that it needs.

    Nothing stops an engine from making a circle of steps; they are in the first column.
    """
    columns: dict[int, int] = {}
    left = set(range(len(needs)))
    while free := [number for number in left if not left.intersection(needs[number])]:
        columns.update({n: 1 + max((columns.get(need, -1) for need in needs[n]), default=-1) for n in free})
        left.difference_update(free)
    return columns | dict.fromkeys(left, 0)
