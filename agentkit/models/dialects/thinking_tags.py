"""Separate a model's thinking from its text: `<think>` and `<thinking>` blocks, nested, unclosed, or without an opening
tag.
"""

from __future__ import annotations

import re

from agentkit.models import surrogates

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_QUOTES = "`'\""
_START_OF_TAG = re.compile(r"</?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?$", re.IGNORECASE)
_LONGEST_TAG = len("</thinking>")


def split(text: str) -> tuple[str, str]:
    """Return a text without its thinking, and the thinking apart from it.

    A block that is never closed extends to its last closing tag, else to the end. A closing tag without an opening one,
    alone at the start or the end of its line, ends a block that began with the text. A quoted tag is ordinary text.
    """
    if "<" not in text:
        return text, ""
    texts: list[str] = []
    thoughts: list[str] = []
    depth = at = 0
    last_closing: re.Match[str] | None = None  # inside the current block
    reopening: re.Match[str] | None = None  # the first opening tag after it
    for tag in _TAG.finditer(text):
        if tag.start() and text[tag.start() - 1] in _QUOTES:
            continue
        if not tag[1]:
            if not depth:
                texts.append(text[at : tag.start()])
                at, last_closing, reopening = tag.end(), None, None
            reopening = reopening or (tag if depth else None)
            depth += 1
        elif depth == 1:
            thoughts.append(text[at : tag.start()])
            at, depth = tag.end(), 0
        elif depth:
            last_closing, reopening, depth = tag, None, depth - 1
        elif not (texts or thoughts) and _is_alone(text, tag):
            thoughts.append(text[: tag.start()])
            at = tag.end()
    if not depth:
        texts.append(text[at:])
    elif last_closing is None:
        thoughts.append(text[at:])
    else:
        thoughts.append(text[at : last_closing.start()])
        texts.append(text[last_closing.end() : reopening.start() if reopening else None])
        thoughts.append(text[reopening.end() :] if reopening else "")
    return ("".join(texts).lstrip(), _joined(thoughts)) if thoughts else (text, "")


class LiveSplitter:
    """Separates thinking from text while it streams, wherever the pieces are cut. For display only; `split` decides.

    Characters that may turn out to be a tag are held back until that is known.
    """

    __slots__ = ("_depth", "_has_spoken", "_held", "_previous")

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0
        self._has_spoken = False
        self._previous = ""  # the last character before the next piece

    def feed(self, text: str) -> tuple[str, str]:
        """Take the next piece; return the text in it, and the thinking in it."""
        text, half = surrogates.split(self._held + text)
        self._held = half
        if not self._depth and "<" not in text:
            self._previous = text[-1:] or self._previous
            return self._without_leading_space(text), ""
        texts: list[str] = []
        thoughts: list[str] = []
        at = 0
        for tag in _TAG.finditer(text):
            previous = text[tag.start() - 1] if tag.start() else self._previous
            if previous and previous in _QUOTES:
                continue
            (thoughts if self._depth else texts).append(text[at : tag.start()])
            if tag[1] and not self._depth:
                texts.append(tag[0])  # a closing tag without an opening one: as far as a view can know, it is text
            self._depth = max(0, self._depth + (-1 if tag[1] else 1))
            at = tag.end()
        rest = text[at:]
        cut = rest.rfind("<", max(0, len(rest) - _LONGEST_TAG))
        if cut >= 0 and _START_OF_TAG.match(rest, cut):
            rest, self._held = rest[:cut], rest[cut:] + half
        (thoughts if self._depth else texts).append(rest)
        self._previous = rest[-1:] or self._previous
        return self._without_leading_space("".join(texts)), "".join(thoughts)

    def end(self) -> tuple[str, str] | None:
        """Return what was held back, or None."""
        held, self._held = self._held, ""
        if not held:
            return None
        return ("", held) if self._depth else (self._without_leading_space(held), "")

    def _without_leading_space(self, text: str) -> str:
        """Leave out the blank lines between the thinking and the first word."""
        if not self._has_spoken:
            text = text.lstrip()
            self._has_spoken = bool(text)
        return text


def _joined(parts: list[str]) -> str:
    return "\n".join(part for part in map(str.strip, parts) if part)


def _is_alone(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag begins or ends its line."""
    after = text[tag.end() : tag.end() + 1]
    return after in ("", "\n", "\r") or tag.start() == 0 or text[tag.start() - 1] == "\n"
