"""A trace in Markdown: fragments for a notebook, and a file. Every text in it is escaped, or fenced in."""

from __future__ import annotations

import json
import os
from pathlib import Path

from agentkit.core.messages import Message
from agentkit.core.text import counted
from agentkit.core.usage import Usage
from agentkit.export import parts, rich
from agentkit.export import text as plain
from agentkit.export.held import HeldRun, Outcome
from agentkit.export.inert import fence, phrase, prose
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

LIMIT = parts.FRAGMENT.text
_TABLE = 50, 20  # rows and columns
_CELL = 500  # characters of one cell


# -- fragments -----------------------------------------------------------------------------------------------------------


def run(run: HeldRun) -> str:
    """Show a run: how it stands, its trace, what comes next. Of a long trace the two ends are shown."""
    text = LIMIT if len(run.entries) <= parts.HEAD else parts.MANY.text
    found = [f"**{phrase(plain.summary(run))}**"]
    for number, what in parts.glimpse(run.entries):
        if isinstance(what, Entry):
            found.append(section(what, number, parts.Size(text, 0)))  # pictures are for HTML
        else:
            found.append(f"*Entries {number} to {what} are not shown here.*")
    return _whole(*found, *ahead(run, LIMIT))


def entry(entry: Entry) -> str:
    """Show an entry."""
    return _whole(section(entry, None, parts.FRAGMENT))


def message(message: Message) -> str:
    """Show a message, with what it holds to be looked at."""
    head = f"**{phrase(message.role)}**{'' if message.ok else ' ✗'}"
    asked = [fence(parts.call(call), LIMIT) for call in message.calls]
    text = fence(message.text, LIMIT) if message.role == "tool" else prose(message.text, LIMIT)
    return _whole(head, text, *(_item(item, parts.FRAGMENT) for item in rich.items(message)), *asked)


def tool(tool: Tool) -> str:
    """Show a tool: what it is for, what may happen, and what it takes."""
    head = f"**{phrase(tool.name)}** ({phrase(tool.effect)})"
    return _whole(head, prose(tool.description, LIMIT), fence(json.dumps(tool.parameters, indent=2), LIMIT))


def usage(usage: Usage) -> str:
    """Show what was used up."""
    names = ("calls", "input", "output", "cached", "reasoning", "cost")
    return _whole(_table(rich.Table(list(names), [[str(getattr(usage, name)) for name in names]])))


def result(result: Outcome) -> str:
    """Show what a run came to."""
    found = [prose(result.answer, LIMIT)]
    if why := plain.reason_text(result):
        found.append(f"**{'Interrupted' if result.interrupted else 'Reason'}:** {phrase(why, LIMIT)}")
    if result.error:
        found.append(f"**✗ {phrase(type(result.error).__name__)}:** {phrase(result.error, LIMIT)}")
    return _whole(*found, f"*{plain.spent_text(result)}*")


def comparison(task: str, totals: rich.Table, difference: str, steps: rich.Table) -> str:
    """Show several runs of one task side by side: what each came to, and the steps."""
    return _whole(f"**{phrase(task, LIMIT)}**", _table(totals), phrase(difference), _table(steps))


def table(title: str, rows: list[list[str]]) -> str:
    """Show a table of names and values under a title."""
    return _whole(_table(rich.Table([title, ""], rows)))


def branches(branches: list[list[Entry]]) -> str:
    """Show the lines of a tree: the present one in short, of each other one what is its own."""
    if not branches:
        return "No lines.\n"
    known = {id(entry) for entry in branches[0]}
    found = [f"**{counted(len(branches), 'line')}**, the present one of {counted(len(branches[0]) - 1, 'step')}"]
    for place, line in enumerate(branches[1:], 2):
        own = [(number, each) for number, each in enumerate(line) if id(each) not in known]
        found.append(f"**Line {place}** parts from it at entry {own[0][0] if own else len(line)}")
        found += [section(each, number, parts.Size(parts.MANY.text, 0)) for number, each in own[: parts.HEAD]]
        found += [f"*and {len(own) - parts.HEAD} more*"] if len(own) > parts.HEAD else []
    return _whole(*found)


# -- a file --------------------------------------------------------------------------------------------------------------


def to_markdown(run: HeldRun, path: str | os.PathLike[str] | None = None) -> str:
    """Give a run as Markdown with every step in it, whole; write it where a `path` is given."""
    entries = run.entries
    steps = [section(each, number, parts.WHOLE, parts.repeated(entries, number)) for number, each in enumerate(entries)]
    text = _whole("# Trace of an agent run", phrase(plain.summary(run)), *steps, *ahead(run, 0))
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


# -- pieces --------------------------------------------------------------------------------------------------------------


def section(entry: Entry, number: int | None, size: parts.Size, without: tuple[str, ...] = ()) -> str:
    """Show an entry under a heading; pieces whose label is in `without` are left out."""
    seen = parts.of(entry)
    head = f"### {'' if number is None else f'{number} · '}{phrase(seen.kind)}{'' if seen.ok else ' ✗'}"
    mark = [f"*{phrase(seen.mark, LIMIT)}*"] if seen.mark else []
    return "\n\n".join([head, *mark, *(part(each, size) for each in seen.parts if each.label not in without)])


def part(part: parts.Part, size: parts.Size) -> str:
    """Show one piece of an entry."""
    label = f"**{phrase(part.label)}:**" if part.label else ""
    text = fence(part.text, size.text) if part.form == "code" else prose(part.text, size.text)
    if part.folded and part.form == "prose":
        text = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
    items = [_item(item, size) for item in rich.items(part.message)] if part.message else []
    return "\n\n".join(each for each in (label, text, *items) if each)


def ahead(run: HeldRun, limit: int) -> list[str]:
    """Say what a run waits for, and what comes next."""
    return [f"**{label}:** {phrase(text, limit)}" for label, text in parts.ahead(run)]


def _whole(*found: str) -> str:
    return "\n\n".join(each for each in found if each) + "\n"


def _item(item: rich.Item, size: parts.Size) -> str:
    if isinstance(item, rich.Table):
        return _table(item)
    if isinstance(item, rich.Source):
        return fence(item.text, size.text)
    if isinstance(item, rich.Page):
        return f"*an HTML page of {len(item.source):,} characters, shown in a notebook and in HTML*"
    if size.item is not None and len(item.data) > size.item:
        return f"*{item.mime}, {len(item.data):,} characters: too large to be shown here*"
    return f"![{item.mime}](data:{item.mime};base64,{item.data})"


def _table(table: rich.Table) -> str:
    rows, columns = _TABLE
    width = min(columns, max((len(row) for row in [table.header, *table.rows]), default=0))
    header = table.header or [""] * width
    lines = [_row(header, width), f"|{' --- |' * width}", *(_row(row, width) for row in table.rows[:rows])]
    left = len(table.rows) - rows
    return "\n".join(lines) + (f"\n\n*and {left} more rows*" if left > 0 else "")


def _row(cells: list[str], width: int) -> str:
    padded = [*cells[:width], *[""] * (width - len(cells))]
    return f"| {' | '.join(phrase(cell, _CELL) for cell in padded)} |"
