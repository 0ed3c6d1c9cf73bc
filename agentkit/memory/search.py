"""Find texts by the words that they share with a query."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

_MAX_CHARACTERS = 10_000
_WORD = re.compile(r"[^\W_]+")
_COMMON_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "or",
        "so",
        "that",
        "the",
        "this",
        "to",
        "was",
        "we",
        "what",
        "who",
        "you",
    ]
)


def rank(query: str, candidates: Iterable[tuple[str, T]], limit: int) -> list[T]:
    """Return the values of at most `limit` texts that share words with a query.

    The texts with the rarest shared words come first, and of equals the later one. Only the first 10,000 characters of
    a text count.
    """
    wanted = keywords(query)
    texts = [(keywords(text), value) for text, value in candidates]
    counts = {word: sum(word in words for words, _ in texts) for word in wanted}
    weights = {word: math.log(1 + len(texts) / count) for word, count in counts.items() if count}
    scored = [(sum(weights[word] for word in wanted & words), n, value) for n, (words, value) in enumerate(texts)]
    best = sorted(scored, key=lambda scored: (-scored[0], -scored[1]))
    return [value for score, _, value in best if score > 0][:limit]


def keywords(text: str) -> set[str]:
    """Return the words by which a text is found; in scripts without spaces, the pairs of characters."""
    words: set[str] = set()
    for word in _WORD.findall(text[:_MAX_CHARACTERS].lower()):
        if word.isascii() or len(word) < 3 or not _has_no_spaces(word):
            words.add(word)
        else:
            words.update(word[n : n + 2] for n in range(len(word) - 1))
    return words - _COMMON_WORDS


def _has_no_spaces(word: str) -> bool:
    """Return whether a word is of a script that puts no spaces between words: Japanese, Chinese, Thai, Lao."""
    return any("\u3040" <= char <= "\u9fff" or "\u0e00" <= char <= "\u0eff" for char in word)
