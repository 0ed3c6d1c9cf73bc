"""Overviews of a trace, shown before its entries: a plan, episodes and a tree of thoughts.

Each is a list, and a tree is also a picture. What they show is collected in trace/pictures.py. Every node and every
score is in the list, so nobody needs the picture to know them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.text import counted, one_line
from agentkit.export.escaping import escape_html, markdown_inline, safe_text
from agentkit.export.protocols import RunLike
from agentkit.trace.pictures import Pictures

MAX_LINES = 200
"""The most lines of an overview in a notebook's output; a file has all of them."""

_MAX_TEXT = 200  # characters of the text of a line
_MAX_DEPTH = 12  # levels that are indented
_MAX_DRAWN = 200  # nodes of a tree that is drawn
_COLUMN, _ROW, _WIDTH, _HEIGHT = 150, 44, 120, 32  # of the drawing, in pixels: the distance of nodes, and their size
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
    """An overview: its title, its lines, and for a tree its nodes, each with its level."""

    title: str
    lines: list[Line]
    nodes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


def overviews(run: RunLike) -> Iterator[Overview]:
    """Yield the overviews of a run, none if its engine has neither a plan nor episodes nor a tree."""
    pictures = Pictures()
    for entry in run.entries:
        pictures.add(entry)
    data = pictures.data([pending.step for pending in run.pending], run.trace.answer is not None)
    if plan := data["plan"]:
        lines = [Line(0, _SIGNS.get(s["state"], "·"), _STATES.get(s["state"], s["state"]), s["text"]) for s in plan]
        done = counted(sum(step["state"] == "done" for step in plan), "step")
        yield Overview(f"Plan: {done} of {len(plan)} done", lines)
    if episodes := data["episodes"]:
        yield Overview("Episodes", [Line(0, each["label"], _episode(each), _lesson(each)) for each in episodes])
    if tree := data["tree"]:
        nodes = _in_order(tree)
        title = f"Tree of thoughts: {counted(len(nodes), 'thought')}"
        yield Overview(title, [Line(level, node["node"], _thought(node), node["text"]) for level, node in nodes], nodes)


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


def _in_order(tree: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the nodes with their levels, each one followed by those below it.

    Nothing stops an engine from making a circle of nodes; the first of them is a root.
    """
    names, below = {node["node"] for node in tree}, dict[str, list[dict[str, Any]]]()
    for node in tree:
        below.setdefault(node["parent"] if node["parent"] in names else "", []).append(node)
    ordered, seen = list[tuple[int, dict[str, Any]]](), set[str]()
    for start in (*below.get("", ()), *tree):
        stack = [(0, start)]
        while stack:
            level, node = stack.pop()
            if node["node"] not in seen:
                seen.add(node["node"])
                ordered.append((level, node))
                stack += [(level + 1, child) for child in reversed(below.get(node["node"], ()))]
    return ordered


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
    drawing = _drawing(overview) if 0 < len(overview.nodes) <= _MAX_DRAWN else ""
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


def _drawing(overview: Overview) -> str:
    """Return a tree as an SVG picture that grows to the right: the node of each line beside that of its parent."""
    places: dict[str, tuple[int, int]] = {}
    row, pieces = 0, []
    for index, (level, node) in enumerate(overview.nodes):
        if index and level <= overview.nodes[index - 1][0]:  # not the first node below the one before it
            row += 1
        x, y = places[node["node"]] = 4 + level * _COLUMN, 4 + row * _ROW
        if level and (parent := places.get(node["parent"])):
            start = parent[0] + _WIDTH, parent[1] + _HEIGHT // 2
            middle, end = start[0] + (x - start[0]) // 2, y + _HEIGHT // 2
            pieces.append(f'<path d="M{start[0]} {start[1]}H{middle}V{end}H{x}" fill="none" stroke="currentColor"/>')
        pieces.append(_node(x, y, node))
    levels = Counter(level for level, _ in overview.nodes)
    width, height = 8 + max(levels) * _COLUMN + _WIDTH, 8 + row * _ROW + _HEIGHT
    label = escape_html(f"{overview.title}. The list below has the same.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" viewBox="0 0 {width} {height}" '
        f'width="{width}" style="max-width:100%;height:auto;font:12px system-ui,sans-serif">{"".join(pieces)}</svg>'
    )


def _node(x: int, y: int, node: dict[str, Any]) -> str:
    line = "2.5" if node["chosen"] else "1"
    faint = ' opacity=".55" stroke-dasharray="4 3"' if node["pruned"] else ""
    name = escape_html(one_line(safe_text(node["node"]), 8))
    score = f" · {node['score']:g}" if node["score"] is not None else ""
    return (
        f"<g{faint}><title>{escape_html(one_line(safe_text(node['text'], _MAX_TEXT)))}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="none" stroke="currentColor" '
        f'stroke-width="{line}"/><text x="{x + _WIDTH // 2}" y="{y + 20}" text-anchor="middle" fill="currentColor" '
        f'stroke="none">{name}{score}</text></g>'
    )
