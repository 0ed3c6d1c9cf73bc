"""A trace in HTML: fragments for a notebook, and one file for a browser. No script, nothing remote, readable without styles.

Colours are the reader's own, in light and in dark; all that is set is space, lines and what is folded.
"""

from __future__ import annotations

import html
import json
import os
from pathlib import Path

from agentkit.core.messages import Message
from agentkit.core.text import counted, one_line
from agentkit.core.usage import Usage
from agentkit.export import parts, rich
from agentkit.export import text as plain
from agentkit.export.held import HeldRun, Outcome
from agentkit.export.inert import escaped, shown
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

LIMIT = parts.FRAGMENT.text
_FOLD = 600  # what is longer is folded
_ROOM = 2_000_000  # characters of all that is shown of a run
_TABLE = 50, 20  # rows and columns
_CELL = 500  # characters of one cell

_TEXT = 'style="white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0"'
_STEP = 'style="margin:.2em 0 .2em .2em;padding-left:.6em;border-left:3px solid {}"'
_LINE = {"": "rgba(128,128,128,.4)", "✗": "#d9534f", "✎": "#c98a1b"}
_TH = 'style="text-align:left;padding:.1em .6em;border-bottom:1px solid rgba(128,128,128,.5)"'
_TD = 'style="text-align:left;padding:.1em .6em;vertical-align:top"'
_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


# -- fragments -----------------------------------------------------------------------------------------------------------


def run(run: HeldRun) -> str:
    """Show a run: how it stands, its trace, what comes next. Of a long trace the two ends are shown."""
    size, room = (parts.FRAGMENT if len(run.entries) <= parts.HEAD else parts.MANY), _ROOM
    found = [f"<p><b>{escaped(plain.summary(run))}</b></p>"]
    for number, what in parts.glimpse(run.entries):
        if isinstance(what, Entry):
            found.append(_entry(what, number, parts.Size(size.text, max(0, min(room, parts.FRAGMENT.item or 0)))))
            room -= len(found[-1])
        else:
            found.append(
                f"<p><i>Entries {number} to {what} are not shown here; run[{number}] is the first of them.</i></p>"
            )
    found += [f"<p><b>{label}:</b> {escaped(one_line(shown(text, LIMIT)))}</p>" for label, text in parts.ahead(run)]
    return _whole(*found)


def entry(entry: Entry) -> str:
    """Show an entry, unfolded."""
    return _whole(_entry(entry, None, parts.FRAGMENT, is_open=True))


def message(message: Message) -> str:
    """Show a message, with what it holds to be looked at."""
    asked = "".join(_text(parts.call(call), LIMIT) for call in message.calls)
    return _whole(
        f"<b>{escaped(message.role)}</b>{'' if message.ok else ' ✗'}", _observed(message, parts.FRAGMENT), asked
    )


def tool(tool: Tool) -> str:
    """Show a tool: what it is for, what may happen, and what it takes."""
    head = f"<b><code>{escaped(tool.name)}</code></b> ({escaped(tool.effect)})"
    schema = _text(json.dumps(tool.parameters, indent=2), LIMIT)
    return _whole(
        head, _text(tool.description, LIMIT, "prose"), f"<details><summary>Parameters</summary>{schema}</details>"
    )


def usage(usage: Usage) -> str:
    """Show what was used up."""
    names = ("calls", "input", "output", "cached", "reasoning", "cost")
    return _whole(_table(rich.Table(list(names), [[str(getattr(usage, name)) for name in names]])))


def result(result: Outcome) -> str:
    """Show what a run came to."""
    found = [_text(result.answer, LIMIT, "prose")] if result.answer else []
    if why := plain.reason_text(result):
        found.append(f"<p><b>{'Interrupted' if result.interrupted else 'Reason'}:</b> {escaped(why, LIMIT)}</p>")
    if result.error:
        found.append(f"<p><b>✗ {escaped(type(result.error).__name__)}:</b> {escaped(result.error, LIMIT)}</p>")
    return _whole(*found, f"<p><small>{escaped(plain.spent_text(result))}</small></p>")


def table(title: str, rows: list[list[str]]) -> str:
    """Show a table of names and values under a title."""
    return _whole(f"<b>{escaped(title)}</b>", _table(rich.Table([], rows)))


def branches(branches: list[list[Entry]]) -> str:
    """Show the lines of a tree: the present one in short, of each other one what is its own."""
    if not branches:
        return _whole("<p>No lines.</p>")
    present = branches[0]
    known = {id(entry) for entry in present}
    found = [f"<p><b>{counted(len(branches), 'line')}</b>, the present one of {counted(len(present) - 1, 'step')}</p>"]
    for place, line in enumerate(branches[1:], 2):
        own = [(number, each) for number, each in enumerate(line) if id(each) not in known]
        inside = "".join(_entry(each, number, parts.MANY) for number, each in own[: parts.HEAD])
        more = f"<p><i>and {len(own) - parts.HEAD} more</i></p>" if len(own) > parts.HEAD else ""
        at = own[0][0] if own else len(line)
        found.append(f"<details><summary>Line {place}: parts from it at entry {at}</summary>{inside}{more}</details>")
    return _whole(*found)


def comparison(task: str, totals: rich.Table, difference: str, steps: rich.Table) -> str:
    """Show several runs of one task side by side: what each came to, and the steps."""
    head = f"<p><b>{escaped(one_line(task))}</b></p>"
    return _whole(head, _table(totals), f"<p>{escaped(difference)}</p>", _table(steps))


def observation(message: Message) -> str:
    """Show only what a message holds to be looked at; empty where it is nothing but text."""
    found = "".join(_item(item, parts.FRAGMENT) for item in rich.items(message))
    return _whole(found) if found else ""


# -- one file ------------------------------------------------------------------------------------------------------------


