"""The pieces of a reply that is requested again: the view discards what it has shown of the first attempt."""

from __future__ import annotations

from typing import Any

from agentkit.view.streams import Streams


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
