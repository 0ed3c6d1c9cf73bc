"""The pieces of a reply that is requested again: the view discards what it has shown of the first attempt."""

from __future__ import annotations

from typing import Any

from agentkit.view.streams import Streams


def kinds(streams: Streams) -> list[str]:
    return [change["k"] for change in streams.changes(True)]


def piece(text: str, again: str = "") -> dict[str, Any]:
    return {"path": "", "index": 0, "text": text, "reasoning": "", "again": again}


def test_the_pieces_of_a_broken_reply_are_discarded_before_those_of_the_new_one() -> None:
    streams = Streams()
    streams.add(piece("half"))
    assert [(change["k"], change.get("text")) for change in streams.changes(True)] == [("delta", "half")]
    streams.add(piece("", again="the connection broke"))
    streams.add(piece("whole"))
    assert [(change["k"], change.get("text")) for change in streams.changes(True)] == [
        ("undelta", None),
        ("delta", "whole"),
    ]
    assert [stream["text"] for stream in streams.now()] == ["whole"] and streams.changes(True) == []


def test_a_reply_that_has_been_recorded_is_discarded_by_the_pages_that_show_a_part_of_it() -> None:
    streams = Streams()
    streams.add(piece("half"))
    assert kinds(streams) == ["delta"]
    streams.add(piece("the rest"))
    streams.end("", 0)
    assert kinds(streams) == ["undelta"] and kinds(streams) == []


def test_a_reply_of_which_nothing_was_sent_leaves_nothing_to_discard() -> None:
    streams = Streams()
    streams.add(piece("whole"))
    streams.end("", 0)
    assert kinds(streams) == []
