"""Data in a model's text: read as it is, mended without guessing, or completed, and never made up."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from agentkit.models.json_in_text import Data, extract

HERE = {"city": "Bern", "days": [1, 2]}
TEXT = '{"city": "Bern", "days": [1, 2]}'


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}",
        f"````{TEXT}```",
        f"Sure, here it is:\n\n```json\n{TEXT}\n```\nAnything else [1]?",
        f"As {{x}} and [1] show, it is {TEXT}. Done.",
        f"[]{TEXT}",
        "{'city': 'Bern', 'days': (1, 2)}".replace("(", "[").replace(")", "]"),
        '{city: "Bern", /* two */ days: [1, 2,],}',
        '{"city": "Bern", "days": [1, 2]',
        '{"city": "Bern", "days": [1, 2, ',
        f'```json\n{TEXT[:-1]}, "code": "```x```"}}\n```',
        TEXT.replace('"', '\\"'),
        '"' + TEXT.replace('"', '\\"') + '"',
        TEXT.replace('"', '\\"').replace("{", "Here: {\\n  "),
        '// first\n{"city": "Bern", // no, "Basel"}\n "days": [1, 2]}',
    ],
)
def test_data_is_found_whatever_surrounds_it(text: str) -> None:
    data = extract(text)
    assert data and {"code": "```x```", **data.value} == {**HERE, "code": "```x```"}


@pytest.mark.parametrize(
    "text", ["", "no data", "True or false", "}}", 'city": "Bern"}', "{city", '{"a": ""b"} and', '"quoted"', "{x}"]
)
def test_no_data_is_made_up(text: str) -> None:
    assert extract(text) is None


def test_mended_data_is_reported_and_completed_data_is_marked() -> None:
    as_written, loose, cut = extract(TEXT), extract("{'a': 1}"), extract('{"a": "lon')
    assert as_written and (as_written.mended, as_written.completed) == ("", False)
    assert loose and loose.mended and not loose.completed
    assert cut and cut.value == {"a": "lon"} and cut.mended and cut.completed


def test_a_part_of_a_broken_object_is_not_mistaken_for_the_whole() -> None:
    data = extract('{"steps": [{"id": 1}, {"id": 2}, {"id": 3')
    assert data and data.value == {"steps": [{"id": 1}, {"id": 2}, {"id": 3}]} and data.completed


@pytest.mark.parametrize(
    "text",
    ['{"a": {"b": 1}, oops "c": {', '\n {"steps": [{"id": 1}] "by "whom": 1}', '```json\n{"a": ""x" {"b": 1}\n```'],
)
def test_if_the_whole_cannot_be_read_no_part_of_it_is_used(text: str) -> None:
    assert extract(text) is None


def test_half_of_a_character_is_kept_in_whole_data_and_prevents_completion() -> None:
    assert extract('{"city": "\ud83d"}') == Data({"city": "\ud83d"})
    assert extract('{"city": "\ud83d') is None


def test_the_first_of_several_values_that_fits_is_used() -> None:
    data = extract('First {"draft": 1}, then {"city": "Bern"}.', lambda value: "city" in value)
    assert data and data.value == {"city": "Bern"}


def test_a_remark_in_brackets_comes_after_an_object() -> None:
    data = extract('As [1, 2] say: {"a": 1}')
    assert data and data.value == {"a": 1}


def test_recorded_texts_are_read_as_their_tier_demands(recorded: Any) -> None:
    right, total, slowest = Counter[str](), Counter[str](), 0.0
    for line in recorded("json_extract.jsonl"):
        began = time.process_time()
        data = extract(line["input"])
        slowest = max(slowest, time.process_time() - began)
        total[line["tier"]] += 1
        wanted = line["expected"]
        right[line["tier"]] += data is not None and data.value == wanted["value"] if "value" in wanted else data is None
    for tier in ("valid-json", "must-extract", "must-fail-or-none"):
        assert right[tier] == total[tier], tier
    assert right["should-extract"] >= 0.9 * total["should-extract"]
    assert slowest < 2


@pytest.mark.parametrize(
    "text",
    [
        "{" * 300_000,
        "[" * 300_000,
        '{"a":' * 60_000,
        '{"a": "' + 'x"' * 100_000,
        "```" * 100_000,
        "{'" * 100_000,
        '["\\' * 80_000,
        '{"a": [' + "1," * 100_000,
        "{a:" * 30_000 + "}" * 30_000,
        "[1, " * 25_000,
        '{"a": "b" ' * 10_000,
        "/*{" * 50_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    extract(text)
    assert time.process_time() - began < 2
