"""A trace in HTML: fragments for a notebook, and one file for a browser. It needs no script and nothing from elsewhere.

The colours are the reader's, in light and in dark mode; only space, lines and folding are set. It can be read without
styles.
"""

from __future__ import annotations

import json
import os

from agentkit.core.messages import Message
from agentkit.core.text import counted, one_line
from agentkit.core.usage import Usage
from agentkit.export import files, items, overviews, parts, prose, tables, text
from agentkit.export.escaping import escape_html, safe_text
from agentkit.export.protocols import ResultLike, RunLike
from agentkit.export.tables import Table
from agentkit.gates.guards import Guards
from agentkit.journal.entries import Entry
from agentkit.tools.tool import Tool

LIMIT = parts.FRAGMENT.text
_MAX_UNFOLDED = 600  # characters of a text that is not folded
_MAX_RUN = 2_000_000  # characters of everything that is shown of a run

_TEXT = 'style="white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0"'
_STEP = 'style="margin:.2em 0 .2em .2em;padding-left:.6em;border-left:3px solid {}"'
_COLOURS = {"normal": "rgba(128,128,128,.4)", "failed": "#d9534f", "edited": "#c98a1b"}
_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_FRAME_HEAD = f'<meta http-equiv="Content-Security-Policy" content="{_CSP}">'


# -- fragments ---------------------------------------------------------------------------------------------------------


def run(run: RunLike) -> str:
    """Return a run: its status, its trace, and its next steps. Of a long trace, the middle is left out."""
    limits = parts.FRAGMENT if len(run.entries) <= parts.HEAD else parts.LIST_ITEM
    left = _MAX_RUN
    pieces = [f"<p><b>{escape_html(text.summary(run))}</b></p>", overviews.to_html(run, overviews.MAX_LINES)]
    for number, entry in parts.abridged(run.entries):
        if isinstance(entry, Entry):
            max_item = max(0, min(left, parts.FRAGMENT.item or 0))
            pieces.append(_entry(entry, number, parts.Limits(limits.text, max_item)))
            left -= len(pieces[-1])
        else:
            note = f"Entries {number} to {entry} are not shown here; run[{number}] is the first of them."
            pieces.append(f"<p><i>{note}</i></p>")
    for label, line in parts.outlook(run):
        pieces.append(f"<p><b>{label}:</b> {escape_html(one_line(safe_text(line, LIMIT)))}</p>")
    return fragment(*pieces)


def entry(entry: Entry) -> str:
    """Return an entry, unfolded."""
    return fragment(_entry(entry, None, parts.FRAGMENT, is_open=True))


def message(message: Message) -> str:
    """Return a message, with the tables, images and pages that it contains."""
    head = f"<b>{escape_html(message.role)}</b>{'' if message.ok else ' ✗'}"
    calls = "".join(_text(parts.call_line(call), LIMIT) for call in message.calls)
    return fragment(head, _message_body(message, parts.FRAGMENT), calls)


def tool(tool: Tool) -> str:
    """Return a tool: its description, its side effects, and its parameters."""
    head = f"<b><code>{escape_html(tool.name)}</code></b> ({escape_html(tool.effect)})"
    schema = _text(json.dumps(tool.parameters, indent=2), LIMIT)
    parameters = f"<details><summary>Parameters</summary>{schema}</details>"
    return fragment(head, _text(tool.description, LIMIT, "prose"), parameters)


def usage(usage: Usage) -> str:
    """Return a usage as a table."""
    names = ["calls", "input", "output", "cached", "reasoning", "cost"]
    return fragment(tables.to_html(Table(names, [[str(getattr(usage, name)) for name in names]])))


def guards(guards: Guards) -> str:
    """Return what guards a run as a table."""
    return table("Guards", guards.rows)


