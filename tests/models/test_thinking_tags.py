"""Thinking is separated from the text."""

from __future__ import annotations

import pytest

from agentkit.models.dialects.thinking_tags import split


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("no tags", "no tags", ""),
        ("<think>a</think>\n\nb", "b", "a"),
        ("<Thinking>a</Thinking>b", "b", "a"),
        ("x <think>a</think>y<thinking>b</thinking>", "x y", "a\nb"),
        ("<think>a<think>b</think>c</think>d", "d", "a<think>b</think>c"),
        ("<think>never closed", "", "never closed"),
        ("b <think>never closed", "b ", "never closed"),
        ("<think>a <think> is a tag</think>b", "b", "a <think> is a tag"),
        ("<think>a <think> b</think>c<think>d", "c", "a <think> b\nd"),
        ("a\n</think>\nb", "b", "a"),
        ("the tag </think> ends it", "the tag </think> ends it", ""),
        ("write `<think>` first", "write `<think>` first", ""),
        ("<think></think>b", "b", ""),
    ],
)
def test_thinking_is_separated_from_the_text(text: str, said: str, thought: str) -> None:
    assert split(text) == (said, thought)
