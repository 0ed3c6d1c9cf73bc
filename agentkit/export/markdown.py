"""A trace in Markdown: fragments for a notebook, and a file. Every text in it is escaped or fenced."""

from __future__ import annotations

import json
import os

from agentkit.core.messages import Message
from agentkit.core.text import counted
from agentkit.core.usage import Usage
from agentkit.export import files, items, overviews, parts, prose, tables, text
from agentkit.export.escaping import markdown_block, markdown_code, markdown_inline
from agentkit.export.protocols import ResultLike, RunLike
from agentkit.export.tables import Table
from agentkit.gates.guards import Guards
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

LIMIT = parts.FRAGMENT.text


# -- fragments ---------------------------------------------------------------------------------------------------------


def run(run: RunLike) -> str:
    """Return a run: its status, its trace, and its next steps. Of a long trace, the middle is left out."""
    limit = LIMIT if len(run.entries) <= parts.HEAD else parts.LIST_ITEM.text
    blocks = [f"**{markdown_inline(text.summary(run))}**", *overviews.to_markdown(run, overviews.MAX_LINES)]
    for number, entry in parts.abridged(run.entries):
        if isinstance(entry, Entry):
            blocks.append(entry_section(entry, number, parts.Limits(limit, 0)))  # images only in HTML
        else:
            blocks.append(f"*Entries {number} to {entry} are not shown here.*")
    return _document(*blocks, *outlook(run, LIMIT))


def entry(entry: Entry) -> str:
    """Return an entry."""
    return _document(entry_section(entry, None, parts.FRAGMENT))


def message(message: Message) -> str:
    """Return a message, with the tables, images and pages that it contains."""
    head = f"**{markdown_inline(message.role)}**{'' if message.ok else ' ✗'}"
    form = {"tool": "code", "assistant": "markdown"}.get(message.role, "prose")
    body = _FORMS[form](message.text, LIMIT)
    shown = [_item(item, parts.FRAGMENT) for item in items.items(message)]
    calls = [markdown_code(parts.call_line(call), LIMIT) for call in message.calls]
    return _document(head, body, *shown, *calls)


def tool(tool: Tool) -> str:
    """Return a tool: its description, its side effects, and its parameters."""
    head = f"**{markdown_inline(tool.name)}** ({markdown_inline(tool.effect)})"
    schema = markdown_code(json.dumps(tool.parameters, indent=2), LIMIT)
    return _document(head, markdown_block(tool.description, LIMIT), schema)


def usage(usage: Usage) -> str:
    """Return a usage as a table."""
    names = ["calls", "input", "output", "cached", "reasoning", "cost"]
    return _document(tables.to_markdown(Table(names, [[str(getattr(usage, name)) for name in names]])))


def guards(guards: Guards) -> str:
    """Return what guards a run as a table."""
    return table("Guards", guards.rows)


def result(result: ResultLike) -> str:
    """Return the result of a run."""
    blocks = [prose.to_markdown(result.answer, LIMIT)]
    if reason := text.reason_text(result):
        label = "Interrupted" if result.interrupted else "Reason"
        blocks.append(f"**{label}:** {markdown_inline(reason, LIMIT)}")
    if result.error:
        error_type = markdown_inline(type(result.error).__name__)
        blocks.append(f"**✗ {error_type}:** {markdown_inline(result.error, LIMIT)}")
    blocks += [f"**Not run:** {markdown_inline(denied, LIMIT)}" for denied in result.denied]
    return _document(*blocks, f"*{text.spent_text(result)}*")


def comparison(task: str, totals: Table, difference: str, steps: Table) -> str:
    """Return several runs of one task side by side: their totals and their steps."""
    blocks = tables.to_markdown(totals), markdown_inline(difference), tables.to_markdown(steps)
    return _document(f"**{markdown_inline(task, LIMIT)}**", *blocks)


def table(title: str, rows: list[list[str]]) -> str:
    """Return a table of names and values under a title."""
    return _document(tables.to_markdown(Table([title, ""], rows)))


def branches(branches: list[list[Entry]]) -> str:
    """Return the branches of a tree: the length of the current one, and what is different in each other one."""
    if not branches:
        return "No branches.\n"
    current = {id(entry) for entry in branches[0]}
    blocks = [f"**{text.branch_counts(branches)}**"]
    for number, line in enumerate(branches[1:], 1):
        own = [(n, entry) for n, entry in enumerate(line) if id(entry) not in current]
        blocks.append(f"**Branch {number}** diverges at entry {own[0][0] if own else len(line)}")
        blocks += [entry_section(entry, n, parts.Limits(parts.LIST_ITEM.text, 0)) for n, entry in own[: parts.HEAD]]
        if len(own) > parts.HEAD:
            blocks.append(f"*… and {counted(len(own) - parts.HEAD, 'more step')}*")
    return _document(*blocks)


# -- a file ------------------------------------------------------------------------------------------------------------


def to_markdown(run: RunLike, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> str:
    """Return a run as Markdown with every step in full; write it to `path` if there is one."""
    entries = run.entries
    sections = [
        entry_section(entry, n, parts.NO_LIMITS, parts.labels_shown_next(entries, n)) for n, entry in enumerate(entries)
    ]
    head = "# Trace of an agent run", markdown_inline(text.summary(run)), *overviews.to_markdown(run)
    document = _document(*head, *sections, *outlook(run, 0))
    if path is not None:
        files.write(path, "markdown", document, overwrite=overwrite)
    return document


# -- blocks ------------------------------------------------------------------------------------------------------------


def entry_section(entry: Entry, number: int | None, limits: parts.Limits, without: tuple[str, ...] = ()) -> str:
    """Return an entry under a heading; the parts whose label is in `without` are left out."""
    shown = parts.parts_of(entry)
    heading = f"### {'' if number is None else f'{number} · '}{markdown_inline(shown.kind)}{'' if shown.ok else ' ✗'}"
    mark = [f"*{markdown_inline(shown.mark, LIMIT)}*"] if shown.mark else []
    return "\n\n".join([heading, *mark, *(part(p, limits) for p in shown.parts if p.label not in without)])


def part(part: parts.Part, limits: parts.Limits) -> str:
    """Return one part of an entry."""
    label = f"**{markdown_inline(part.label)}:**" if part.label else ""
    body = _FORMS[part.form](part.text, limits.text)
    if part.folded and part.form != "code":
        body = "\n".join(f"> {line}".rstrip() for line in body.split("\n"))
    shown = [_item(item, limits) for item in items.items(part.message)] if part.message else []
    return "\n\n".join(block for block in (label, body, *shown) if block)


def outlook(run: RunLike, limit: int) -> list[str]:
    """Return why a run does not continue, and its next steps."""
    return [f"**{label}:** {markdown_inline(line, limit)}" for label, line in parts.outlook(run)]


_FORMS = {"code": markdown_code, "prose": markdown_block, "markdown": prose.to_markdown}


def _document(*blocks: str) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _item(item: items.Item, limits: parts.Limits) -> str:
    if isinstance(item, Table):
        return tables.to_markdown(item)
    if isinstance(item, items.Source) and item.mime == items.MARKDOWN:
        return prose.to_markdown(item.text, limits.text)
    if isinstance(item, items.Source):
        return markdown_code(item.text, limits.text)
    if isinstance(item, items.Page):
        return f"*an HTML page of {len(item.source):,} characters, which is shown in a notebook and in HTML*"
    if limits.item is not None and len(item.data) > limits.item:
        return f"*{item.mime}, {len(item.data):,} characters: too large to show here*"
    return f"![{item.mime}](data:{item.mime};base64,{item.data})"
