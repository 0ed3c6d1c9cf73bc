"""Text made harmless for HTML, for Markdown and for code. What comes in is hostile; what goes out is text and stays text.

Rule 1: no character goes out that moves, hides or reverses others, or that ends a line where nobody sees it.
Rule 2: no character goes out that the format itself would obey.
Rule 3: secrets are masked before anything is cut, so that no half of one is shown.
"""

from __future__ import annotations

import html
import re
import string

from agentkit.core.secrets import mask

_BREAK = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_MARGIN = 2_000  # a secret that is cut off at the end of what is looked at is not known for one


def visible(text: str) -> str:
    """Let every way to end a line be a plain one, and show what else controls as U+FFFD; tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _BREAK.sub("\n", text))


def shown(text: object, limit: int = 0) -> str:
    """Mask the secrets in a text, make it visible, and cut it after `limit` characters (0: nowhere) with a note."""
    whole = str(text)
    if not limit or len(whole) <= limit:
        return visible(mask(whole))
    head = mask(whole[: limit + _MARGIN])
    if len(whole) > limit + _MARGIN:
        head = head[:-_MARGIN]
    return f"{visible(head[:limit])}… (+{len(whole) - limit:,} characters)"


def escaped(text: object, limit: int = 0) -> str:
    """Give a text for HTML, between tags or between double quotes."""
    return html.escape(shown(text, limit))


# -- Markdown ------------------------------------------------------------------------------------------------------------
# Entities, not backslashes: no dialect of Markdown takes `&#42;` for an asterisk, and none looks for formulas in it.

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&$~|@^#=+]|(?<=[wW][wW][wW])\.|:(?=//)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_TICKS = re.compile("`+")


def prose(text: object, limit: int = 0) -> str:
    """Give a text for Markdown, where it reads as it was written: same lines, same words, no markup."""
    return _lines(shown(text, limit))


def phrase(text: object, limit: int = 0) -> str:
    """Give a text for the middle of a line of Markdown."""
    return _line(" ".join(shown(text, limit).split()))


def fence(text: object, limit: int = 0) -> str:
    """Give a text as a block of code in Markdown, in a fence that it cannot end."""
    body = shown(text, limit)
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(body)), default=0))
    return f"{ticks}text\n{body}\n{ticks}"


def _lines(text: str) -> str:
    lines = [_line(line.rstrip()) if line else "" for line in text.split("\n")]
    ends = [f"{line}\\" if line and after else line for line, after in zip(lines, [*lines[1:], ""], strict=True)]
    return re.sub("\n{3,}", "\n\n", "\n".join(ends)).strip("\n")


def _line(line: str) -> str:
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
