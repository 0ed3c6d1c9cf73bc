"""Thinking in tags, told apart while it arrives: what a view shows is what the reply says in the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.models import surrogates
from agentkit.models.dialects import thinking_tags


def told(text: str, sizes: list[int]) -> tuple[str, str]:
    live, said, thought, at, turn = thinking_tags.LiveSplitter(), "", "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        one, other = live.feed(text[at : at + size])
        said, thought, at, turn = said + one, thought + other, at + size, turn + 1
    one, other = live.end() or ("", "")
    return said + one, thought + other


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("plain", "plain", ""),
        ("<think>a</think>b", "b", "a"),
        ("<THINKING>a</Thinking>\n\n b", "b", "a"),
        ("x <think>a</think> y", "x  y", "a"),
        ("<think>a<think>b</think>c</think>d", "d", "abc"),
        ("<think>never closed", "", "never closed"),
        ("a < b and <thing> and <th", "a < b and <thing> and <th", ""),
        ("say `<think>` aloud", "say `<think>` aloud", ""),
        ("😀<think>😀</think>😀", "😀😀", "😀"),
    ],
)
def test_said_and_thought_are_the_same_however_they_are_cut(text: str, said: str, thought: str, size: int) -> None:
    assert told(text, [size]) == (said, thought)


SAMPLES = ("<think>", "</think>", "<thinking>", "<", "th", "ink>", "a", " b\n", "`", "😀", "\ud83d")
PIECES = st.lists(st.sampled_from(SAMPLES), max_size=12)


@given(PIECES, st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_no_cut_changes_anything(pieces: list[str], sizes: list[int]) -> None:
    text = "".join(pieces)
    assert told(text, sizes) == told(text, [len(text) + 1])


def test_halves_of_a_character_are_put_together() -> None:
    assert surrogates.paired("a\ud83d\ude00b") == "a😀b" and surrogates.paired("\ud83d") == "\ud83d"
    assert surrogates.split("a\ud83d") == ("a", "\ud83d") and surrogates.split("ab") == ("ab", "")
    assert told("x\ud83d\ude00y", [1]) == ("x😀y", "")