def result(result: ResultLike) -> str:
    """Return the result of a run."""
    pieces = [_text(result.answer, LIMIT, "markdown")] if result.answer else []
    if reason := text.reason_text(result):
        label = "Interrupted" if result.interrupted else "Reason"
        pieces.append(f"<p><b>{label}:</b> {escape_html(reason, LIMIT)}</p>")
    if result.error:
        error_type = escape_html(type(result.error).__name__)
        pieces.append(f"<p><b>✗ {error_type}:</b> {escape_html(result.error, LIMIT)}</p>")
    pieces += [f"<p><b>Not run:</b> {escape_html(denied, LIMIT)}</p>" for denied in result.denied]
    return fragment(*pieces, f"<p><small>{escape_html(text.spent_text(result))}</small></p>")


def table(title: str, rows: list[list[str]]) -> str:
    """Return a table of names and values under a title."""
    return fragment(f"<b>{escape_html(title)}</b>", tables.to_html(Table([], rows)))


def branches(branches: list[list[Entry]]) -> str:
    """Return the branches of a tree: the length of the current one, and what is different in each other one."""
    if not branches:
        return fragment("<p>No branches.</p>")
    current = {id(entry) for entry in branches[0]}
    pieces = [f"<p><b>{text.branch_counts(branches)}</b></p>"]
    for number, line in enumerate(branches[1:], 1):
        own = [(n, entry) for n, entry in enumerate(line) if id(entry) not in current]
        inside = "".join(_entry(entry, n, parts.LIST_ITEM) for n, entry in own[: parts.HEAD])
        if len(own) > parts.HEAD:
            inside += f"<p><i>… and {counted(len(own) - parts.HEAD, 'more step')}</i></p>"
        summary = f"Branch {number} diverges at entry {own[0][0] if own else len(line)}"
        pieces.append(f"<details><summary>{summary}</summary>{inside}</details>")
    return fragment(*pieces)


def comparison(task: str, totals: Table, difference: str, steps: Table) -> str:
    """Return several runs of one task side by side: their totals and their steps."""
    head = f"<p><b>{escape_html(one_line(task))}</b></p>"
    return fragment(head, tables.to_html(totals), f"<p>{escape_html(difference)}</p>", tables.to_html(steps))


def observation_items(message: Message) -> str:
    """Return only the tables, images and pages of a message; "" if it is only text."""
    shown = "".join(_item(item, parts.FRAGMENT) for item in items.items(message))
    return fragment(shown) if shown else ""


def fragment(*pieces: str) -> str:
    """Return pieces of HTML as one element in which a notebook finds no formulas: it looks for dollar signs in HTML."""
    return f'<div class="mathjax_ignore tex2jax_ignore">{"".join(pieces)}</div>'


# -- a file ------------------------------------------------------------------------------------------------------------


