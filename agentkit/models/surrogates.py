"""Join characters that a host cut in half: servers that count in UTF-16 send each half of an emoji in a piece of its
own.
"""

from __future__ import annotations

import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def paired(text: str) -> str:
    """Return a text in which adjacent halves are joined; a half without its other half stays."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def split(text: str) -> tuple[str, str]:
    """Return a text with its halves joined, and apart from it the first half of a character at its very end."""
    text = paired(text)
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
