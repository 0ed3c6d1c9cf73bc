"""Statistics of many runs: what a score is worth, whether one variant is better than another, and what cannot be told.

The task is the unit, not the run: repeats of one task resemble each other, so ten runs of one task say less than one
run of each of ten tasks. Every function takes the scores as one list for each task, with one number for each run of it,
so `[[1, 0, 1], [1, 1, 1]]` is two tasks with three runs each. Tasks that have something else in common, such as a
document that they all ask about, are told by `clusters`: one label for each task. Then the cluster is the unit, as
E. Miller, "Adding error bars to evals" (2024, arXiv:2411.00640), recommends.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Literal

from agentkit.errors import UsageError
from agentkit.inert import inert

Scores = Sequence[Sequence[float]]

_EXACT_FLIPS = 14
"""Up to this number of tasks that differ, all sign flips are counted; above it, some are drawn."""
_DRAWN_FLIPS = 5_000
_MANY = 1_000
"""Degrees of freedom above which Student's distribution is the normal one, to three digits."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval: of 100 such intervals, about 100 * `confidence` contain the true value.

    `tasks` is the number of tasks it rests on, and `method` how the interval was found.
    """

    value: float
    low: float
    high: float
    tasks: int
    confidence: float
    method: str

    @inert
    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher the scores of one variant are than those of another on the same tasks.

    `better`, `worse` and `same` count tasks. `p` is the probability of a difference at least as large if there is none
    in truth; `smallest` is the smallest true difference that so many tasks would show in four of five experiments.
    """

    estimate: Estimate
    better: int
    worse: int
    same: int
    p: float
    method: str
    smallest: float

    def verdict(self, p: float | None = None) -> Literal["better", "worse", "cannot tell"]:
        """Return what can be said, with the `p` of this comparison corrected for others if there are any."""
        if (self.p if p is None else p) > 1 - self.estimate.confidence:
            return "cannot tell"
        return "better" if self.estimate.value > 0 else "worse"

    @inert
    def __str__(self) -> str:
        low, high = self.estimate.low, self.estimate.high
        counts = f"better {self.better}, worse {self.worse}, same {self.same}"
        return f"{self.estimate.value:+.3f} [{low:+.3f}, {high:+.3f}]; {counts}; {p_text(self.p)} ({self.method})"


def p_text(p: float) -> str:
    """Return a p-value as a text; one that is too small for three digits is not said to be zero."""
    return f"p {p:.3f}" if p >= 0.001 else "p < 0.001"


# -- one variant -------------------------------------------------------------------------------------------------------


def estimate(scores: Scores, *, clusters: Sequence[Hashable] | None = None, confidence: float = 0.95) -> Estimate:
    """Return the mean score of a task, with its interval.

    If all scores are 0 or 1, it is Wilson's interval (1927) for as many independent tasks as would vary so much, after
    Korn and Graubard (1998); with one run for each task it is Wilson's interval itself. Other scores have Student's
    interval over the tasks. One task, or one cluster, tells nothing about others: the interval of other scores is then
    infinite. Raises `UsageError` for a task without scores, or a score that is not a finite number.
    """
    means, labels = _checked(scores, clusters), _labels(scores, clusters)
    value = fmean(means)
    if all(score in (0, 1) for task in scores for score in task):
        low, high = wilson(value, _independent(scores, means, labels, confidence), confidence)
        return Estimate(value, low, high, len(means), confidence, "Wilson")
    low, high = _student(means, labels, confidence)
    return Estimate(value, low, high, len(means), confidence, "Student")


def _independent(scores: Scores, means: Sequence[float], labels: Sequence[Hashable], confidence: float) -> float:
    """Return the number of independent trials that tell as much about a share as these tasks do.

    Their share would vary as much, and if the clusters (or the tasks) are few, they are fewer, because few clusters do
    not tell well how much they vary. They are not fewer than if the runs of each cluster always agreed.

    Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data" (1998).
    """
    share, groups = fmean(means), len(set(labels))
    spread = share * (1 - share)
    if not spread or groups < 2:
        return groups
    variance = _variance(means, labels) * (groups - 1) / groups
    trials = sum(map(len, scores))
    alike = min(spread / variance, trials) if variance else trials
    known, wanted = (student_quantile(confidence, min(count - 1, _MANY)) for count in (groups, trials))
    return max(alike * (wanted / known) ** 2, min(alike, groups))


