"""Take a model's thinking out of its text: `<think>` and `<thinking>` blocks, nested, unclosed, or without a beginning."""

from __future__ import annotations

import re

from agentkit.models import surrogates

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_QUOTES = "`'\""
_BEGINS = re.compile(r"</?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?$", re.IGNORECASE)  # what may become a tag
_LONGEST = len("</thinking>")


def split(text: str) -> tuple[str, str]:
    """Give what is said and what is only thought.

    A block that is never closed lasts to its last closing tag, else to the end. A closing tag without an opening one,
    alone at the start or the end of its line, ends a block that began with the text. A quoted tag is only a word.
    """
    if "<" not in text:
        return text, ""
    said: list[str] = []
    thought: list[str] = []
    depth = at = 0
    closed: re.Match[str] | None = None  # the last closing tag inside the current block
    reopened: re.Match[str] | None = None  # the first opening tag after that
    for tag in _TAG.finditer(text):
        if tag.start() and text[tag.start() - 1] in _QUOTES:
            continue
        if not tag[1]:
            if not depth:
                said.append(text[at : tag.start()])
                at, closed, reopened = tag.end(), None, None
            reopened = reopened or (tag if depth else None)
            depth += 1
        elif depth == 1:
            thought.append(text[at : tag.start()])
            at, depth = tag.end(), 0
        elif depth:
            closed, reopened, depth = tag, None, depth - 1
        elif not (said or thought) and _stands_alone(text, tag):
            thought.append(text[: tag.start()])
            at = tag.end()
    if not depth:
        said.append(text[at:])
    elif closed is None:
        thought.append(text[at:])
    else:
        thought.append(text[at : closed.start()])
        said.append(text[closed.end() : reopened.start() if reopened else None])
        thought.append(text[reopened.end() :] if reopened else "")
    return ("".join(said).lstrip(), _joined(thought)) if thought else (text, "")


class Live:
    """Tell what is said from what is thought while a text arrives, wherever its pieces are cut; for a view, `split` decides.

    What might become a tag is held back until it is one or none.
    """

    __slots__ = ("_before", "_begun", "_depth", "_held")

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0
        self._begun = False
        self._before = ""

    def feed(self, text: str) -> tuple[str, str]:
        """Take the next piece; give what is said and what is thought in it."""
        text, half = surrogates.split(self._held + text)
        self._held = half
        if not self._depth and "<" not in text:
            self._before = text[-1:] or self._before
            return self._said(text), ""
        said: list[str] = []
        thought: list[str] = []
        at = 0
        for tag in _TAG.finditer(text):
            before = text[tag.start() - 1] if tag.start() else self._before
            if before and before in _QUOTES:
                continue
            (thought if self._depth else said).append(text[at : tag.start()])
            if tag[1] and not self._depth:
                said.append(tag[0])  # a closing tag without an opening one: a word, as far as a view can tell
            self._depth = max(0, self._depth + (-1 if tag[1] else 1))
            at = tag.end()
        rest = text[at:]
        cut = rest.rfind("<", max(0, len(rest) - _LONGEST))
        if cut >= 0 and _BEGINS.match(rest, cut):
            rest, self._held = rest[:cut], rest[cut:] + half
        (thought if self._depth else said).append(rest)
        self._before = rest[-1:] or self._before
        return self._said("".join(said)), "".join(thought)

    def end(self) -> tuple[str, str] | None:
        """Give what was held back, if anything was."""
        held, self._held = self._held, ""
        return (("", held) if self._depth else (self._said(held), "")) if held else None

    def _said(self, text: str) -> str:
        """Leave out the empty lines between thinking and the first word."""
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text


def _joined(parts: list[str]) -> str:
    return "\n".join(part for part in map(str.strip, parts) if part)


def _stands_alone(text: str, tag: re.Match[str]) -> bool:
    """Say whether a tag begins or ends its line."""
    after = text[tag.end() : tag.end() + 1]
    return after in ("", "\n", "\r") or tag.start() == 0 or text[tag.start() - 1] == "\n"
