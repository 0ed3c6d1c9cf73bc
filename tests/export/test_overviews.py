"""The plan, the episodes and the tree of thoughts of a run are in its exports and in its static view."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Callable
from typing import Any

import pytest
from hostile_text import ATTACKS

from agentkit import Agent, Answer, Chat, Loop, Run, Think
from agentkit.models import Scripted

FORMATS: dict[str, Callable[[Run], str]] = {
    "html": lambda run: run.to_html(),
    "markdown": lambda run: run.to_markdown(),
    "notebook": lambda run: "\n".join(cell.source for cell in run.to_notebook().cells),
    "static html": lambda run: run._repr_html_(),
    "static markdown": lambda run: run._repr_markdown_(),
}


def text_of(exported: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", exported).replace("&#46;", ".").split())


def ended(engine: Any, *replies: str) -> Run:
    return Agent(Scripted(replies), engine=engine, journal="memory").run("q").run


def searched() -> Run:
    """Search a tree of two levels with two thoughts each, of which the second is the better one."""
    replies = "first", "second", "2", "8", "third", "fourth", "7.5", "3", "ANSWER: found"
    return ended(Loop("tree_of_thoughts", n_branches=2, beam_width=1, max_depth=2), *replies)


@pytest.mark.parametrize("format", FORMATS)
def test_every_node_of_a_tree_is_in_every_format_with_its_score(format: str) -> None:
    shown = text_of(FORMATS[format](searched()))
    for line in ("1 (score 2, pruned)", "2 (score 8, chosen)", "2.1 (score 7.5, chosen)", "2.2 (score 3, pruned)"):
        assert line in shown
    assert "Tree of thoughts: 4 thoughts" in shown


@pytest.mark.parametrize("format", FORMATS)
def test_every_step_of_a_plan_is_in_every_format_with_its_state(format: str) -> None:
    run = ended("plan_and_execute", "1. look\n2. leap", "FINAL_ANSWER: a", "FINAL_ANSWER: b", "both")
    shown = text_of(FORMATS[format](run))
    assert "Plan: 2 steps of 2 done" in shown and "✓ (done): look" in shown and "✓ (done): leap" in shown


@pytest.mark.parametrize("format", FORMATS)
def test_every_episode_is_in_every_format_with_its_judgement_and_its_lesson(format: str) -> None:
    replies = "FINAL_ANSWER: a", "UNSATISFACTORY: too short", "be longer", "FINAL_ANSWER: aaa", "SATISFACTORY"
    shown = text_of(FORMATS[format](ended("reflexion", *replies)))
    assert "Episode 1 (not solved, 3 steps): Lesson: be longer" in shown and "Episode 2 (solved, 3 steps)" in shown


def test_the_steps_of_a_graph_are_shown_with_those_that_they_need() -> None:
    replies = "1. look []\n2. leap [needs: 1]", "FINAL_ANSWER: a", "FINAL_ANSWER: b", '{"achieved": true}', "both"
    shown = text_of(ended("dag", *replies).to_html())
    assert "2. leap [after: 1]" in shown


def drawing(run: Run) -> xml.Element:
    (svg,) = re.findall(r"<svg.*?</svg>", run.to_html())
    return xml.fromstring(svg)


def places(svg: xml.Element) -> dict[str, tuple[int, int]]:
    """Return the place of each box of a picture by its label."""
    labels = [element.text or "" for element in svg.findall(".//{*}text")]
    boxes = [(int(box.get("x", "")), int(box.get("y", ""))) for box in svg.findall(".//{*}rect")]
    return dict(zip(labels, boxes, strict=True))


@pytest.mark.parametrize("shown", [lambda run: run.to_html(), lambda run: run._repr_html_()], ids=["file", "static"])
def test_a_graph_is_drawn_with_the_state_of_each_step_to_the_right_of_those_that_it_needs(
    shown: Callable[[Run], str],
) -> None:
    plan = "1. look\n2. ask\n3. leap [after: 1, 2]\n4. land [after: 1, 3]"
    replies = plan, "FINAL_ANSWER: a", "FAILED: nobody there", '{"achieved": true}', "both"
    (svg,) = re.findall(r"<svg.*?</svg>", shown(ended(Loop("dag", max_parallel=1), *replies)))
    picture = xml.fromstring(svg)
    (look, ask, leap, land) = places(picture).values()
    assert [label[0] for label in places(picture)] == ["✓", "✗", "–", "–"]
    assert look[0] == ask[0] < leap[0] < land[0] and len({look, ask, leap, land}) == 4
    assert len(picture.findall(".//{*}path")) == 4 and "Plan: 1 step of 4 done" in picture.get("aria-label", "")
    assert "3. leap [after: 1, 2] (skipped)" in [element.text for element in picture.findall(".//{*}title")]


def test_a_line_to_a_step_of_a_graph_crosses_no_box() -> None:
    needs = {3: [1], 4: [3], 5: [1, 2, 4], 6: [2, 3]}
    run = tagged({"plan": tuple("abcdef"), "plan_needs": needs, "plan_step": 1})
    svg = drawing(run)
    lines = [[int(n) for n in re.findall(r"\d+", path.get("d", ""))] for path in svg.findall(".//{*}path")]
    for x1, y1, turn, y2, x2 in lines:
        for x, y in places(svg).values():
            assert not (x1 < x < turn and y < y1 < y + 32) and not (turn < x < x2 and y < y2 < y + 32)


def test_a_circle_of_steps_is_drawn_once_and_a_missing_step_is_ignored() -> None:
    run = tagged({"plan": ("a", "b", "c"), "plan_needs": {1: [2], 2: [1], 3: [9, 3]}, "plan_step": 1})
    assert len(places(drawing(run))) == 3


def test_a_tree_is_drawn_with_a_label_and_each_node_beside_its_parent() -> None:
    svg = drawing(searched())
    assert svg.get("role") == "img" and "Tree of thoughts" in svg.get("aria-label", "")
    assert list(places(svg)) == ["1 · 2", "2 · 8", "2.1 · 7.5", "2.2 · 3"]
    first, second, third, fourth = places(svg).values()
    assert len({first, second, third, fourth}) == 4
    assert second[1] == third[1] and second[0] < third[0] == fourth[0]


def tagged(*tags: dict[str, Any]) -> Run:
    def engine(task: Any) -> Any:
        chat = Chat.of(task)
        for each in tags:
            chat += yield Think(chat, role="propose", tags=each)
        return Answer("over", chat)

    return ended(engine, *["thought"] * len(tags))


def test_a_circle_of_nodes_is_shown_once() -> None:
    nodes = {"node": "a", "parent": "b"}, {"node": "b", "parent": "a"}, {"node": "c", "parent": "c"}
    run = tagged(*nodes)
    assert [element.text for element in drawing(run).findall(".//{*}text")] == ["a", "b", "c"]


def test_a_run_without_overviews_has_none() -> None:
    run = tagged({})
    assert "<svg" not in run.to_html() and "<ul" not in run.to_html() and "Plan" not in run.to_markdown()


def test_a_large_tree_is_a_list_that_is_cut_only_in_the_static_view() -> None:
    run = tagged(*({"node": f"n{number}", "parent": ""} for number in range(300)))
    page, static = run.to_html(), run._repr_html_()
    assert "<svg" not in page and page.count("<li") == 300 and static.count("<li") == 201 and "100 more" in static


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_names_are_only_text(text: str) -> None:
    run = tagged({"node": text, "parent": "", "plan": (text,), "plan_step": 1}, {"node": "x", "parent": text})
    (picture,) = re.findall(r"<svg.*?</svg>", run.to_html(), re.S)
    assert {element.tag.rpartition("}")[2] for element in xml.fromstring(picture).iter()} <= {
        *("svg", "g", "title", "rect", "text", "path"),
    }
