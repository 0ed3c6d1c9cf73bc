"""The search by halves, on simulated trials: what it finds, how often it errs, and how many trials it takes."""

from __future__ import annotations

import random

import pytest

from agentkit.experiments.bisect.halving import (
    ALONE,
    ENDS_ALIKE,
    ENOUGH,
    ERROR,
    IN_BETWEEN,
    NEIGHBOURS_ALIKE,
    NOT_ENOUGH,
    Halving,
)
from agentkit.experiments.bisect.sequential import evidence, fewest, still_needed


def search(rates, *, repeats=10, alone=None, rng=None):
    """Return what is found if so large a share of the trials at each point end like the other end, and the trials."""
    rng, trials = rng or random.Random(0), {}

    def likes(point):
        return trials.setdefault(point, [])

    def make(times):
        for point, count in times.items():
            likes(point).extend(rng.random() < (alone if point == ALONE else rates[point]) for _ in range(count))

    halving = Halving(len(rates) - 1, repeats, likes, make, has_alone=alone is not None)
    return halving.find(), trials


@pytest.mark.parametrize("changes", [1, 2, 7, 30])
def test_each_planted_change_is_found_if_nothing_varies(changes):
    for culprit in range(1, changes + 1):
        found, trials = search([float(n >= culprit) for n in range(changes + 1)])
        assert (found.why_not, found.high) == ("", culprit)
        assert max(map(len, trials.values())) == fewest((1 + (changes > 1) + (changes - 1).bit_length()) / ERROR)


def test_a_search_makes_no_more_trials_than_it_said():
    rng = random.Random(4)
    for _ in range(200):
        changes, repeats = rng.randint(1, 20), rng.randint(5, 15)
        rates = [rng.random() for _ in range(changes + 1)]
        found, trials = search(rates, repeats=repeats, rng=rng, alone=rng.random())
        halving = Halving(changes, repeats, {}.get, print, has_alone=True)  # type: ignore[arg-type]
        assert sum(map(len, trials.values())) <= halving.most[1]
        assert all(len(each) <= repeats for each in trials.values())
        assert 0 <= found.low < found.high <= changes


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("changes", [1, 5])
def test_without_a_culprit_one_is_named_in_at_most_5_of_100_searches(rate, changes):
    rng = random.Random(7)
    named = sum(not search([rate] * (changes + 1), repeats=30, rng=rng)[0].why_not for _ in range(400))
    assert named <= 400 * ERROR + 2 * (400 * ERROR) ** 0.5  # about two standard deviations above the promise


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 0.9), (0.2, 0.7), (0.5, 1.0)])
def test_with_one_culprit_another_change_is_named_in_at_most_5_of_100_searches(low, high):
    rng, wrong, right = random.Random(8), 0, 0
    for _ in range(300):
        changes = rng.choice([1, 2, 7, 30])
        culprit = rng.randint(1, changes)
        rates = [high if n >= culprit else low for n in range(changes + 1)]
        found, _ = search(rates, repeats=40, rng=rng)
        wrong += not found.why_not and found.high != culprit
        right += not found.why_not and found.high == culprit
    assert wrong <= 300 * ERROR
    assert right >= 300 * 0.6


def test_ends_that_do_not_differ_end_the_search_before_all_trials_are_made():
    found, trials = search([1.0, 1.0], repeats=100)
    assert found.why_not == ENDS_ALIKE
    assert search([1.0, 1.0], repeats=10)[0].why_not == ENDS_ALIKE
    assert len(trials[0]) <= 100


def test_a_point_that_is_like_neither_end_is_not_guessed():
    found, _ = search([0.0, 0.5, 1.0], repeats=8, rng=random.Random(5))
    assert found.why_not in (IN_BETWEEN, NEIGHBOURS_ALIKE)


def test_two_changes_that_only_turn_it_together_are_told():
    found, _ = search([0.0, 0.0, 0.0, 1.0], alone=0.0)
    assert (found.high, found.alone) == (3, NOT_ENOUGH)
    found, _ = search([0.0, 0.0, 0.0, 1.0], alone=1.0)
    assert (found.high, found.alone) == (3, ENOUGH)
    found, _ = search([0.0, 1.0, 1.0, 1.0], alone=1.0)  # it was alone already
    assert (found.high, found.alone) == (1, "")


def test_a_change_of_the_wrong_direction_is_not_taken_for_a_difference():
    assert search([1.0, 0.0])[0].why_not == ENDS_ALIKE


def test_one_trial_of_each_is_taken_at_its_word():
    for culprit in range(1, 31):
        found, trials = search([float(n >= culprit) for n in range(31)], repeats=1)
        assert (found.why_not, found.high) == ("", culprit)
        assert all(len(each) == 1 for each in trials.values())


# -- the evidence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.8, 0.97])
def test_evidence_of_20_appears_in_at_most_5_of_100_series_without_a_difference(rate):
    rng, alarms = random.Random(11), 0
    for _ in range(1000):
        one, other = ([rng.random() < rate for _ in range(60)] for _ in range(2))
        alarms += evidence(one, other) >= 20  # at any moment: the evidence is the strongest so far
    assert alarms <= 1000 * 0.05 + 2 * 7


def test_evidence_counts_pairs_in_order_and_never_falls():
    rng = random.Random(3)
    one, other = ([rng.random() < rate for _ in range(40)] for rate in (0.3, 0.8))
    grown = [evidence(one[:n], other[:n]) for n in range(41)]
    assert grown == sorted(grown)
    assert grown[0] == 1
    assert evidence(one, other[:10]) == grown[10]


def test_evidence_of_many_trials_is_a_finite_number():
    assert 1e300 < evidence([False] * 5000, [True] * 5000) < float("inf")


def test_what_is_still_needed_is_enough_and_no_more():
    rng = random.Random(2)
    for _ in range(200):
        below = [rng.random() < 0.2 for _ in range(rng.randint(0, 8))]
        above = [rng.random() < 0.8 for _ in range(rng.randint(0, 8))]
        needed = still_needed(below, above, 60, 30)
        assert needed is not None
        more, others = needed
        reached = evidence([*below, *[False] * more], [*above, *[True] * others])
        assert reached >= 60
        if more and others:
            assert evidence([*below, *[False] * (more - 1)], [*above, *[True] * (others - 1)]) < 60
    assert still_needed([True] * 5, [False] * 5, 60, 6) is None
    assert still_needed([], [], 20, 0) is None


def test_points_between_stops_are_tried_only_at_last():
    stops = [2, 4, 6, 8]
    for culprit in range(1, 11):
        trials: dict[int, list[bool]] = {}

        def likes(point, trials=trials):
            return trials.setdefault(point, [])

        def make(times, likes=likes, culprit=culprit):
            for point, count in times.items():
                likes(point).extend([point >= culprit] * count)

        halving = Halving(10, 10, likes, make, has_alone=False, stops=stops)
        found = halving.find()
        assert (found.why_not, found.high) == ("", culprit)
        assert len([point for point in trials if point % 2]) == 1
        assert sum(map(len, trials.values())) <= halving.most[0]