def to_html(run: HeldRun, path: str | os.PathLike[str] | None = None) -> str:
    """Give a run as one HTML file with every step in it, whole; write it where a `path` is given."""
    task = escaped(one_line(parts.of(run.entries[0]).line, 80, shown))
    entries = run.entries
    steps = "\n".join(
        _entry(each, n, parts.WHOLE, is_open=True, without=parts.repeated(entries, n)) for n, each in enumerate(entries)
    )
    ahead = "".join(f"<p><b>{label}:</b> {escaped(text)}</p>\n" for label, text in parts.ahead(run))
    page = (
        '<!DOCTYPE html>\n<html lang="en" style="color-scheme:light dark">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_CSP)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{task}</title>\n</head>\n"
        '<body style="font-family:system-ui,sans-serif;line-height:1.45;max-width:60rem;margin:2rem auto;padding:0 1rem">\n'
        f"<h1>Trace of an agent run</h1>\n<p>{escaped(plain.summary(run))}</p>\n{steps}\n{ahead}</body>\n</html>\n"
    )
    if path is not None:
        Path(path).write_text(page, encoding="utf-8", newline="\n")
    return page


# -- pieces --------------------------------------------------------------------------------------------------------------


def _whole(*found: str) -> str:
    """Keep formulas from being read into a text: notebooks look for dollar signs in HTML."""
    return f'<div class="mathjax_ignore tex2jax_ignore">{"".join(found)}</div>'


def _entry(
    entry: Entry, number: int | None, size: parts.Size, *, is_open: bool = False, without: tuple[str, ...] = ()
) -> str:
    """Fold an entry under a line that says it all, or, open, under what it is."""
    seen = parts.of(entry)
    style = _STEP.format(_LINE["✎" if entry.original else "" if seen.ok else "✗"])
    head = f"<b>{'' if number is None else f'{number} '}{escaped(seen.kind)}{'' if seen.ok else ' ✗'}</b>"
    line = "" if is_open else f" <code>{escaped(one_line(seen.line, 120, shown))}</code>"
    mark = f" <i>[{escaped(one_line(shown(seen.mark, LIMIT)))}]</i>" if seen.mark else ""
    inside = "".join(_part(part, size) for part in seen.parts if part.label not in without)
    return f"<details{' open' if is_open else ''}><summary>{head}{line}{mark}</summary><div {style}>{inside}</div></details>"


def _part(part: parts.Part, size: parts.Size) -> str:
    label = f"<small>{escaped(part.label)}</small>" if part.label else ""
    if part.folded:
        return f"<details><summary>{label}</summary>{_text(part.text, size.text, part.form, fold=False)}</details>"
    return label + (_observed(part.message, size) if part.message else _text(part.text, size.text, part.form))


def _observed(message: Message, size: parts.Size) -> str:
    text = _text(message.text, size.text, "code" if message.role == "tool" else "prose")
    return text + "".join(_item(item, size) for item in rich.items(message))


def _text(text: str, limit: int, form: str = "code", *, fold: bool = True) -> str:
    """Show a text with its lines as they are; a long one is folded."""
    body = shown(text, limit)
    tag, gap = ("pre", "\n") if form == "code" else ("div", "")  # HTML drops the first line break of a <pre>
    block = f"<{tag} {_TEXT}>{gap}{html.escape(body)}</{tag}>"
    if not fold or len(body) <= _FOLD:
        return block
    return f"<details><summary><code>{html.escape(one_line(body, 100))}</code></summary>{block}</details>"


def _item(item: rich.Item, size: parts.Size) -> str:
    if isinstance(item, rich.Table):
        return _table(item)
    if isinstance(item, rich.Source):
        return f"<small>{escaped(item.mime)}</small>{_text(item.text, size.text)}"
    length = len(item.data if isinstance(item, rich.Image) else item.source)
    what = item.mime if isinstance(item, rich.Image) else "text/html"
    if size.item is not None and length > size.item:
        return f"<p><i>{escaped(what)}, {length:,} characters: too large to be shown here</i></p>"
    if isinstance(item, rich.Image):
        return f'<img src="data:{item.mime};base64,{item.data}" alt="{item.mime}" style="max-width:100%">'
    return page(item.source)


def page(source: str) -> str:
    """Show an HTML artifact in a frame that runs no script, loads nothing, and can reach nothing around it."""
    inside = html.escape(document(source))
    frame = f'sandbox="" srcdoc="{inside}" style="width:100%;height:20em;border:1px solid rgba(128,128,128,.5)'
    return f'<iframe {frame};background:#fff;color-scheme:light;resize:vertical" title="an artifact"></iframe>'


def document(source: str) -> str:
    """Give an artifact as the document of a sandboxed frame: it may style itself and show pictures that it holds, no more."""
    return f'<meta http-equiv="Content-Security-Policy" content="{_CSP}">{shown(source)}'


def _table(table: rich.Table) -> str:
    rows, columns = _TABLE
    left = [f"{len(table.rows) - rows} more rows"] if len(table.rows) > rows else []
    width = max((len(row) for row in [table.header, *table.rows]), default=0)
    left += [f"{width - columns} more columns"] if width > columns else []
    head = f"<thead>{_row(table.header[:columns], 'th', _TH)}</thead>" if table.header else ""
    body = "".join(_row(row[:columns], "td", _TD) for row in table.rows[:rows])
    note = f"<p><i>and {' and '.join(left)}</i></p>" if left else ""
    return f'<table style="border-collapse:collapse">{head}<tbody>{body}</tbody></table>{note}'


def _row(cells: list[str], tag: str, style: str) -> str:
    return f"<tr>{''.join(f'<{tag} {style}>{escaped(cell, _CELL)}</{tag}>' for cell in cells)}</tr>"
