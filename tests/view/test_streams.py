"""Pieces of a reply that is asked for again: a view takes back what it has shown."""

from __future__ import annotations

from typing import Any

from agentkit.view.streams import Streams


def piece(text: str, again: str = "") -> dict[str, Any]:
    return {"path": "", "index": 0, "text": text, "reasoning": "", "again": again}


def test_what_came_before_is_taken_back_and_then_the_new_reply_shown() -> None:
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
