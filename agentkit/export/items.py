"""What an observation shows besides its text: tables, images, pages. Found here, and drawn by each format."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import Message
from agentkit.export.tables import Table

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
MARKDOWN = "text/markdown"
"""The type by which a tool declares that its result is Markdown, as `IPython.display.Markdown` does. A plain string is
shown as it is: nobody knows what it is.
"""
_MAX_TABLE = 200_000  # characters of HTML that are searched for a table
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>|([^<]++)|<")
_TABLE_TAGS = {
    "table",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "div",
    "style",
    "p",
    "br",
    "span",
    "b",
    "i",
    "em",
    "strong",
}


@dataclass(slots=True)
class Image:
    """An image: its MIME type, and its bytes in base64."""

    mime: str
    data: str


@dataclass(slots=True)
class Page:
    """An HTML page, as its tool returned it."""

    source: str


@dataclass(slots=True)
class Source:
    """An output of any other MIME type, as source text."""

    mime: str
    text: str


Item = Table | Image | Page | Source


def items(message: Message) -> list[Item]:
    """Return what an observation shows besides its text; nothing if it is only text."""
    value = message.value
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("mime"), dict):
        return _items_of_bundle(value["mime"])
    table = _table_of_records(value)
    return [table] if table else []


def _items_of_bundle(bundle: dict[str, Any]) -> list[Item]:
    images = [image for mime in IMAGES if (image := _image(mime, bundle.get(mime)))]
    if images:
        return [images[0]]
    page = bundle.get("text/html")
    if isinstance(page, str):
        return [_table_of_html(page) or Page(page)]
    for mime, data in bundle.items():
        if mime != "text/plain" and mime not in IMAGES:
            return [Source(str(mime), data if isinstance(data, str) else json.dumps(data, indent=2))]
    return []


def _image(mime: str, data: Any) -> Image | None:
    if not isinstance(data, str) or not data:
        return None
    if mime == "image/svg+xml" and "<" in data:
        import base64

        return Image(mime, base64.b64encode(data.encode(errors="replace")).decode())
    return Image(mime, "".join(data.split())) if _BASE64.fullmatch(data) else None


def _table_of_records(value: Any) -> Table | None:
    """Return a table for a list of flat objects with the same keys, None for anything else."""
    if (
        not isinstance(value, list)
        or len(value) < 2
        or not all(isinstance(record, dict) and record for record in value)
    ):
        return None
    header = list(value[0])
    for record in value:
        if record.keys() != value[0].keys() or any(isinstance(cell, dict | list) for cell in record.values()):
            return None
    return Table([str(name) for name in header], [[_cell_text(record[name]) for name in header] for record in value])


def _cell_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table_of_html(page: str) -> Table | None:
    """Return the table of a page that is one simple table, such as the HTML of a data frame; None for
    any other page.
    """
    lower = page[:_MAX_TABLE].lower()
    if len(page) > _MAX_TABLE or lower.count("<table") != 1 or "<!" in lower or "<?" in lower:
        return None
    rows, header_cells, in_cell, in_style = list[list[str]](), 0, False, False
    for close, tag, text in _TAG.findall(page):
        tag = tag.lower()
        if tag and tag not in _TABLE_TAGS:
            return None
        if tag == "style":
            in_style = not close
        elif tag == "tr" and not close:
            rows.append([])
        elif tag in ("th", "td") and rows:
            in_cell = not close
            if in_cell:
                rows[-1].append("")
                header_cells += tag == "th" and len(rows) == 1
        elif in_cell and not tag and not in_style:
            rows[-1][-1] += html.unescape(text or "<")
    cells = [[" ".join(cell.split()) for cell in row] for row in rows if row]
    return (Table(cells[0], cells[1:]) if header_cells else Table([], cells)) if cells else None
