"""What a text or some bytes are if nobody declared it: an HTML page or a picture, by how they begin.

The beginnings are those of the MIME Sniffing standard of the WHATWG, sections 6.1 and 7.1.
"""

from __future__ import annotations

import html
import re

_HTML_TAGS = "html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
_HTML = re.compile(rf"\ufeff?[\t\n\f\r ]*+<(?:!doctype html|{_HTML_TAGS})[ >]", re.IGNORECASE)
_PICTURES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBPVP", re.DOTALL),
}
_TOKEN = re.compile(r"<!--|<![^<>]*+>|<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>|([^<]++)|<")
_NOT_SHOWN = {"script", "style", "template", "head"}
_MAX_PAGE = 200_000
"""How many characters of a page are searched for its title and its text."""


def is_html(text: str) -> bool:
    """Return whether a text begins and ends as HTML does."""
    return _HTML.match(text) is not None and text.rstrip().endswith(">")


def picture_type(content: bytes) -> str:
    """Return the MIME type of a picture, or "" if these bytes are not one."""
    return next((mime for mime, beginning in _PICTURES.items() if beginning.match(content)), "")


def title_and_text(page: str) -> tuple[str, str]:
    """Return the title of an HTML page, and the text that is visible on it, without tags; in linear time."""
    title: list[str] = []
    shown: list[str] = []
    hidden_in = ""
    in_title = False
    for token in _TOKEN.finditer(page[:_MAX_PAGE].lstrip("\ufeff")):
        close, tag, text = token[1], (token[2] or "").lower(), token[3]
        if hidden_in == "<!--":
            if "-->" not in token[0]:
                continue
            hidden_in, text = "", (text or "").partition("-->")[2]
        elif token[0] == "<!--":
            hidden_in = hidden_in or "<!--"
        elif tag == "title":
            in_title = not close
        elif hidden_in and tag == hidden_in and close:
            hidden_in = ""
        elif not hidden_in and tag in _NOT_SHOWN and not close:
            hidden_in = tag
        elif tag and not hidden_in:
            text = " "
        if text and in_title:
            title.append(text)
        elif text and not hidden_in:
            shown.append(text)
    return _plain(title), _plain(shown)


def _plain(parts: list[str]) -> str:
    return " ".join(html.unescape("".join(parts)).split())
