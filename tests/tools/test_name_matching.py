import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.tools.name_matching import match_name, strip_decoration

NAMES = ("web_search", "skill.discover", "Calculator", "clean up")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("web_search", "web_search"),
        ("**web_search**", "web_search"),
        ("`web_search`", "web_search"),
        ('"web_search"', "web_search"),
        ("web_search(query='x')", "web_search"),
        ("web_search()", "web_search"),
        ("Web Search", "web_search"),
        ("WEB-SEARCH", "web_search"),
        ("webSearch", "web_search"),
        ("<web_search>", "web_search"),
        ("skill_discover", "skill.discover"),
        ("calculator", "Calculator"),
        ("clean_up:", "clean up"),
        ("web", None),
        ("web_searches", None),
        ("", None),
        ("()", None),
        ("***", None),
    ],
)
def test_a_decorated_name_finds_its_tool_and_another_word_does_not(written, expected):
    assert match_name(written, NAMES) == expected


def test_if_two_names_could_be_meant_neither_is():
    assert match_name("Web Search", ["web_search", "web-search"]) is None
    assert match_name("**web-search**", ["web_search", "web-search"]) == "web-search"


def test_an_exact_name_wins_however_odd_it_is():
    assert match_name("f(x)", ["f", "f(x)"]) == "f(x)"


def test_a_megabyte_of_markers_is_handled_quickly():
    start = time.process_time()
    for text in ("*" * 1_000_000, "`(" * 500_000, "a" * 1_000_000):
        assert match_name(text, NAMES) is None
        assert len(strip_decoration(text)) <= 200
    assert time.process_time() - start < 1


@given(st.text(), st.lists(st.text(min_size=1), unique=True))
def test_the_match_is_one_of_the_names(written, known):
    assert match_name(written, known) in (None, *known)
    assert all(match_name(name, known) == name for name in known)


@given(st.integers(150, 260), st.integers(150, 260), st.sampled_from(["", "**", " "]))
def test_a_long_name_never_matches_one_of_another_length(written, known, decoration):
    match = match_name(decoration + "A" * written + decoration, ["a" * known])
    assert match is None or written == known
