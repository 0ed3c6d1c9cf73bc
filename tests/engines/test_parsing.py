"""What engines read in prose: markers at the start of a line, whole words, never the opposite, never an exception."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import Chat, Reply
from agentkit.engines.parsing import (
    after,
    answer_of,
    before,
    call_of,
    fill,
    labelled_blocks,
    list_items,
    score_of,
    shorten,
    step_result,
    text_of,
    verdict_of,
    with_instructions,
)
from agentkit.tools.tool import Tool, tool


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("SATISFACTORY", True),
        ("**SATISFACTORY**", True),
        ("Verdict: SATISFACTORY", True),
        ("**Verdict:** SATISFACTORY - all is there", True),
        ("> satisfactory.", True),
        ("Final verdict: `SATISFACTORY`", True),
        ("Let me see.\nSATISFACTORY", True),
        ("UNSATISFACTORY", False),
        ("**UNSATISFACTORY**", False),
        ("Verdict: UNSATISFACTORY", False),
        ("NOT SATISFACTORY", False),
        ("SATISFACTORY\nno, UNSATISFACTORY", True),  # the second is in the middle of a line
        ("SATISFACTORY or UNSATISFACTORY? UNSATISFACTORY", False),
        ("Verdict: **SATISFACTORY**", True),
        ("SATISFACTORY\nUNSATISFACTORY", False),
        ("UNSATISFACTORY\nSATISFACTORY", False),
        ("The answer is not SATISFACTORY", None),
        ("It would be SATISFACTORY if", None),
        ("SATISFACTORYISH", None),
        ("", None),
        ("NaN", None),
    ],
)
def test_a_verdict_is_read_at_the_start_of_a_line(text: str, ok: bool | None) -> None:
    assert verdict_of(text) is ok


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("8/10", 8),
        ("Score: 8", 8),
        ("on a 0-10 scale: 8", 8),
        ("On a scale of 0 to 10, I give it 7/10.", 7),
        ("**Score:** 8", 8),
        ("score is 6", 6),
        ("Score (0-10): 9.5", 9.5),
        ("4 out of 5", 8),
        ("Score: 80%", 8),
        ("Score: 7,5", 7.5),
        ("Score: 8, since 3 of 4 hold", 8),
        ("Score: [8]", 8),
        ("Score: ~7/10", 7),
        ("I think this is good.\nScore: 3", 3),
        ("A score of 9 would need a source, and 10/10 two.\nScore: 2", 2),
        ("Score: 9 if it were right. It is not.\n**Final score:** 2/10", 2),
        ("My score: 7", 7),
        ("Rating = 2", 2),
        ("11", 10),
        ("-4", 0),
        ("Score: 1e9", None),
        ("Score: NaN", None),
        ("Score: inf", 10),
        ("none of it", None),
        ("", None),
    ],
)
def test_a_score_is_converted_to_the_scale(text: str, value: float | None) -> None:
    assert score_of(text, 10.0) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("score: 0.4", 0.4),
        ("Score: 0.9", 0.9),
        ("Score: 0,9", 0.9),
        ("8/10", 0.8),
        ("85%", 0.85),
        ("2", 1.0),
        (".5", 0.5),
    ],
)
def test_a_score_from_0_to_1(text: str, value: float) -> None:
    assert score_of(text, 1.0) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. a\n2) b", ("a", "b")),
        ("Here is the plan:\n\n1. **look** it up\n2. say it\n\nThat is all.", ("look it up", "say it")),
        ("Step 1: a\nStep 2: b", ("a", "b")),
        ("**1.** a\n**2.** b", ("a", "b")),
        ("1. a\n   - with care\n2. b", ("a\n- with care", "b")),
        ("1. a\n   1. with care\n   2. in time\n2. b", ("a\n1. with care\n2. in time", "b")),
        (" 9. a\n10. b\n 11. c", ("a", "b", "c")),
        ("1. a\nThen:\n  slowly\n2. b", ("a", "b")),
        ("  1. a", ("a",)),
        ("I would look it up in 1. hand", ()),
        ("No plan is needed: 42.", ()),
        ("2023 was a year", ()),
        ("", ()),
    ],
)
def test_a_plan_is_a_numbered_list(text: str, items: tuple[str, ...]) -> None:
    assert list_items(text) == items


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Oslo", "Oslo"),
        ("FAILED: no such city", "FAILED: no such city"),
        ("**FAILED:** no such city", "FAILED: no such city"),
        ("failed: no such city", "FAILED: no such city"),
        (" FAILED - no such city", "FAILED: no such city"),
        ("FAILED", "FAILED: it gave no answer"),
        ("", "FAILED: it gave no answer"),
        ("FAILEDBANKS owns it", "FAILEDBANKS owns it"),
        ("Failed logins: 3", "Failed logins: 3"),
        ("It has not FAILED: all is well", "It has not FAILED: all is well"),
    ],
)
def test_a_step_has_failed_if_its_answer_begins_with_failed(text: str, result: str) -> None:
    assert step_result(text) == result
    assert step_result("as far as it goes", "max_turns") == "FAILED: as far as it goes"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("VERIFIED: all claims are correct", "all claims are correct"),
        ("**VERIFIED:** yes", "yes"),
        ("UNVERIFIED: the year", None),
        ("It is VERIFIED: yes", None),
        ("NOT VERIFIED: x", None),
    ],
)
def test_a_marker_counts_only_at_the_start_of_a_line(text: str, found: str | None) -> None:
    assert after("VERIFIED", text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("**FINAL ANSWER: 116**", "116"),
        ("*FINAL ANSWER: 2*3 is 6.*\nSo it is.", "2*3 is 6.\nSo it is."),
        ("__Final Answer: snake_case__", "snake_case"),
        ("**FINAL ANSWER**: __init__.py", "__init__.py"),
        ("FINAL ANSWER: `x` and **y**", "`x` and **y**"),
        ("**FINAL ANSWER:** **Paris** it is", "**Paris** it is"),
        ("* FINAL ANSWER: char*", "char*"),
        ("FINAL-ANSWER: ```py\nx\n```", "```py\nx\n```"),
        ("**FINAL ANSWER: ** 42", "42"),
        ("**FINAL ANSWER: **\n42", "42"),
        ("**FINAL ANSWER: **42", "42"),
        ("**FINAL ANSWER:\n\n**Rome** it is", "**Rome** it is"),
        ("**FINAL ANSWER: **Rome** it is**", "**Rome** it is"),
        ("*FINAL ANSWER: 5*(3+1) = 20*", "5*(3+1) = 20"),
        ("*FINAL ANSWER: f(**given)*", "f(**given)"),
        ("**FINAL ANSWER: *Rome***", "*Rome*"),
        ("__FINAL ANSWER: __init__ is its name__", "__init__ is its name"),
    ],
)
def test_emphasis_around_a_marked_line_is_removed_and_emphasis_inside_it_is_kept(text: str, found: str) -> None:
    assert after("FINAL ANSWER", text) == found


def test_the_last_of_several_markers_counts_and_before_stops_at_the_first() -> None:
    assert after("FINAL ANSWER", "final answer: 1\nno:\nFINAL_ANSWER: 2\nof course") == "2\nof course"
    assert before("Intermediate answer", "a\nIntermediate answer: b\nIntermediate answer: c") == "a\n"


def test_claims_are_blocks_of_labelled_lines() -> None:
    text = 'The draft says "claim: 3".\n\nCLAIM 1: built in 1887\n**TOOL:** search\nTOOL INPUT: Eiffel\ntower\n\nCLAIM 2: no tool'
    assert labelled_blocks(text, ("Claim",), "Tool", "Tool Input") == [
        {"claim": "built in 1887", "tool": "search", "tool input": "Eiffel\ntower"},
        {"claim": "no tool"},
    ]
    bold = "**Follow-up: who?**\n**Tool: `look`**\n**Tool_Input: it**"
    assert labelled_blocks(bold, ("Follow up",), "Tool", "Tool Input") == [
        {"follow up": "who?", "tool": "`look`", "tool input": "it"}
    ]


@tool
def by_q(q: str) -> str:
    """Search."""
    return q


@tool
def by_text(text: str, most: int = 3) -> str:
    """Search."""
    return text


@tool
def two_texts(place: str, q: str) -> str:
    """Search."""
    return q


@tool
def by_name(city: str) -> str:
    """Search."""
    return city


@pytest.mark.parametrize(
    ("to", "text", "wanted"),
    [
        (by_q, "who?", {"q": "who?"}),
        (by_text, '"who?"', {"text": "who?"}),
        (by_name, "Oslo", {"city": "Oslo"}),
        (by_text, '{"text": "a", "most": 1}', {"text": "a", "most": 1}),
        (two_texts, "who?", {"q": "who?"}),
    ],
)
def test_a_bare_text_becomes_the_right_argument(to: Tool, text: str, wanted: dict[str, object]) -> None:
    assert call_of(to.name, text, (to,), "1").arguments == wanted


def test_braces_in_the_text_of_a_user_are_harmless() -> None:
    assert fill("{a} {b} {{c}} {", a="{b}", b="}{") == "{b} }{ {{c}} {"
    assert fill("{0} {a.b} {a!r}", a=1) == "{0} {a.b} {a!r}"


def test_the_text_that_a_person_wrote_in_a_reply_is_its_text() -> None:
    assert (
        text_of(Reply("short", raw="FINAL_ANSWER: short")) == "FINAL_ANSWER: short" and text_of(Reply("mine")) == "mine"
    )
    assert answer_of(Reply("", raw="raw")) == "raw"


def test_values_that_are_too_long_are_cut_to_the_same_length_and_the_prompt_is_not_cut() -> None:
    prompt = fill("{a} and {b} and {c}. Go on!", a="a" * 100_000, b="b" * 50_000, c="c" * 100)
    assert (
        prompt.endswith("c. Go on!")
        and prompt.count("c") > 100
        and prompt.count("a" * 19_950) == prompt.count("b" * 19_950) == 1
    )
    assert "80,050 more characters" in prompt and len(prompt) < 40_300
    assert shorten(["a" * 10, "b" * 5]) == ["a" * 10, "b" * 5] and shorten([]) == []


def test_a_system_message_is_added_after_the_existing_ones() -> None:
    chat = with_instructions(
        Chat.of([{"role": "system", "content": "own"}, {"role": "user", "content": "q"}]), "engine's"
    )
    assert [message.text for message in chat] == ["own", "engine's", "q"]


@given(st.text(alphabet=st.sampled_from("SATIFCORYUN Score:1234567890./%\n*#-[]{}CLAIMTOOLINPUT")))
def test_nothing_that_a_model_writes_raises(text: str) -> None:
    value = score_of(text, 10.0)
    assert value is None or (0 <= value <= 10 and not math.isnan(value))
    assert verdict_of(text) in (True, False, None)
    assert all(list_items(text)) and isinstance(labelled_blocks(text, ("Claim",), "Tool", "Tool Input"), list)
    assert isinstance(call_of("by_q", text, (by_q,), "1").arguments, dict)


@pytest.mark.parametrize(
    "text", ["* " * 50_000, "1" * 100_000, "score " * 20_000, "\n1. " * 25_000, "CLAIM: x\n" * 12_000, ":" * 100_000]
)
def test_parsing_takes_linear_time(text: str) -> None:
    started = time.process_time()
    for read in (
        verdict_of,
        list_items,
        lambda t: score_of(t, 10.0),
        lambda t: after("ANSWER", t),
        lambda t: labelled_blocks(t, ("Claim",), "Tool"),
    ):
        read(text)
    assert time.process_time() - started < 2.0
