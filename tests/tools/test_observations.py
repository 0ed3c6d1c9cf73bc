import collections
import datetime
import decimal
import enum
import json
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentkit.core.messages import Call, message_from_json, message_to_json
from agentkit.errors import ArgumentsError
from agentkit.tools.observations import (
    NOTHING_RETURNED,
    clip,
    invalid_arguments,
    not_found,
    raised,
    rejected,
    returned,
    skipped,
    timed_out,
)

CALL = Call("f", {}, "id1")


class Unshowable:
    def __repr__(self):
        raise ValueError("no")


class Exiting:
    def __repr__(self):
        raise SystemExit(3)


class ExitingHtml:
    def _repr_html_(self):
        raise SystemExit(3)


class NoClass:
    @property
    def __class__(self):
        raise RuntimeError("no class")


class Endless(list):
    def __iter__(self):
        while True:
            yield 1

    def __len__(self):
        return 2**62


class Html:
    def _repr_html_(self):
        return "<b>hi</b>"


class Table(Html):
    def __str__(self):
        return "a b\n1 2"


class Bundle:
    title = "Map"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": "<i>", "image/png": b"\x89PNG", "application/json": {"n": float("nan")}}, {}


class Plain:
    pass


@dataclass
class Data:
    a: int
    b: Any = None


@dataclass(repr=False)
class Quiet:
    a: int


NO_TEXT = "[an object of type Plain, which has no text of its own]"
ABOUT = "[Artifact generated: {}] The user sees it ({}). Refer to it; do not write it out."


class Model(BaseModel):
    x: float = 1.0
    raw: bytes = b"ok"


class Lying(dict):
    def items(self):
        raise RuntimeError("changed")


PAGE = "<!DOCTYPE html><html><head><title>Rain &amp; sun</title><style>b{}</style></head><body><p>May<br>3 mm</body></html>"


class Color(enum.Enum):
    RED = "red"


Pair = collections.namedtuple("Pair", "left right")
cycle: list[Any] = [1]
cycle.append({"again": cycle})
deep: list[Any] = []
for _ in range(100_000):
    deep = [deep]

HOSTILE = [
    (None, NOTHING_RETURNED, None),
    ("", NOTHING_RETURNED, None),
    (" \n", NOTHING_RETURNED, None),
    (b"", NOTHING_RETURNED, None),
    ("as it is\n ", "as it is\n ", None),
    ("\ud83d\ude00 é", "😀 é", None),
    ("x\ud83d", "x\ufffd\n[invalid characters that were replaced by \ufffd: 1]", None),
    (12, "12", None),
    (1.5, "1.5", None),
    (True, "true", None),
    (float("nan"), "NaN", None),
    (float("-inf"), "-Infinity", None),
    (10**6000, "[an integer of 19,932 bits, too long to write out]", None),
    (b"text", "text", {"bytes": 4}),
    (b"\x00\xff", "[2 bytes of binary data]", {"bytes": 2}),
    ([], "[]", []),
    ({"a": (1, "é", None)}, '{"a": [1, "é", null]}', {"a": [1, "é", None]}),
    (
        {"n": float("nan"), (1, 2): 3, 4: {1, 2}},
        '{"n": "NaN", "[1, 2]": 3, "4": [1, 2]}',
        {"n": "NaN", "[1, 2]": 3, "4": [1, 2]},
    ),
    (cycle, '[1, {"again": "[a cycle: this list again]"}]', [1, {"again": "[a cycle: this list again]"}]),
    (Unshowable(), "<Unshowable object that cannot be shown: its text raised ValueError>", None),
    (Data(1, Plain()), f'{{"a": 1, "b": "{NO_TEXT}"}}', {"a": 1, "b": NO_TEXT}),
    (Quiet(1), '{"a": 1}', {"a": 1}),
    (Model(), '{"x": 1.0, "raw": "ok"}', {"x": 1.0, "raw": "ok"}),
    (
        Model(x=float("inf"), raw=b"\xff"),
        '{"x": "Infinity", "raw": "[1 bytes of binary data]"}',
        {"x": "Infinity", "raw": "[1 bytes of binary data]"},
    ),
    (Pair(1, "r"), '{"left": 1, "right": "r"}', {"left": 1, "right": "r"}),
    (Color.RED, "red", None),
    (datetime.date(2024, 1, 2), "2024-01-02", None),
    (datetime.datetime(2024, 1, 2, 3), "2024-01-02T03:00:00", None),
    (decimal.Decimal("1.10"), "1.10", None),
    (Path("a") / "b", str(Path("a") / "b"), None),
    (collections.deque([1]), "[1]", [1]),
    (SimpleNamespace(a=1), "namespace(a=1)", None),
    (ValueError("x"), "ValueError: x", None),
    (re.compile("a"), "re.compile('a')", None),
    (Table(), f"{ABOUT.format('Table', 'text/html')}\na b\n1 2", {"mime": {"text/html": "<b>hi</b>"}}),
]


