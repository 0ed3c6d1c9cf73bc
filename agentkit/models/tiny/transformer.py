"""A whole transformer in numpy: it reads tokens, and says how likely each token is to come next.

Four layers, each of them an attention, which gathers from earlier tokens, and two matrices, which work on each token.
Queries, keys and values are made from a token and the two before it, so that one layer can look up what followed a pair
of tokens, which takes more layers otherwise. That makes copying easy to learn. What was worked out for earlier tokens
is kept (`Cache`), so that one more token costs one token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

HEADS = 4

NEAR = 3
"""From how many tokens queries, keys and values are made: a token and those just before it."""


@dataclass(slots=True)
class Cache:
    """What a transformer remembers of the tokens that it has read, by layer: keys, values, and the last tokens."""

    keys: dict[int, Array] = field(default_factory=dict)
    values: dict[int, Array] = field(default_factory=dict)
    last: dict[int, Array] = field(default_factory=dict)


class Transformer:
    """A transformer with the weights of a file: "embedding", and for each layer "attend", "gather", "up" and "down".

    It is a "decoder-only" one (Vaswani et al. 2017, Radford et al. 2018), without biases, and as small as they come.
    """

    def __init__(self, weights: dict[str, Array]) -> None:
        self.embedding = weights["embedding"]
        names = ("attend", "gather", "up", "down")
        self.layers = [[weights[f"{name}{n}"] for name in names] for n in range(sum("up" in name for name in weights))]

    def read(self, tokens: list[int], cache: Cache) -> Array:
        """Read more tokens, and return the logits of the token that follows them."""
        x = self.embedding[tokens]  # one row per token
        for n, (attend, gather, up, down) in enumerate(self.layers):
            h = normalized(x)
            h = np.concatenate([cache.last.get(n, np.zeros((NEAR - 1, h.shape[1]), h.dtype)), h])
            cache.last[n] = h[1 - NEAR :]
            near = np.concatenate([h[NEAR - 1 - back : len(h) - back] for back in range(NEAR)], axis=1)
            queries, keys, values = np.split(near @ attend.T, 3, axis=1)
            cache.keys[n] = keys = np.concatenate([cache.keys.get(n, keys[:0]), keys])
            cache.values[n] = values = np.concatenate([cache.values.get(n, values[:0]), values])
            x = x + attention(queries, keys, values) @ gather.T
            x = x + np.square(np.maximum(normalized(x) @ up.T, 0)) @ down.T
        return (normalized(x[-1:]) @ self.embedding.T)[0]


def attention(queries: Array, keys: Array, values: Array) -> Array:
    """Return for each query the mean of the values up to it, weighted by how well their keys match the query.

    Half of the heads prefer near tokens (ALiBi, Press et al. 2021); the others don't see distance at all.
    """
    q, k, v = (np.stack(np.split(x, HEADS, axis=1)) for x in (queries, keys, values))  # heads, tokens, width
    positions = np.arange(len(keys), dtype=np.float32)
    distance = positions[len(keys) - len(queries) :, None] - positions
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) - SLOPES[:, None, None] * distance
    weights = softmax(np.where(distance < 0, -np.inf, scores))  # no token sees a later one
    return np.concatenate(list(weights @ v), axis=1)


SLOPES = np.array([2.0**-2, 2.0**-5, 0, 0], np.float32)
"""How much each head prefers near tokens."""


def normalized(x: Array) -> Array:
    """Return rows with mean 0 and variance 1."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-5)


def softmax(x: Array) -> Array:
    """Return numbers as probabilities."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
