"""Statistics of many runs: known values, and that intervals cover the truth as often as they promise."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from random import Random

import pytest

from agentkit.errors import UsageError
from agentkit.experiments.statistics import (
    Scores,
    difference,
    estimate,
    holm,
    mcnemar,
    student_quantile,
    wilson,
)

ROUNDS = 400 * int(os.environ.get("AGENTKIT_SIZE", "1"))
"""Simulated experiments. The bounds of 400 are four standard errors wide."""


def share(true: Callable[[int], bool]) -> float:
    return sum(map(true, range(ROUNDS))) / ROUNDS


def near(expected: float) -> tuple[float, float]:
    """Return the bounds that the share of an event stays within, unless something is wrong."""
    error = 4 * math.sqrt(expected * (1 - expected) / 400)
    return expected - error, expected + error


# -- known values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "degrees", "t"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 5, 2.571), (0.95, 10, 2.228), (0.99, 7, 3.499), (0.95, 1000, 1.962)],
)
def test_quantiles_of_student_are_those_of_the_tables(confidence: float, degrees: int, t: float) -> None:
    assert student_quantile(confidence, degrees) == pytest.approx(t, abs=6e-4)


def test_one_run_for_each_task_has_the_interval_of_wilson() -> None:
    # 7 of 10, by hand: centre (0.7 + 0.19207) / 1.38415, half width 1.38590 * sqrt(0.021 + 0.0096036)
    assert wilson(0.7, 10) == pytest.approx((0.3968, 0.8922), abs=1e-4)
    found = estimate([[1]] * 7 + [[0]] * 3)
    assert (found.low, found.high) == pytest.approx(wilson(0.7, 10)) and found.method == "Wilson"


@pytest.mark.parametrize("repeats", [1, 2, 50])
def test_repeats_that_always_agree_tell_no_more_than_one_run(repeats: int) -> None:
    found = estimate([[1] * repeats] * 7 + [[0] * repeats] * 3)
    assert (found.low, found.high) == pytest.approx(wilson(0.7, 10))


def test_tasks_of_one_cluster_that_always_agree_tell_no_more_than_one_task() -> None:
    labels = [n // 5 for n in range(50)]
    found = estimate([[float(label < 7)] for label in labels], clusters=labels)
    assert (found.low, found.high) == pytest.approx(wilson(0.7, 10))


def test_a_score_between_zero_and_one_has_the_interval_of_student() -> None:
    found = estimate([[2.0], [4.0], [6.0]])
    half = student_quantile(0.95, 2) * 2 / math.sqrt(3)
    assert (found.value, found.low, found.high) == pytest.approx((4, 4 - half, 4 + half))


def test_one_task_tells_nothing_about_others() -> None:
    assert estimate([[0.3, 0.4]]).high == math.inf
    found = estimate([[1, 1, 1, 1]])
    assert found.low < 0.21 and found.high == 1


@pytest.mark.parametrize(
    ("better", "worse", "p"), [(0, 0, 1.0), (3, 3, 1.0), (5, 0, 1 / 32), (4, 1, 7 / 32), (1, 4, 7 / 32)]
)
def test_the_mid_p_of_mcnemar(better: int, worse: int, p: float) -> None:
    # (4, 1): twice P(X <= 1) - P(X = 1) of five coins, 2 * 6 / 32 - 5 / 32
    assert mcnemar(better, worse) == pytest.approx(p)


def test_sign_flips_of_few_tasks_are_all_counted() -> None:
    found = difference([[3.0], [4.0], [5.0]], [[1.0], [1.0], [1.0]])
    assert (found.p, found.method) == (2 / 8, "sign flips")


def test_corrected_values_stay_in_order_and_below_one() -> None:
    assert holm([0.01, 0.04, 0.03, 0.9]) == pytest.approx([0.04, 0.09, 0.09, 0.9])
    assert holm([]) == []


def test_a_variant_is_better_only_on_the_same_tasks() -> None:
    tasks = [[0.0], [1.0], [1.0], [1.0]] * 10
    found = difference([[1.0]] * 40, tasks)
    assert (found.better, found.worse, found.same, found.verdict()) == (10, 0, 30, "better")
    assert difference(tasks, [[1.0]] * 40).verdict() == "worse"
    assert found.verdict(p=0.2) == "cannot tell"
    assert str(found).startswith("+0.250 [") and "better 10, worse 0, same 30" in str(found)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        ([], "no tasks"),
        ([[1.0], []], "task 1 has no scores"),
        ([[math.nan]], "finite"),
        ([[math.inf]], "finite"),
        ([["1"]], "finite"),
        ([[None]], "finite"),
    ],
)
def test_scores_that_mean_nothing_are_refused(scores: Scores, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        estimate(scores)


def test_variants_of_other_tasks_are_not_compared() -> None:
    with pytest.raises(UsageError, match="same tasks, not on 1 and 2"):
        difference([[1]], [[1], [0]])
    with pytest.raises(UsageError, match="one label for each of the 2 tasks, not 1"):
        estimate([[1], [0]], clusters=["a"])


def test_few_clusters_tell_less_than_their_variance_says_but_not_less_than_if_their_runs_agreed() -> None:
    mixed = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    found = estimate(mixed)
    fewest, most = wilson(7 / 12, 4), wilson(7 / 12, 12)
    assert most[1] - most[0] < found.high - found.low <= fewest[1] - fewest[0]


def test_any_scores_have_an_interval_around_their_mean_and_a_p() -> None:
    random = Random(5)
    scores: list[Callable[[], float]] = [
        lambda: float(random.random() < 0.5),
        lambda: random.gauss(0, 1),
        lambda: 1.0,
        lambda: random.choice([1e300, -1e300, 0.0]),
    ]
    for _ in range(ROUNDS):
        score, count = random.choice(scores), random.choice([1, 2, 3, 9])
        one, other = ([[score() for _ in range(random.choice([1, 3]))] for _ in range(count)] for _ in range(2))
        for clusters in (None, [random.choice([1, "1", 2.5, ""]) for _ in one], ["all"] * count):
            found = estimate(one, clusters=clusters)
            assert found.low <= found.value + 1e-9 and found.value - 1e-9 <= found.high, (one, clusters)
            assert 0 <= difference(one, other, clusters=clusters).p <= 1, (one, other, clusters)
        assert estimate(one) == estimate(one, clusters=range(count))


# -- simulated ---------------------------------------------------------------------------------------------------------


def tasks(random: Random, count: int, repeats: int, mean: float, alike: float) -> list[list[float]]:
    """Return scores of tasks whose difficulty varies: the less `alike`, the more they do."""
    chances = [random.betavariate(mean * alike, (1 - mean) * alike) for _ in range(count)]
    return [[float(random.random() < chance) for _ in range(repeats)] for chance in chances]


@pytest.mark.parametrize(
    ("count", "repeats", "mean", "alike"),
    [
        (40, 1, 0.6, 1.0),
        (40, 10, 0.6, 1.0),
        (40, 5, 0.9, 1.0),
        (15, 10, 0.5, 0.5),
        (100, 3, 0.7, 3.0),
        (40, 10, 0.6, 99),
    ],
)
def test_the_interval_of_a_share_covers_the_truth(count: int, repeats: int, mean: float, alike: float) -> None:
    random = Random(count * repeats)

    def covers(_: int) -> bool:
        found = estimate(tasks(random, count, repeats, mean, alike))
        return found.low <= mean <= found.high

    low, high = near(0.95)
    assert low <= share(covers) <= max(high, 1)


def clustered(
    random: Random, clusters: int, sizes: tuple[int, ...], repeats: int, mean: float = 0.6
) -> tuple[list[list[float]], list[int]]:
    """Return scores of tasks, and their clusters: the tasks of one are equally hard."""
    scores, labels = list[list[float]](), list[int]()
    for label in range(clusters):
        chance = random.betavariate(2 * mean, 2 * (1 - mean))
        for _ in range(random.choice(sizes)):
            scores.append([float(random.random() < chance) for _ in range(repeats)])
            labels.append(label)
    return scores, labels


@pytest.mark.parametrize(
    ("clusters", "sizes", "repeats"), [(40, (5,), 1), (20, (5,), 3), (10, (6,), 2), (6, (10,), 1), (30, (1, 2, 6), 1)]
)
def test_the_interval_of_clustered_tasks_covers_the_truth(clusters: int, sizes: tuple[int, ...], repeats: int) -> None:
    random = Random(clusters)

    def covers(_: int) -> bool:
        scores, labels = clustered(random, clusters, sizes, repeats)
        found = estimate(scores, clusters=labels)
        return found.low <= 0.6 <= found.high

    low, high = near(0.95)
    assert low <= share(covers) <= high


def test_an_interval_that_takes_clustered_tasks_for_independent_ones_does_not() -> None:
    random = Random(7)

    def covers(_: int) -> bool:
        found = estimate(clustered(random, 20, (5,), 1)[0])
        return found.low <= 0.6 <= found.high

    assert share(covers) < 0.85  # it promises 0.95


def test_a_difference_of_clusters_that_is_not_there_is_seldom_seen() -> None:
    random = Random(8)

    def is_alarm(_: int) -> bool:
        labels = [n // 6 for n in range(60)]
        suits = [random.gauss(0, 1) for _ in range(10)]  # a document suits one variant better than the other
        one = [[suits[label] + random.gauss(0, 1)] for label in labels]
        other = [[random.gauss(0, 1)] for _ in labels]
        return difference(one, other, clusters=labels).verdict() != "cannot tell"

    assert share(is_alarm) <= near(0.05)[1]


def test_an_interval_that_takes_runs_for_tasks_does_not() -> None:
    random = Random(1)

    def covers(_: int) -> bool:
        scores = [run for task in tasks(random, 40, 10, 0.6, 1.0) for run in task]
        low, high = wilson(sum(scores) / len(scores), len(scores))
        return low <= 0.6 <= high

    assert share(covers) < 0.75  # it promises 0.95


@pytest.mark.parametrize("count", [5, 20, 60])
def test_the_interval_of_a_mean_covers_the_truth(count: int) -> None:
    random = Random(count)

    def covers(_: int) -> bool:
        found = estimate(
            [[random.gauss(mean, 2) for _ in range(3)] for mean in [random.gauss(7, 1) for _ in range(count)]]
        )
        return found.low <= 7 <= found.high

    low, high = near(0.95)
    assert low <= share(covers) <= high


@pytest.mark.parametrize("repeats", [1, 4])
def test_a_difference_that_is_not_there_is_seldom_seen(repeats: int) -> None:
    random = Random(repeats)

    def is_alarm(_: int) -> bool:
        chances = [random.betavariate(2, 1) for _ in range(30)]
        one, other = ([[float(random.random() < c) for _ in range(repeats)] for c in chances] for _ in range(2))
        return difference(one, other).verdict() != "cannot tell"

    assert share(is_alarm) <= near(0.05)[1]


def test_a_difference_between_the_same_tasks_is_seen_where_it_is_the_smallest_that_can_be() -> None:
    random = Random(3)

    def sees(_: int) -> bool:
        base = [random.gauss(0, 5) for _ in range(40)]
        found = difference([[b + random.gauss(0.5, 1)] for b in base], [[b] for b in base])
        assert 0.25 < found.smallest < 0.7  # (1.96 + 0.84) / sqrt(40) is 0.44
        return found.verdict() == "better"

    assert share(sees) > 0.8  # 0.5 is above the smallest difference that would be seen in 0.8 of the experiments


def test_of_many_variants_that_are_all_alike_one_is_seldom_called_better() -> None:
    random = Random(4)

    def is_alarm(_: int) -> bool:
        base = [[random.gauss(0, 1)] for _ in range(12)]
        found = [difference([[b[0] + random.gauss(0, 1)] for b in base], base) for _ in range(6)]
        ps = holm([one.p for one in found])
        return any(one.verdict(p) != "cannot tell" for one, p in zip(found, ps, strict=True))

    assert share(is_alarm) <= near(0.05)[1]
