"""What an observation holds beside its text: tables, images, pages. Taken apart here, drawn by each format in its own way."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from agentkit.core.messages import Message

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
_LARGEST_TABLE = 200_000  # characters of HTML that are looked at for a table
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>|([^<]++)|<")
_IN_TABLES = {
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
class Table:
    """Rows of cells, all of them text; `header` may be empty."""

    header: list[str]
    rows: list[list[str]]


@dataclass(slots=True)
class Image:
    """A picture: its MIME type and its bytes as base64."""

    mime: str
    data: str


@dataclass(slots=True)
class Page:
    """An HTML artifact, as its tool made it."""

    source: str


@dataclass(slots=True)
class Source:
    """Anything else that is made to be looked at, as its source text."""

    mime: str
    text: str


Item = Table | Image | Page | Source


def items(message: Message) -> list[Item]:
    """Give what an observation shows beside its text; nothing for one that is only text."""
    value = message.value
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("mime"), dict):
        return _of_bundle(value["mime"])
    table = _of_records(value)
    return [table] if table else []


def _of_bundle(bundle: dict[str, Any]) -> list[Item]:
    images = [image for mime in IMAGES if (image := _image(mime, bundle.get(mime)))]
    if images:
        return [images[0]]
    page = bundle.get("text/html")
    if isinstance(page, str):
        return [_of_html(page) or Page(page)]
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


def _of_records(value: Any) -> Table | None:
    """Make a table of a list of flat objects that have the same names."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(item, dict) and item for item in value):
        return None
    header = list(value[0])
    if any(
        item.keys() != value[0].keys() or any(isinstance(cell, dict | list) for cell in item.values()) for item in value
    ):
        return None
    return Table([str(name) for name in header], [[_cell(item[name]) for name in header] for item in value])


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _of_html(page: str) -> Table | None:
    """Read a page that is one plain table, as data frames draw themselves; None for any other."""
    low = page[:_LARGEST_TABLE].lower()
    if len(page) > _LARGEST_TABLE or low.count("<table") != 1 or "<!" in low or "<?" in low:
        return None
    rows, heads, open_cell, in_style = list[list[str]](), 0, False, False
    for close, tag, text in _TAG.findall(page):
        tag = tag.lower()
        if tag and tag not in _IN_TABLES:
            return None
        if tag == "style":
            in_style = not close
        elif tag == "tr" and not close:
            rows.append([])
        elif tag in ("th", "td") and rows:
            open_cell = not close
            if open_cell:
                rows[-1].append("")
                heads += tag == "th" and len(rows) == 1
        elif open_cell and not tag and not in_style:
            rows[-1][-1] += html.unescape(text or "<")
    cells = [[" ".join(cell.split()) for cell in row] for row in rows if row]
    return (Table(cells[0], cells[1:]) if heads else Table([], cells)) if cells else None
