"""Continue a text token by token, and note how likely each token was."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.core.messages import Token
from agentkit.models.tiny import weights
from agentkit.models.tiny.tokenizer import END, Tokenizer
from agentkit.models.tiny.transformer import Cache, Transformer, softmax

Array = np.ndarray[Any, Any]

MAX_OTHERS = 3
"""The most alternatives that are noted for a token."""

LEAST = 0.005
"""The least probability of an alternative that is noted."""


class Generator:
    """A transformer and its vocabulary, from a file of weights."""

    def __init__(self, path: Path) -> None:
        matrices, words = weights.load(path)
        self.tokenizer, self.transformer = Tokenizer(words), Transformer(matrices)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer.encode(text))

    def write(
        self, text: str, temperature: float, seed: int | Sequence[int] | None, limit: int
    ) -> Iterator[tuple[str, Token]]:
        """Yield the pieces of text that follow a text, each with its token, up to `END` or a number of tokens.

        At temperature 0, the likeliest token is taken. The probabilities are those at temperature 1 in any case.
        """
        rng, cache = np.random.default_rng(seed), Cache()
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        new = self.tokenizer.encode(text)
        for _ in range(limit):
            logits = self.transformer.read(new, cache)
            number = draw(logits, temperature, rng)
            token = self._token(number, softmax(logits))
            if token.text == END:
                yield "", token
                return
            yield decoder.decode(self.tokenizer.pieces[number]), token
            new = [number]

    def _token(self, number: int, probabilities: Array) -> Token:
        others = [int(n) for n in np.argsort(-probabilities)[: MAX_OTHERS + 1] if n != number][:MAX_OTHERS]
        rounded = {self._shown(n): round(float(probabilities[n]), 3) for n in others if probabilities[n] >= LEAST}
        return Token(self._shown(number), round(float(probabilities[number]), 3), rounded)

    def _shown(self, number: int) -> str:
        return self.tokenizer.pieces[number].decode(errors="backslashreplace")


def draw(logits: Array, temperature: float, rng: np.random.Generator) -> int:
    """Return the likeliest token at temperature 0, else a random one."""
    if temperature == 0:
        return int(logits.argmax())
    return int(rng.choice(len(logits), p=softmax(logits.astype(float) / temperature)))
