"""Finding texts by the words that they share with a query."""

from __future__ import annotations

import time

import pytest

from agentkit.memory.search import rank


def test_rare_words_count_for_more_and_scripts_without_spaces_are_searched() -> None:
    known = [("the train to Bern", 1), ("the train to Basel", 2), ("the ship to Basel", 3)]
    assert rank("train ship", known, 3) == [3, 2, 1]
    assert rank("東京の天気", [("東京へ行く", 1), ("大阪", 2)], 3) == [1]
    assert rank("of the", known, 3) == []


@pytest.mark.parametrize("text", ["turn {n} about thing {m} and more words", "x{n} {m} " * 10_000])
def test_searching_a_thousand_texts_is_quick(text: str) -> None:
    known = [(text.format(n=n, m=n % 50), n) for n in range(1_000)]
    start = time.process_time()
    assert len(rank("what about thing 7 " * 50, known, 3)) == 3
    assert time.process_time() - start < 3
