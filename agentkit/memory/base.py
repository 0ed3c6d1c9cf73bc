"""What is remembered, and how it is found again by words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")
_SHORT = " a an and are as at be by do for from how i in is it me my of on or so that the this to was we what who you "


@dataclass(slots=True)
class Turn:
    """One run as it is remembered: what was asked and what was answered. `number` counts all turns of a store, `at` is
    in seconds since 1970."""

    number: int
    run: str
    question: str
    answer: str
    at: float


class Lessons(Protocol):
    """Where lessons of earlier attempts are kept; whose they are is the store's own affair."""

    def recall(self) -> Iterable[str]:
        """Give what is known, the oldest first."""

    def remember(self, lesson: str) -> None:
        """Keep a lesson; one that is known already is kept once."""


def words(text: str) -> set[str]:
    """Give the words of a text by which it is found; of scripts without spaces, the pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word.isascii() or len(word) < 3 or not _unspaced(word):
            found.add(word)
        else:
            found.update(word[n : n + 2] for n in range(len(word) - 1))
    return {word for word in found if f" {word} " not in _SHORT}


def _unspaced(word: str) -> bool:
    return any("\u3040" <= sign <= "\u9fff" or "\u0e00" <= sign <= "\u0eff" for sign in word)


def best(query: str, known: Iterable[tuple[str, T]], most: int) -> list[T]:
    """Give what shares words with a query, the most telling ones first; of equals the later."""
    wanted = words(query)
    texts = [(words(text), value) for text, value in known]
    seen = {word: sum(word in own for own, _ in texts) for word in wanted}
    weight = {word: math.log(1 + len(texts) / count) for word, count in seen.items() if count}
    scored = [(sum(weight[word] for word in wanted & own), n, value) for n, (own, value) in enumerate(texts)]
    return [value for score, _, value in sorted(scored, key=lambda each: (-each[0], -each[1])) if score > 0][:most]
