"""Take a model's thinking out of its text: `<think>` and `<thinking>` blocks, nested, unclosed, or without a beginning."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_QUOTES = "`'\""


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


def _joined(parts: list[str]) -> str:
    return "\n".join(part for part in map(str.strip, parts) if part)


def _stands_alone(text: str, tag: re.Match[str]) -> bool:
    """Say whether a tag begins or ends its line."""
    after = text[tag.end() : tag.end() + 1]
    return after in ("", "\n", "\r") or tag.start() == 0 or text[tag.start() - 1] == "\n"
