"""Thinking in tags, separated while it streams: a view shows what the reply contains in the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.models import surrogates
from agentkit.models.dialects import thinking_tags


def fed(text: str, sizes: list[int]) -> tuple[str, str]:
    splitter, said, thought, at, turn = thinking_tags.LiveSplitter(), "", "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        more_said, more_thought = splitter.feed(text[at : at + size])
        said, thought, at, turn = said + more_said, thought + more_thought, at + size, turn + 1
    more_said, more_thought = splitter.end() or ("", "")
    return said + more_said, thought + more_thought


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
def test_text_and_thinking_are_the_same_however_the_stream_is_cut(
    text: str, said: str, thought: str, size: int
) -> None:
    assert fed(text, [size]) == (said, thought)


SAMPLES = ("<think>", "</think>", "<thinking>", "<", "th", "ink>", "a", " b\n", "`", "😀", "\ud83d")
PIECES = st.lists(st.sampled_from(SAMPLES), max_size=12)


@given(PIECES, st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_the_sizes_of_the_pieces_do_not_matter(pieces: list[str], sizes: list[int]) -> None:
    text = "".join(pieces)
    assert fed(text, sizes) == fed(text, [len(text) + 1])


def test_halves_of_a_character_are_joined() -> None:
    assert surrogates.paired("a\ud83d\ude00b") == "a😀b" and surrogates.paired("\ud83d") == "\ud83d"
    assert surrogates.split("a\ud83d") == ("a", "\ud83d") and surrogates.split("ab") == ("ab", "")
    assert fed("x\ud83d\ude00y", [1]) == ("x😀y", "")
