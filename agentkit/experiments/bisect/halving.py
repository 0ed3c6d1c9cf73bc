"""The search for the change that turned an outcome: halves of the changes, each tried until luck is ruled out.

`likes` are the trials at a point, so far: after the first so many changes, whether each ended like the other end. Of
two points, trials are made until the evidence that they differ is so strong that all decisions of the search together
are wrong in at most `ERROR` of all searches, or until each has had its `repeats`. That is so if one change turned the
outcome, or none did: the search then takes one way of halves, until it decides wrongly for the first time, and at each
of its decisions only one answer is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentkit.experiments.bisect.sequential import evidence, fewest, still_needed

ERROR = 0.05
"""How often at most a change is named that did not turn the outcome, if one change did, or none."""

_ONE_OF_EACH = 2.5
"""The evidence with which one trial of each is enough, if each is taken at its word."""

ALONE = -1
"""The point at which only the culprit is changed."""

ENDS_ALIKE, IN_BETWEEN, NEIGHBOURS_ALIKE = "ends alike", "in between", "neighbours alike"
"""Why no change can be named: the ends do not differ clearly, a point is like neither, or the culprit does nothing."""

ENOUGH, NOT_ENOUGH, UNCLEAR = "enough", "not enough", "unclear"
"""Whether the culprit alone turns the outcome."""


@dataclass(slots=True)
class Finding:
    """The number of the change that was found is `high`, and `low` is one less; `why_not` says why there is none.

    `middle` is the point that could not be decided. `alone` says whether the change turns the outcome alone.
    """

    low: int
    high: int
    why_not: str = ""
    middle: int = 0
    alone: str = ""


class Halving:
    """A search among so many `changes`, with at most `repeats` trials of each point.

    `make` makes trials, so many of each point. `stops` are the points at which it looks before it looks at others; by
    default, that is all of them. With `has_alone`, the culprit is tried alone, too.
    """

    def __init__(
        self,
        changes: int,
        repeats: int,
        likes: Callable[[int], Sequence[bool]],
        make: Callable[[dict[int, int]], None],
        *,
        has_alone: bool,
        stops: Sequence[int] | None = None,
    ) -> None:
        self.changes, self.repeats = changes, repeats
        self.low, self.high = 0, changes
        self._likes, self._make = likes, make
        self._has_alone = has_alone and changes > 1
        self._stops = list(range(1, changes) if stops is None else stops)
        edges = [0, *self._stops, changes]
        inside = max(high - low for low, high in itertools.pairwise(edges))
        self._halvings = math.ceil(math.log2(len(edges) - 1)) + math.ceil(math.log2(inside))
        comparisons = 1 + self._halvings + (changes > 1) + self._has_alone
        self.wanted = _ONE_OF_EACH if repeats == 1 else comparisons / ERROR

    @property
    def fewest(self) -> int:
        """The smallest number of trials of a point that can decide."""
        return fewest(self.wanted)

    @property
    def most(self) -> tuple[int, int]:
        """How many trials are made if they never vary, and how many at most."""
        points = 2 + self._halvings + self._has_alone
        return points * self.fewest, points * self.repeats

    def find(self) -> Finding:
        """Return the change that turned the outcome, or why that cannot be told."""
        self.low, self.high = 0, self.changes
        if not self._decide((0, self.changes)):
            return Finding(0, self.changes, ENDS_ALIKE)
        while self.high - self.low > 1:
            inside = range(self.low + 1, self.high)
            candidates = [stop for stop in self._stops if stop in inside] or inside
            middle = candidates[(len(candidates) - 1) // 2]
            decided = self._decide((0, middle), (middle, self.changes))
            if decided is None:
                return Finding(self.low, self.high, IN_BETWEEN, middle)
            if decided == (0, middle):
                self.high = middle
            else:
                self.low = middle
        if not self._decide((self.low, self.high)):
            return Finding(self.low, self.high, NEIGHBOURS_ALIKE)
        return Finding(self.low, self.high, alone=self._alone())

    def _alone(self) -> str:
        if not self._has_alone or self.high == 1:
            return ""
        decided = self._decide((0, ALONE), (ALONE, self.changes))
        return UNCLEAR if decided is None else ENOUGH if decided == (0, ALONE) else NOT_ENOUGH

    def _decide(self, *pairs: tuple[int, int]) -> tuple[int, int] | None:
        """Make trials until one of these pairs differs beyond luck, and return it; None if none can any more.

        Of each pair, the second one is expected to end like the other end more often.
        """
        while True:
            known = [(pair, self._likes(pair[0]), self._likes(pair[1])) for pair in pairs]
            needed = [(still_needed(low, high, self.wanted, self.repeats), pair) for pair, low, high in known]
            if any(times == (0, 0) for times, _ in needed):
                return max((evidence(low, high), pair) for pair, low, high in known)[1]
            possible = [(sum(times), times, pair) for times, pair in needed if times is not None]
            if not possible:
                return None
            _, times, pair = min(possible)
            self._make({point: count for point, count in zip(pair, times, strict=True) if count})
