"""The order in which a tree is read, and the places of the steps of a graph, which both drawings use."""

from __future__ import annotations

import pytest

from agentkit.trace.layout import graph_places, in_reading_order

ORDERS = {
    "each node is followed by those below it": ("a: b: a1:a b1:b a2:a", "a a1 a2 b b1"),
    "a parent that comes later is put before its child": ("b:a a:", "a b"),
    "a parent that does not exist leaves a root": ("b:gone c:b", "b c"),
    "the first node of a circle is a root": ("a:b b:a", "a b"),
    "a node may name itself as its parent": ("r: c:c d:c", "r c d"),
    "a circle below a root comes after the others": ("x:y y:x a: b:a", "a b x y"),
}


@pytest.mark.parametrize(("nodes", "expected"), ORDERS.values(), ids=list(ORDERS))
def test_the_order_of_a_tree(nodes: str, expected: str) -> None:
    tree = [dict(zip(("node", "parent"), each.split(":"), strict=True)) for each in nodes.split()]
    assert " ".join(node["node"] for node in in_reading_order(tree)) == expected


def test_a_chain_of_twenty_thousand_is_put_in_order_however_it_comes() -> None:
    chain = [{"node": str(n), "parent": str(n - 1)} for n in range(20_000)]
    assert in_reading_order(chain[::-1]) == chain


PLACES = {
    "steps that need nothing are below each other": ([[], []], [(0, 0), (0, 1)]),
    "a step is to the right of those that it needs": ([[], [0], [1]], [(0, 0), (1, 0), (2, 0)]),
    "a line over a column keeps its row free": ([[], [0], [0, 1]], [(0, 0), (1, 0), (2, 1)]),
    "a circle is in the first column": ([[1], [0], []], [(0, 0), (0, 1), (0, 2)]),
    "a step that does not exist is not needed": ([[8], [-1]], [(0, 0), (0, 1)]),
}


@pytest.mark.parametrize(("needs", "expected"), PLACES.values(), ids=list(PLACES))
def test_the_places_of_a_graph(needs: list[list[int]], expected: list[tuple[int, int]]) -> None:
    assert graph_places(needs) == expected
