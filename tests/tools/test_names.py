import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.tools.names import match

NAMES = ("web_search", "skill.discover", "Calculator", "clean up")


@pytest.mark.parametrize(
    ("written", "meant"),
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
def test_a_decorated_name_finds_its_tool_and_another_word_does_not(written, meant):
    assert match(written, NAMES) == meant


def test_of_two_that_could_be_meant_none_is():
    assert match("Web Search", ["web_search", "web-search"]) is None
    assert match("**web-search**", ["web_search", "web-search"]) == "web-search"


def test_an_exact_name_wins_however_odd_it_is():
    assert match("f(x)", ["f", "f(x)"]) == "f(x)"


def test_a_megabyte_of_markers_takes_no_time():
    start = time.process_time()
    for text in ("*" * 1_000_000, "`(" * 500_000, "a" * 1_000_000):
        assert match(text, NAMES) is None
    assert time.process_time() - start < 1


@given(st.text(), st.lists(st.text(min_size=1), unique=True))
def test_what_is_found_is_one_of_the_names(written, known):
    assert match(written, known) in (None, *known)
    assert all(match(name, known) == name for name in known)
