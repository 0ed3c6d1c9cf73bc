r"""Text made inert: no character in it moves, hides or reverses others, controls a terminal or ends a line invisibly.

Text of models, tools, hosts and recordings is hostile. It is made inert where it leaves the program, and each of these
borders has one function:

* a terminal, which is also `print`, `repr`, a log, a warning and a traceback: `for_terminal`, here
* HTML: `agentkit.export.escaping.escape_html`
* Markdown: `markdown_block`, `markdown_inline` or `markdown_code` beside it, by where in a document the text stands
* Markdown of a model, drawn as such in HTML and in Markdown: `agentkit.export.prose`
* a notebook: text as for a terminal, HTML and Markdown; in the live view `widgets/src/elements/escape.ts`

All of them show the same characters as escapes, such as `\x1b`: those that `visible` replaces.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# General categories Cc, Cs, Zl and Zp, and what the Unicode Character Database calls Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt): direction marks, joiners, variation selectors, tags, fillers; and U+FFF9 to U+FFFB.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# What stays, because it shapes the visible characters beside it: joiners and the choice of picture or text between
# emoji (Unicode Technical Standard 51), joiners in Arabic script and after a virama (RFC 5892, appendices A.1 and A.2).
_EMOJI = "©®‼⁉™ℹ\u2190-\u21ff\u2300-\u23ffⓂ\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff〰〽㊗㊙\U0001f000-\U0001faff"
_ARABIC = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff"
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_SHAPING = (
    f"[{_EMOJI}\ufe0f]\u200d(?=[{_EMOJI}])|[{_EMOJI}][\ufe0e\ufe0f]|[0-9#*]\ufe0f(?=\u20e3)"
    f"|[{_ARABIC}][\u200c\u200d](?=[{_ARABIC}])|[{_VIRAMA}][\u200c\u200d]"
)


def visible(text: str) -> str:
    r"""Return a text whose hidden characters are escapes as in Python, such as `\x1b`; line breaks and tabs stay.

    A line break of Windows becomes an ordinary one; every other kind of line break is an escape.
    """
    if text.isascii() and text.isprintable():
        return text
    return _replaced().sub(_escape, text.replace("\r\n", "\n"))


def for_terminal(value: object, *, lines: bool = False) -> str:
    r"""Return a text as one line for a terminal or a log; with `lines`, its line breaks and tabs stay.

    In a text that is one line of several, a line break is `\n`, so that no text can forge the next line.
    """
    text = visible(str(value))
    return text if lines else text.replace("\n", r"\n").replace("\t", r"\t")


def inert(method: Callable[[T], str]) -> Callable[[T], str]:
    """Return a `__repr__` or `__str__` whose text is one inert line."""

    @functools.wraps(method)
    def inert_method(self: T) -> str:
        return for_terminal(method(self))

    return inert_method


def inert_lines(method: Callable[[T], str]) -> Callable[[T], str]:
    """Return a `__repr__` or `__str__` whose text is inert and may have several lines."""

    @functools.wraps(method)
    def inert_method(self: T) -> str:
        return for_terminal(method(self), lines=True)

    return inert_method


@functools.cache
def _replaced() -> re.Pattern[str]:
    """Return the pattern of a character that is replaced. It looks back, so that the search for them stays fast, and is
    compiled at its first use, so that the import of agentkit does.
    """
    return re.compile(f"[{_HIDDEN}](?<!{_SHAPING})")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
