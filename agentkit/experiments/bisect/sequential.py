"""Statistics that stay valid however often one looks at them, so that trials can end as soon as they have decided.

A test at a fixed size that is looked at after each trial finds something too often. What is here may be looked at after
each trial, and at any moment that the trials themselves suggest, because its bounds hold for all moments at once. All
trials are True or False, and are taken in the order in which they were given out, not in which they came back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

_PRIOR = (0.2, 0.8)
"""The shares that are bet on before the first pair; they count as much as one trial. Any choice is valid."""


def evidence(lower: Sequence[bool], higher: Sequence[bool]) -> float:
    """Return the evidence that the share of True is greater in `higher` than in `lower`, pair by pair.

    If the shares are equal, or the other way round, the evidence ever reaches `x` with a probability of at most `1/x`.
    So one may stop, and claim the difference, when it reaches 20: such a claim is wrong in at most 5 of 100 cases. It
    is a product with one factor for each pair, which compares the shares that the pairs before suggest with one share
    for both. Only as many trials count as both have.

    Source: R. Turner, A. Ly and P. Grünwald, "Generic E-variables for exact sequential k-sample tests that allow for
    optional stopping" (2021); the bound is that of J. Ville (1939).
    """
    strongest = 0.0
    for found in _growing(zip(lower, higher, strict=False)):
        strongest = found
    return math.exp(min(strongest, 700.0))


def _growing(pairs: Iterable[tuple[bool, bool]]) -> Iterator[float]:
    """Yield the logarithm of the strongest evidence so far after each pair."""
    total, strongest = 0.0, 0.0
    (low, high), count = _PRIOR, 1.0
    for below, above in pairs:
        one, other = low / count, high / count
        if other > one:  # else nothing is bet on this pair
            both = (one + other) / 2
            total += _log(other, above) + _log(one, below) - _log(both, above) - _log(both, below)
        strongest = max(strongest, total)
        low, high, count = low + below, high + above, count + 1
        yield strongest


def _log(share: float, is_true: bool) -> float:
    return math.log(share if is_true else 1 - share)


def still_needed(lower: Sequence[bool], higher: Sequence[bool], wanted: float, most: int) -> tuple[int, int] | None:
    """Return how many more trials of each could decide at the earliest, if all of them point the same way.

    None if the evidence cannot reach what is `wanted` with at most `most` trials of each. If it has been reached
    already, that is (0, 0).
    """
    below = itertools.chain(lower, itertools.repeat(False))
    above = itertools.chain(higher, itertools.repeat(True))
    pairs = zip(itertools.islice(below, most), above, strict=False)
    for size, found in enumerate(_growing(pairs), 1):
        if found >= math.log(wanted):
            return max(0, size - len(lower)), max(0, size - len(higher))
    return None


def fewest(wanted: float) -> int:
    """Return the smallest number of trials of each with which evidence can be as strong as `wanted`."""
    needed = still_needed([], [], wanted, 10_000)
    assert needed is not None
    return needed[0]
