"""Counts as horizontal bars: in plain text, in HTML and in Markdown. Labels are text, and nothing in them is
interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.core.secrets import mask
from agentkit.core.text import counted, one_line
from agentkit.export.escaping import escape_html
from agentkit.export.tables import Table, to_markdown

_LABEL, _WIDTH = 60, 20
"""Characters of a label in plain text, and of the longest possible bar."""

_MAX_BARS, _MAX_LABEL = 50, 500
_CELL = 'style="text-align:left;padding:.15em .6em;vertical-align:middle"'
_BAR = "height:.8em;min-width:2px;background:currentColor;opacity:.55"


@dataclass(slots=True)
class Bar:
    """A bar: what was counted, how often, and a remark about it."""

    label: str
    count: int
    remark: str = ""


def bars_text(bars: list[Bar]) -> str:
    """Return bars in plain text, one line each; a full bar would be all of them."""
    total = sum(bar.count for bar in bars)
    labels = [one_line(bar.label, _LABEL, mask) for bar in bars]
    width, digits = max(map(len, labels), default=0), len(str(total))
    lines = []
    for label, bar in zip(labels[:_MAX_BARS], bars, strict=False):
        length = max(1, round(_WIDTH * bar.count / total))
        line = f"{label:<{width}}  {'█' * length:<{_WIDTH}} {bar.count:>{digits}} of {total}"
        lines.append(f"{line}  {bar.remark}".rstrip())
    return "\n".join([*lines, *_more(bars)])


def _more(bars: list[Bar]) -> list[str]:
    """Return a line about the bars that are not shown, if there are any."""
    return [f"… and {counted(len(bars) - _MAX_BARS, 'more outcome')}"] if len(bars) > _MAX_BARS else []


def bars_html(bars: list[Bar]) -> str:
    """Return bars as a table: label, bar, and the count as text, so that it can be read without the bars."""
    total = sum(bar.count for bar in bars)
    rows = "".join(_row(bar, total) for bar in bars[:_MAX_BARS])
    more = "".join(f"<p><i>{line}</i></p>" for line in _more(bars))
    return f'<table style="border-collapse:collapse"><tbody>{rows}</tbody></table>{more}'


def _row(bar: Bar, total: int) -> str:
    bar_html = f'<div aria-hidden="true" style="width:{100 * bar.count / total:.4g}%;{_BAR}"></div>'
    remark = f" <i>{escape_html(bar.remark)}</i>" if bar.remark else ""
    return (
        f"<tr><td {_CELL}><code>{escape_html(bar.label, _MAX_LABEL)}</code></td>"
        f'<td {_CELL}><div style="width:20vw;max-width:12em">{bar_html}</div></td>'
        f'<td {_CELL}><span style="white-space:nowrap">{bar.count} of {total}</span>{remark}</td></tr>'
    )


def bars_markdown(bars: list[Bar]) -> str:
    """Return the counts as a table in Markdown."""
    total = sum(bar.count for bar in bars)
    rows = [[bar.label, f"{bar.count} of {total}", bar.remark] for bar in bars]
    return to_markdown(Table(["", "count", ""], rows), max_rows=_MAX_BARS)