@pytest.mark.parametrize(("value", "text", "data"), HOSTILE, ids=lambda v: type(v).__name__)
def test_each_kind_of_value_is_observed_truthfully(value, text, data):
    seen = returned(CALL, value)
    assert (seen.text, seen.value) == (text, data)
    assert (seen.role, seen.call_id, seen.name, seen.ok) == ("tool", "id1", "f", True)


def storable(message):
    message.text.encode()
    stored = json.dumps(message_to_json(message), ensure_ascii=False, allow_nan=False)
    stored.encode()
    assert message_from_json(json.loads(stored)) == message


@pytest.mark.parametrize(
    "value",
    [
        *(row[0] for row in HOSTILE),
        *(deep, Lying(a=1), Bundle(), (n for n in "a"), object, "\0", Plain(), lambda: 1),
        *("<html>" + "<" * 100_000 + ">", "<p " * 100_000 + ">", "<html><!--" * 9_000 + ">", b"\xff\xd8\xff", PAGE),
    ],
    ids=lambda v: type(v).__name__,
)
def test_whatever_is_returned_can_be_stored_and_read_back(value):
    storable(returned(CALL, value))


@pytest.mark.parametrize("make", [Exiting, ExitingHtml, NoClass, Endless])
def test_an_object_whose_methods_raise_anything_or_never_end_can_be_stored(make):
    for value in (make(), [make()], {"k": make()}, Data(make())):
        storable(returned(CALL, value))


@settings(max_examples=200)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.dates()
        | st.builds(Unshowable),
        lambda v: (
            st.lists(v) | st.tuples(v, v) | st.dictionaries(st.text(st.characters()) | st.integers() | st.none(), v)
        ),
        max_leaves=12,
    )
)
def test_any_value_can_be_stored_and_read_back(value):
    storable(returned(CALL, value))


def test_an_artifact_is_a_short_line_for_the_model_and_data_for_the_screen():
    seen = returned(CALL, Html())
    assert seen.text.startswith("[Artifact generated: Html] ") and "<b>" not in seen.text
    assert seen.value == {"mime": {"text/html": "<b>hi</b>"}}
    seen = returned(CALL, Bundle())
    assert seen.text.startswith("[Artifact generated: Map] ")
    assert seen.value["mime"] == {"text/html": "<i>", "image/png": "iVBORw==", "application/json": {"n": "NaN"}}


@pytest.mark.parametrize(
    "value",
    [Plain(), lambda: 1, (n for n in "a"), threading.Lock(), Plain().__init__, object()],
    ids=lambda v: str(type(v)),
)
def test_an_object_without_a_text_is_an_error_that_says_what_to_return(value):
    seen = returned(CALL, value)
    assert not seen.ok and " at 0x" not in seen.text
    assert re.match(
        r"Error: tool 'f' ran, but the model cannot read .* of type \S+ has no text of its own\.", seen.text
    )
    assert "A tool returns data (a dict, a list, a dataclass, a pydantic model …)" in seen.text


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [
        (PAGE, "Rain & sun", "May 3 mm"),
        (PAGE.encode(), "Rain & sun", "May 3 mm"),
        (f"\ufeff \n{PAGE}\n", "Rain & sun", "May 3 mm"),
        ("<HTML ><p>x</html>", "HTML", "x"),
        ("<table><tr><td>Bern<td>3</table>", "HTML", "Bern 3"),
        ("<b>x</b><!-- <b>no</b> --><i>y</i><script>no()</script>", "HTML", "x y"),
        ("<b>x</b><!-- <!-- <b>no</b> -->y</b>", "HTML", "x y"),
    ],
)
def test_a_page_as_a_text_is_an_artifact_whose_visible_text_the_model_reads(value, name, shown):
    seen = returned(CALL, value)
    assert seen.text == f"{ABOUT.format(name, 'text/html')}\n{shown}"
    page = value.decode() if isinstance(value, bytes) else value
    assert seen.value == {"mime": {"text/html": page}} and seen.ok


@pytest.mark.parametrize(
    "text", ["a < b", "<answer>4</answer>", "<p", "<html> is a tag", "<br> and more", '{"a": "<p>"}']
)
def test_a_text_that_is_no_page_is_read_as_it_is(text):
    assert (returned(CALL, text).text, returned(CALL, text).value) == (text, None)