def wilson(share: float, count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of a share that was seen in `count` independent trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


# -- two variants and more ---------------------------------------------------------------------------------------------


def difference(
    scores: Scores, others: Scores, *, clusters: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> Difference:
    """Return how much higher `scores` are than `others`, which are of the same tasks in the same order.

    The interval is Student's over the differences of the tasks. `p` is McNemar's mid-p if there is one run of each task
    and each score is 0 or 1 (Fagerland, Lydersen and Laake, 2013), and else that of a sign-flip test (Fisher, 1935):
    how often the mean difference is at least as large if the two variants are swapped at random in each task, or
    cluster. Raises `UsageError` as `estimate` does, and if the numbers of tasks differ.
    """
    if len(scores) != len(others):
        raise UsageError(f"two variants are compared on the same tasks, not on {len(scores)} and {len(others)}")
    labels = _labels(scores, clusters)
    pairs = list(zip(_checked(scores, clusters), _checked(others, clusters), strict=True))
    gains = [one - other for one, other in pairs]
    value, (low, high) = fmean(gains), _student(gains, labels, confidence)
    better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    is_binary = all(len(task) == 1 and task[0] in (0, 1) for task in (*scores, *others))
    if is_binary and len(set(labels)) == len(labels):
        p, method = mcnemar(better, worse), "McNemar, mid-p"
    else:
        p, method = _sign_flips(gains, labels), "sign flips"
    reach = NormalDist().inv_cdf((1 + confidence) / 2) + NormalDist().inv_cdf(0.8)
    smallest = reach * math.sqrt(_variance(gains, labels)) if len(set(labels)) > 1 else math.inf
    gain = Estimate(value, low, high, len(gains), confidence, "Student")
    return Difference(gain, better, worse, len(gains) - better - worse, p, method, smallest)


def mcnemar(better: int, worse: int) -> float:
    """Return the mid-p of McNemar's test: of the tasks that differ, how surprising is it that so many are better.

    Source: M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs data" (2013).
    """
    count, fewer = better + worse, min(better, worse)
    if better == worse:
        return 1.0
    ways = [math.comb(count, k) for k in range(fewer + 1)]
    return min(1.0, (2 * sum(ways) - ways[-1]) / 2**count)


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p of several comparisons, corrected so that a false alarm in any of them stays as rare as in one.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
    """
    order = sorted(range(len(ps)), key=lambda n: ps[n])
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, n in enumerate(order):
        highest = max(highest, min(1.0, ps[n] * (len(ps) - rank)))
        corrected[n] = highest
    return corrected


def _sign_flips(gains: Sequence[float], labels: Sequence[Hashable]) -> float:
    sums = dict.fromkeys(labels, 0.0)
    for gain, label in zip(gains, labels, strict=True):
        sums[label] += gain
    moved = [total for total in sums.values() if total]
    seen = abs(sum(moved)) - 1e-12
    if len(moved) <= _EXACT_FLIPS:
        flips = itertools.product((1, -1), repeat=len(moved))
        extreme = sum(abs(sum(s * g for s, g in zip(flip, moved, strict=True))) >= seen for flip in flips)
        return extreme / 2 ** len(moved)
    draw = random.Random(0).getrandbits  # the same scores always have the same p
    extreme = 0
    for _ in range(_DRAWN_FLIPS):
        bits = draw(len(moved))
        extreme += abs(sum(g if bits >> n & 1 else -g for n, g in enumerate(moved))) >= seen
    return (extreme + 1) / (_DRAWN_FLIPS + 1)


# -- the parts ---------------------------------------------------------------------------------------------------------


def _checked(scores: Scores, clusters: Sequence[Hashable] | None) -> list[float]:
    """Return the mean score of each task."""
    if not scores:
        raise UsageError("there are no tasks with scores to tell anything from")
    if clusters is not None and len(clusters) != len(scores):
        raise UsageError(f"clusters= needs one label for each of the {len(scores)} tasks, not {len(clusters)}")
    for number, task in enumerate(scores):
        if not len(task):
            raise UsageError(f"task {number} has no scores; leave it out, and say so")
        if not all(isinstance(score, int | float) and math.isfinite(score) for score in task):
            raise UsageError(f"the scores of task {number} must be finite numbers: {list(task)!r:.100}")
    return [fmean(task) for task in scores]


def _labels(scores: Scores, clusters: Sequence[Hashable] | None) -> Sequence[Hashable]:
    return range(len(scores)) if clusters is None else clusters


def _variance(values: Sequence[float], labels: Sequence[Hashable]) -> float:
    """Return the variance of the mean of the values, of which those with the same label may resemble each other.

    Source: K.-Y. Liang and S. L. Zeger, "Longitudinal data analysis using generalized linear models" (1986).
    """
    mean, sums = fmean(values), dict.fromkeys(labels, 0.0)
    for value, label in zip(values, labels, strict=True):
        sums[label] += value - mean
    groups = len(sums)
    return groups / (groups - 1) * math.fsum(total * total for total in sums.values()) / len(values) ** 2


def _student(values: Sequence[float], labels: Sequence[Hashable], confidence: float) -> tuple[float, float]:
    """Return Student's interval of a mean."""
    mean, groups = fmean(values), len(set(labels))
    if groups < 2:
        return -math.inf, math.inf
    half = student_quantile(confidence, groups - 1) * math.sqrt(_variance(values, labels))
    return mean - half, mean + half


def student_quantile(confidence: float, degrees: int) -> float:
    """Return the t that a variable of Student's distribution stays within, on both sides, with a probability.

    Source: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return math.tan((low + high) / 2) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Return the probability that |t| is below sqrt(degrees) * tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if degrees % 2 else sine * total
