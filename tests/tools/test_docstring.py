import pytest

from agentkit.tools.docstring import read

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
def test_each_style_gives_the_description_and_the_parameters(text):
    about, said = read(text)
    assert about == "Find things.\n\nLonger text: with a colon."
    assert said == {"query": "what to find", "limit": "how many: at most"}


@pytest.mark.parametrize("text", [None, "", "   \n"])
def test_nothing_said_is_an_empty_description(text):
    assert read(text) == ("", {})


def test_text_after_a_section_is_part_of_the_description():
    assert read("A.\n\nArgs:\n    x: the x\n\nB.\n") == ("A.\n\nB.", {"x": "the x"})


def test_a_word_that_looks_like_a_section_inside_a_sentence_is_text():
    assert read("Parameters are few\nNotes follow")[0] == "Parameters are few\nNotes follow"
