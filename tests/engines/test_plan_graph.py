"""A plan as a graph: how it is read, and how its problems are reported."""

from __future__ import annotations

import pytest

from agentkit.engines.plan_graph import Node, find_problem, read_plan


def test_a_list_with_needs_and_models_is_read() -> None:
    text = "1. find Oslo [model: fast]\n2. find Bergen\n3. compare [after: 1, 2]\n4. tell (needs: step 3)"
    assert read_plan(text) == (
        Node("1", "find Oslo", (), "fast"),
        Node("2", "find Bergen"),
        Node("3", "compare", ("1", "2")),
        Node("4", "tell", ("3",)),
    )
    assert read_plan("\n".join(map(str, read_plan(text)))) == read_plan(text)


def test_json_is_read_too() -> None:
    text = 'Here:\n```json\n{"steps": [{"id": "a", "task": "x"}, {"id": "b", "task": "y", "depends_on": ["a"], "model": "fast"}]}\n```'
    assert read_plan(text) == (Node("a", "x"), Node("b", "y", ("a",), "fast"))


@pytest.mark.parametrize("text", ["", "no plan", "[1, 2]", '{"steps": []}', '[{"no": "task"}]', "{" * 5000])
def test_a_text_without_a_plan_has_no_steps(text: str) -> None:
    assert read_plan(text) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1. a\n2. b [after: 1]", ""),
        ("1. a [after: 1]", "step 1 needs itself"),
        (
            "1. a [after: 3]\n2. b [after: 1]\n3. c [after: 2]",
            "steps need each other in a circle: 1 needs 3, 3 needs 2, 2 needs 1",
        ),
    ],
)
def test_a_problem_is_reported_with_the_names_of_the_steps(text: str, problem: str) -> None:
    assert find_problem(read_plan(text)) == problem


def test_a_need_of_a_step_beyond_the_limit_is_reported() -> None:
    assert find_problem(read_plan("1. a\n2. b [after: 3]\n3. c")[:2]) == "step 2 needs 3, but the plan has no such step"


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("1. a\n2. b [after: 9, 1]", (Node("1", "a"), Node("2", "b", ("1",)))),
        ("1. call Bob (after lunch)", (Node("1", "call Bob (after lunch)"),)),
        ("1. describe (model T Ford)", (Node("1", "describe (model T Ford)"),)),
        ("1. a\n2. b\n3. c (after: step 1 and #2)", (Node("1", "a"), Node("2", "b"), Node("3", "c", ("1", "2")))),
        (
            "1. a\n   1. with care\n   2. in time\n2. b [after: 1]",
            (Node("1", "a\n1. with care\n2. in time"), Node("2", "b", ("1",))),
        ),
        (
            '[{"id": 1, "task": "a"}, {"id": 2, "task": "b", "needs": "1"}, {"id": 3, "task": "c", "needs": ["step '
            '1", "step_2"]}]',
            (Node("1", "a"), Node("2", "b", ("1",)), Node("3", "c", ("1", "2"))),
        ),
        (
            '[{"id": "look up 2", "task": "a"}, {"id": "2", "task": "b", "needs": ["look up 2", "nothing"]}]',
            (Node("look up 2", "a"), Node("2", "b", ("look up 2",))),
        ),
    ],
)
def test_needs_are_steps_of_the_plan_and_the_task_is_otherwise_unchanged(text: str, nodes: tuple[Node, ...]) -> None:
    assert read_plan(text) == nodes


def test_a_thousand_steps_are_cut_and_their_names_are_unique() -> None:
    assert len(read_plan("\n".join(f"{n}. step" for n in range(1, 2000)), 1000)) == 1000
    assert [node.name for node in read_plan("1. a\n1. b\n1. c")] == ["1", "1'", "1''"]
