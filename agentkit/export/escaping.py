"""Text made harmless for HTML, for Markdown and for code. What comes in may be hostile; what goes out is nothing but
text.

Rule 1: no character goes out that moves, hides or reverses others, or that ends a line invisibly (agentkit.inert).
Rule 2: no character goes out that the format would interpret.
Rule 3: secrets are masked before anything is truncated, so that no half of a secret is left.
"""

from __future__ import annotations

import html
import re
import string

from agentkit.core.secrets import mask
from agentkit.inert import visible

_MARGIN = 2_000  # a secret that is cut off at the end of what is searched would not be recognized


def safe_text(value: object, limit: int = 0) -> str:
    """Return a text that is masked, visible, and truncated with a note after `limit` characters (0: not at all)."""
    text = str(value)
    if not limit or len(text) <= limit:
        return visible(mask(text))
    return f"{safe_head(text, limit)}… (+{len(text) - limit:,} characters)"


def safe_head(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text, masked and visible."""
    head = mask(text[: limit + _MARGIN])
    if len(text) > limit + _MARGIN:
        head = head[:-_MARGIN]
    return visible(head[:limit])


def escape_html(value: object, limit: int = 0) -> str:
    """Return a safe text for HTML, between tags or between double quotes."""
    return html.escape(safe_text(value, limit))


# -- Markdown ----------------------------------------------------------------------------------------------------------
# Entities, not backslashes: no dialect of Markdown takes `&#42;` for an asterisk, and none finds formulas in it.

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&$~|@^#=+]|(?<=[wW][wW][wW])\.|:(?=//)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_TICKS = re.compile("`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,30}")


def markdown_block(value: object, limit: int = 0) -> str:
    """Return a safe text as a block of Markdown that reads as it was written: the same lines, and no markup."""
    return _escape_lines(safe_text(value, limit))


def markdown_inline(value: object, limit: int = 0) -> str:
    """Return a safe text for the middle of a line of Markdown."""
    return _escape_line(" ".join(safe_text(value, limit).split()))


def markdown_code(value: object, limit: int = 0) -> str:
    """Return a safe text as a block of code in Markdown, in a fence that the text cannot close."""
    return code_fence(safe_text(value, limit))


def code_fence(text: str, language: str = "") -> str:
    """Return a text as a block of code in Markdown, with its language if that is a plain word."""
    body = safe_text(text)
    info = language if _LANGUAGE.fullmatch(language) else "text"
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(body)), default=0))
    return f"{ticks}{info}\n{body}\n{ticks}"


def markdown_line(text: str, *, is_start: bool) -> str:
    """Return a text without line breaks for a line of Markdown, at its start or later in it; its spaces stay."""
    safe = safe_text(text)
    return _escape_line(safe) if is_start else _escape(safe)


def _escape_lines(text: str) -> str:
    lines = [_escape_line(line.rstrip()) if line else "" for line in text.split("\n")]
    with_breaks = [
        f"{line}\\" if line and following else line for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]
    return re.sub("\n{3,}", "\n\n", "\n".join(with_breaks)).strip("\n")


def _escape_line(line: str) -> str:
    body = line.lstrip(" \t")
    indent = len(line[: len(line) - len(body)].expandtabs(4))
    number = None if indent else _NUMBERED.match(body)
    if number:
        return f"{number[1]}{_entity(number[2])}{_escape(body[number.end() :])}"
    first = _entity(body[0]) if body and body[0] in string.punctuation else _escape(body[:1])
    return f"{'&#160;' * indent}{first}{_escape(body[1:])}" if body[:3].lower() != "www" else _escape(body)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: _entity(match[0]), text)


def _entity(character: str) -> str:
    return f"&#{ord(character)};"
