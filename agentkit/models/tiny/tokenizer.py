"""Text as numbers: markers of the text protocol, bytes, and the words of the templates.

A word that is not in the vocabulary is spelled in bytes, digits are always spelled, and a space is a token of its own.
So the name of a thing is the same tokens wherever it stands, and a small model can learn to copy it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

END = "<end>"
"""The token that ends a transcript. There is none after an action: there, an observation follows."""

MARKERS = (
    END,
    "Tools:",
    *(f"\n{part}: " for part in ("Question", "Thought", "Action", "Action Input", "Observation", "FINAL_ANSWER")),
    *('{"', '": "', '": ', '", "', ', "', '"}', "{}"),
)
"""What is one token wherever it stands in a text."""

_PIECE = re.compile("|".join(map(re.escape, MARKERS)) + r"|[A-Za-z]+|[^A-Za-z]", re.DOTALL)


class Tokenizer:
    """A vocabulary: the markers, then the 256 bytes, then words."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        pieces = [*(text.encode() for text in MARKERS), *(bytes([byte]) for byte in range(256))]
        self.pieces = (*pieces, *(word.encode() for word in self.words))
        self._ids = {text: number for number, text in enumerate(MARKERS)}
        self._ids |= {word: number + len(MARKERS) + 256 for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        tokens: list[int] = []
        for piece in _PIECE.findall(text):
            token = self._ids.get(piece)
            spelled = (byte + len(MARKERS) for byte in piece.encode("utf-8", "replace"))
            tokens += spelled if token is None else (token,)
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(self.pieces[token] for token in tokens).decode(errors="replace")
