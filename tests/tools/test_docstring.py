import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.tools.docstring import parse

GOOGLE = """Find things.

Longer text: with a colon.

Args:
    query (str): what to
        find
    limit: how many: at most

Returns:
    the things: all of them
"""
NUMPY = """Find things.

Longer text: with a colon.

Parameters
----------
query : str
    what to
    find
limit
    how many: at most

Returns
-------
list
    the things
"""
SPHINX = """Find things.

Longer text: with a colon.

:param str query: what to
    find
:param limit: how many: at most
:type limit: int
:returns: the things
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_yields_the_description_and_the_parameters(text):
    description, parameters = parse(text)
    assert description == "Find things.\n\nLonger text: with a colon."
    assert parameters == {"query": "what to find", "limit": "how many: at most"}


@pytest.mark.parametrize("text", [None, "", "   \n"])
def test_a_missing_docstring_is_an_empty_description(text):
    assert parse(text) == ("", {})


def test_text_after_a_section_is_part_of_the_description():
    assert parse("A.\n\nArgs:\n    x: the x\n\nB.\n") == ("A.\n\nB.", {"x": "the x"})


def test_a_word_that_looks_like_a_section_inside_a_sentence_is_text():
    assert parse("Parameters are few\nNotes follow")[0] == "Parameters are few\nNotes follow"


@given(st.text("ab:*-( )\n\t,Args", max_size=200))
def test_any_docstring_is_read(text):
    description, parameters = parse(text)
    assert isinstance(description, str) and all(isinstance(part, str) for part in parameters.values())


@pytest.mark.parametrize("unit", [" ", ":", "a, ", "(", "a(", ":a ", "* "])
def test_a_long_line_is_read_in_linear_time(unit):
    start = time.process_time()
    parse(f"Args:\n    a{unit * 50_000}x\n:param a{unit * 50_000}x\n\nParameters\n---\na{unit * 50_000}x")
    assert time.process_time() - start < 2
