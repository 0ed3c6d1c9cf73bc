"""What a reader and a click get of a piece of HTML."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"br", "hr", "img"}
_TRANSPARENT = {"div", "span"}


def skeleton_of(html: str) -> str:
    """Return HTML in one line: tags, texts, and where links lead. The same as in widgets/test/support/skeleton.ts."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.pieces)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _TRANSPARENT:
            return
        values = dict(attrs)
        attribute = values.get("href") or values.get("start")
        self.pieces.append(f"{tag}{f'[{attribute}]' if attribute else ''}({')' if tag in _VOID else ''}")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _TRANSPARENT | _VOID:
            self.pieces.append(")")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)
