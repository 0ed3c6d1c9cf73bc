"""Overviews of a trace, shown before its entries: a plan, episodes and a tree of thoughts.

Each is a list; a tree, and a plan whose steps need each other, are also pictures, laid out in export/drawing.py. What
they show is collected in trace/pictures.py. Every node, score and state is in the list, so nobody needs the picture to
know them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.text import counted, one_line
from agentkit.export.drawing import Box, draw
from agentkit.export.escaping import escape_html, markdown_inline, safe_text
from agentkit.export.protocols import RunLike
from agentkit.trace.pictures import Pictures

MAX_LINES = 200
"""The most lines of an overview in a notebook's output; a file has all of them."""

_MAX_TEXT = 200  # characters of the text of a line
_MAX_DEPTH = 12  # levels that are indented
_MAX_DRAWN = 200  # boxes of a picture
_SIGNS = {"todo": "○", "doing": "◐", "done": "✓", "failed": "✗", "skipped": "–"}
_STATES = {"todo": "to do", "doing": "in progress"}


@dataclass(slots=True)
class Line:
    """One line of an overview: its level from 0, its name, what became of it, and its text."""

    level: int
    name: str
    outcome: str
    text: str


@dataclass(slots=True)
class Overview:
    """An overview: its title, its lines, and the boxes of its picture; none if it has no picture."""

    title: str
    lines: list[Line]
    boxes: list[Box] = field(default_factory=list)


def overviews(run: RunLike) -> Iterator[Overview]:
    """Yield the overviews of a run, none if its engine has neither a plan nor episodes nor a tree."""
    pictures = Pictures()
    for entry in run.entries:
        pictures.add(entry)
    data = pictures.data([pending.step for pending in run.pending], run.trace.answer is not None)
    if plan := data["plan"]:
        lines = [Line(0, _SIGNS.get(s["state"], "·"), _STATES.get(s["state"], s["state"]), s["text"]) for s in plan]
        done = counted(sum(step["state"] == "done" for step in plan), "step")
        yield Overview(f"Plan: {done} of {len(plan)} done", lines, _graph(plan))
    if episodes := data["episodes"]:
        yield Overview("Episodes", [Line(0, each["label"], _episode(each), _lesson(each)) for each in episodes])
    if tree := data["tree"]:
        nodes = _levels(tree)
        title = f"Tree of thoughts: {counted(len(nodes), 'thought')}"
        yield Overview(
            title, [Line(level, node["node"], _thought(node), node["text"]) for level, node in nodes], _boxes(nodes)
        )


def _episode(episode: dict[str, Any]) -> str:
    solved = "" if episode["ok"] is None else "solved" if episode["ok"] else "not solved"
    return ", ".join(filter(None, (solved, _score(episode), counted(episode["entries"], "step"))))


def _lesson(episode: dict[str, Any]) -> str:
    return f"Lesson: {episode['lesson']}" if episode["lesson"] else ""


def _thought(node: dict[str, Any]) -> str:
    marks = "chosen" if node["chosen"] else "", "pruned" if node["pruned"] else ""
    return ", ".join(filter(None, (_score(node), *marks)))


def _score(of: dict[str, Any]) -> str:
    return "" if of["score"] is None else f"score {of['score']:g}"


def _levels(tree: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the nodes with their levels, from 0."""
    levels: dict[str, int] = {}
    for node in tree:
        levels[node["node"]] = levels.get(node["parent"], -1) + 1
    return [(levels[node["node"]], node) for node in tree]


# -- pictures ----------------------------------------------------------------------------------------------------------


def _boxes(nodes: list[tuple[int, dict[str, Any]]]) -> list[Box]:
    """Return the boxes of a tree that grows to the right: each thought beside the one that it continues."""
    boxes: list[Box] = []
    numbers: dict[str, int] = {}
    row = 0
    for number, (level, node) in enumerate(nodes):
        if number and level <= nodes[number - 1][0]:  # not the first one below the thought before it
            row += 1
        before = [numbers[node["parent"]]] if level else []
        numbers[node["node"]] = number
        score = f" · {node['score']:g}" if node["score"] is not None else ""
        label = _short(node["node"], 10) + score
        boxes.append(Box(level, row, label, node["text"], before, node["chosen"], node["pruned"]))
    return boxes


def _graph(plan: list[dict[str, Any]]) -> list[Box]:
    """Return the boxes of a plan whose steps need each other; else none."""
    boxes = []
    for step in plan:
        if "place" not in step:
            return []
        label = f"{_SIGNS.get(step['state'], '·')} {_short(step['text'], 20)}"
        text = f"{step['text']} ({_STATES.get(step['state'], step['state'])})"
        faint, strong = step["state"] in ("todo", "skipped"), step["state"] == "doing"
        column, row = step["place"]
        boxes.append(Box(column, row, label, text, [need - 1 for need in step["needs"]], strong, faint))
    return boxes


def _short(text: str, limit: int) -> str:
    """Return the beginning of a text; the rest is in the list."""
    line = one_line(safe_text(text))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


# -- formats -----------------------------------------------------------------------------------------------------------


def to_markdown(run: RunLike, max_lines: int | None = None) -> list[str]:
    """Return each overview as a block of Markdown, with all lines or at most `max_lines`."""
    return [
        "\n".join([f"**{markdown_inline(overview.title)}**", "", *map(_markdown_line, _first(overview, max_lines))])
        for overview in overviews(run)
    ]


def _markdown_line(line: Line) -> str:
    outcome = f" ({markdown_inline(line.outcome)})" if line.outcome else ""
    text = f": {markdown_inline(line.text, _MAX_TEXT)}" if line.text else ""
    return f"{'  ' * min(line.level, _MAX_DEPTH)}- {markdown_inline(line.name)}{outcome}{text}"


def to_html(run: RunLike, max_lines: int | None = None) -> str:
    """Return the overviews as HTML, with all lines or at most `max_lines` of each; "" if there are none."""
    return "".join(_html(overview, max_lines) for overview in overviews(run))


def _html(overview: Overview, max_lines: int | None) -> str:
    lines = "".join(map(_html_line, _first(overview, max_lines)))
    drawing = draw(overview.title, overview.boxes) if 0 < len(overview.boxes) <= _MAX_DRAWN else ""
    style = "list-style:none;padding-left:.2em"
    return f'<p><b>{escape_html(overview.title)}</b></p>{drawing}<ul style="{style}">{lines}</ul>'


def _first(overview: Overview, max_lines: int | None) -> list[Line]:
    left = 0 if max_lines is None else max(0, len(overview.lines) - max_lines)
    return [*overview.lines[:max_lines], Line(0, "…", f"{left} more", "")] if left else overview.lines


def _html_line(line: Line) -> str:
    outcome = f" <small>({escape_html(line.outcome)})</small>" if line.outcome else ""
    text = f": {escape_html(one_line(safe_text(line.text, _MAX_TEXT)))}" if line.text else ""
    indent = 1.5 * min(line.level, _MAX_DEPTH)
    return f'<li style="margin-left:{indent:g}em"><b>{escape_html(line.name)}</b>{outcome}{text}</li>'