@pytest.mark.parametrize(
    ("content", "mime"),
    [(b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF89a", "image/gif")],
)
def test_the_bytes_of_a_picture_are_an_artifact(content, mime):
    seen = returned(CALL, content + b"\0")
    assert seen.text == ABOUT.format("picture", mime) and list(seen.value["mime"]) == [mime]


def test_a_page_that_is_too_long_to_store_is_an_artifact_too():
    seen = returned(CALL, f"<html>{'<p>a</p>' * 1_000_000}</html>")
    assert seen.text.startswith(ABOUT.format("HTML", "text/html")) and len(seen.text) < 2_300
    assert seen.value["mime"]["text/html"].endswith("more characters were not stored]")
    assert returned(CALL, "<p>\ud800</p>").text.startswith(ABOUT.format("HTML", "text/html"))


def test_a_name_that_cannot_be_read_does_not_lose_the_picture():
    class Nameless:
        def _repr_png_(self):
            return b"\x89PNG"

        @property
        def filename(self):
            raise SystemExit

    assert returned(CALL, Nameless()).text == ABOUT.format("Nameless", "image/png")


def test_a_tool_may_declare_what_is_an_artifact():
    assert returned(CALL, PAGE, artifact=False).text == PAGE
    assert returned(CALL, Table(), artifact=False).text == "a b\n1 2"
    written = returned(CALL, "# Report", artifact=True)
    assert written.text == f"{ABOUT.format('text', 'text/markdown')}\n# Report"
    assert written.value == {"mime": {"text/markdown": "# Report"}}


def test_the_model_reads_the_beginning_of_a_long_artifact_and_the_trace_keeps_all_of_it():
    class Long(Html):
        def __str__(self):
            return "x" * 9_000

    seen = returned(CALL, Long())
    assert len(seen.text) < 2_300 and seen.text.endswith("[Truncated] 7,000 of 9,000 characters are not shown.")
    assert seen.value["mime"]["text/plain"] == "x" * 9_000
    page = f"<html>{'<p>x</p>' * 9_000}</html>"
    seen = returned(CALL, page)
    assert len(seen.text) < 2_300 and seen.value["mime"]["text/html"] == page


def test_a_later_change_of_the_value_does_not_change_the_observation():
    rows = {"a": [1]}
    seen = returned(CALL, rows)
    rows["a"].append(2)
    assert seen.value == {"a": [1]}


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000_000,
        "é" * 20_000_000,
        b"x" * 100_000_000,
        list(range(3_000_000)),
        {"a": [["x" * 1000] * 1000] * 50},
        {"k": "x" * 20_000_000},
    ],
    ids=["text", "wide text", "bytes", "list", "nested", "long value"],
)
def test_part_of_a_huge_value_is_stored_and_the_text_says_so(value):
    start = time.process_time()
    seen = returned(CALL, value)
    assert len(seen.text) < 5_001_000
    assert "not stored" in seen.text
    assert len(json.dumps(seen.value)) < 6_000_000
    assert time.process_time() - start < 5


def test_a_long_text_is_kept_in_full_and_clipped_only_for_the_model():
    text = "x" * 60_000
    assert returned(CALL, text).text == text
    assert clip(text) == "x" * 50_000 + "\n[Truncated] 10,000 of 60,000 characters are not shown."
    assert clip(text, 60_000) == text
    assert clip("abc", 2) == "ab\n[Truncated] 1 of 3 characters are not shown."


def caught(error, cause=None):
    try:
        raise error from cause
    except type(error) as raised_error:
        return raised_error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("k"), "KeyError: 'k'"),
        (caught(RuntimeError("cannot load"), KeyError("k")), "RuntimeError: cannot load (caused by KeyError: 'k')"),
        (TimeoutError(), "TimeoutError"),
        (SystemExit(3), "SystemExit: 3"),
        (
            ExceptionGroup("two", [KeyError("k"), ValueError("v")]),
            "ExceptionGroup: two (2 sub-exceptions) [KeyError: 'k'; ValueError: v]",
        ),
        (ValueError("\ud83d"), "ValueError: \ufffd\n[invalid characters that were replaced by \ufffd: 1]"),
    ],
)
def test_a_failure_names_the_root_cause(error, text):
    seen = raised(CALL, error)
    assert (seen.text, seen.ok) == (f"Error: tool 'f' failed: {text}", False)
    storable(seen)


def test_an_error_whose_text_raises_is_still_observed():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert raised(CALL, Mute()).text.startswith("Error: tool 'f' failed: Mute: ")


def test_a_circle_of_causes_ends():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert raised(CALL, one).text.startswith("Error: tool 'f' failed: ValueError: one")


def test_the_other_ways_in_which_a_call_can_end():
    missing = not_found(Call("serch"), ["search", "add"])
    assert (missing.text, missing.value, missing.ok) == ("Error: tool 'serch' not found.", {"nearest": "search"}, False)
    assert not_found(CALL, []).value is None
    assert "tool timed out after 120s" in timed_out(CALL, 120.0, is_pure=True).text
    assert "tool timed out after 0.1s" in timed_out(CALL, 0.1, is_pure=True).text
    assert timed_out(CALL, 2).text.endswith("did not finish within 2 s; it may have run, and may still take effect.")
    assert timed_out(CALL, 2).may_have_run and not timed_out(CALL, 2, is_pure=True).may_have_run
    assert "rejected by the operator" in rejected(CALL, "too dear").text and rejected(CALL, "too dear").text.endswith(
        "too dear"
    )
    assert skipped(CALL, "the limit was reached").text.endswith("was not run: the limit was reached")
    assert "n: is missing" in invalid_arguments(CALL, ArgumentsError("n: is missing")).text
    assert not any(
        message.ok
        for message in (
            timed_out(CALL, 1),
            rejected(CALL),
            skipped(CALL, ""),
            invalid_arguments(CALL, ArgumentsError("")),
        )
    )
