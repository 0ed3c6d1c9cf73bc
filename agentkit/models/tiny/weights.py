"""The files of weights: each row of a matrix as integers and a scale, and the words of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def save(path: Path, weights: Mapping[str, Array], words: Sequence[str], levels: int) -> None:
    """Save matrices, each row as a scale and integers from -`levels` to `levels`; fewer levels make a smaller file."""
    arrays: dict[str, Any] = {"words": np.array(list(words))}
    for name, matrix in weights.items():
        scale = np.abs(matrix).max(axis=1, keepdims=True) / levels
        arrays[name] = np.round(matrix / scale).astype(np.int8)
        arrays[f"scale.{name}"] = scale.astype(np.float32)
    np.savez_compressed(path, **arrays)


def load(path: Path) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return the matrices of a file as float32, and the words of its vocabulary."""
    with np.load(path, allow_pickle=False) as arrays:
        names = [name for name in arrays if f"scale.{name}" in arrays]
        return {name: arrays[name] * arrays[f"scale.{name}"] for name in names}, tuple(map(str, arrays["words"]))
