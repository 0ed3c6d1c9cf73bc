"""Join characters that a host has cut in half: servers that count in UTF-16 send each half of an emoji in another piece."""

from __future__ import annotations

import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def paired(text: str) -> str:
    """Put the halves that stand side by side together; a half that is alone stays."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def split(text: str) -> tuple[str, str]:
    """Pair the halves in a text, and give the first half of a character that stands at its end by itself."""
    text = paired(text)
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