def to_html(run: RunLike, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> str:
    """Return a run as one HTML file with every step in full; write it to `path` if there is one."""
    entries = run.entries
    title = escape_html(one_line(parts.parts_of(entries[0]).line, 80, safe_text))
    steps = "\n".join(
        _entry(entry, n, parts.NO_LIMITS, is_open=True, without=parts.labels_shown_next(entries, n))
        for n, entry in enumerate(entries)
    )
    outlook = "".join(f"<p><b>{label}:</b> {escape_html(line)}</p>\n" for label, line in parts.outlook(run))
    document = (
        '<!DOCTYPE html>\n<html lang="en" style="color-scheme:light dark">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape_html(_CSP)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        'content="light dark">\n'
        f"<title>{title}</title>\n</head>\n"
        '<body style="font-family:system-ui,sans-serif;line-height:1.45;max-width:60rem;margin:2rem auto;padding:0 '
        '1rem">\n'
        f"<h1>Trace of an agent run</h1>\n<p>{escape_html(text.summary(run))}</p>\n"
        f"{overviews.to_html(run)}\n{steps}\n{outlook}</body>\n</html>\n"
    )
    if path is not None:
        files.write(path, "html", document, overwrite=overwrite)
    return document


# -- pieces ------------------------------------------------------------------------------------------------------------


def _entry(
    entry: Entry, number: int | None, limits: parts.Limits, *, is_open: bool = False, without: tuple[str, ...] = ()
) -> str:
    """Return an entry, folded under a summary of it, or open."""
    shown = parts.parts_of(entry)
    colour = _COLOURS["edited" if entry.original else "normal" if shown.ok else "failed"]
    head = f"<b>{'' if number is None else f'{number} '}{escape_html(shown.kind)}{'' if shown.ok else ' ✗'}</b>"
    line = "" if is_open else f" <code>{escape_html(one_line(shown.line, 120, safe_text))}</code>"
    mark = f" <i>[{escape_html(one_line(safe_text(shown.mark, LIMIT)))}]</i>" if shown.mark else ""
    inside = "".join(_part(part, limits) for part in shown.parts if part.label not in without)
    body = f"<div {_STEP.format(colour)}>{inside}</div>"
    return f"<details{' open' if is_open else ''}><summary>{head}{line}{mark}</summary>{body}</details>"


def _part(part: parts.Part, limits: parts.Limits) -> str:
    label = f"<small>{escape_html(part.label)}</small>" if part.label else ""
    if part.folded:
        return f"<details><summary>{label}</summary>{_text(part.text, limits.text, part.form, fold=False)}</details>"
    return label + (_message_body(part.message, limits) if part.message else _text(part.text, limits.text, part.form))


def _message_body(message: Message, limits: parts.Limits) -> str:
    form = {"tool": "code", "assistant": "markdown"}.get(message.role, "prose")
    body = _text(message.text, limits.text, form)
    return body + "".join(_item(item, limits) for item in items.items(message))


def _text(value: str, limit: int, form: str = "code", *, fold: bool = True) -> str:
    """Return a text with its line breaks; a long one is folded. Markdown keeps what was written beside it."""
    tag, start = ("pre", "\n") if form == "code" else ("div", "")  # HTML drops the first line break of a <pre>
    block = f"<{tag} {_TEXT}>{start}{escape_html(value, limit)}</{tag}>"
    if form == "markdown" and not prose.is_plain(value, limit):
        raw = f"<pre {_TEXT}>\n{escape_html(value, limit)}</pre>"
        raw_text = f"<details><summary><small>Raw text</small></summary>{raw}</details>"
        block = prose.to_html(value, limit) + raw_text
    if not fold or len(value) <= _MAX_UNFOLDED:
        return block
    return f"<details><summary><code>{escape_html(one_line(value, 100, safe_text))}</code></summary>{block}</details>"


def _item(item: items.Item, limits: parts.Limits) -> str:
    if isinstance(item, Table):
        return tables.to_html(item)
    if isinstance(item, items.Source) and item.mime == items.MARKDOWN:
        return _text(item.text, limits.text, "markdown")
    if isinstance(item, items.Source):
        return f"<small>{escape_html(item.mime)}</small>{_text(item.text, limits.text)}"
    length = len(item.data if isinstance(item, items.Image) else item.source)
    mime = item.mime if isinstance(item, items.Image) else "text/html"
    if limits.item is not None and length > limits.item:
        return f"<p><i>{escape_html(mime)}, {length:,} characters: too large to show here</i></p>"
    if isinstance(item, items.Image):
        return f'<img src="data:{item.mime};base64,{item.data}" alt="{item.mime}" style="max-width:100%">'
    return frame(item.source)


def frame(source: str) -> str:
    """Return an HTML page in a frame that runs no script, loads nothing, and cannot reach anything outside it."""
    document = escape_html(f"{_FRAME_HEAD}{source}")
    style = (
        "width:100%;height:20em;border:1px solid rgba(128,128,128,.5);"
        "background:#fff;color-scheme:light;resize:vertical"
    )
    return f'<iframe sandbox="" srcdoc="{document}" style="{style}" title="HTML returned by the tool"></iframe>'


def frame_document(source: str) -> str:
    """Return an HTML page as the document of a sandboxed frame: it may use styles and inline images,
    and nothing else.
    """
    return f"{_FRAME_HEAD}{safe_text(source)}"
