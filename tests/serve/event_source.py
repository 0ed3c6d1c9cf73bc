"""A reader of server-sent events, written from the HTML standard (section 9.2, "Server-sent events") alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


@dataclass
class Message:
    """An event as a browser dispatches it; `last_id` is what the browser sends as Last-Event-ID if it then reconnects."""

    event: str
    data: str
    last_id: str

    @property
    def json(self) -> Any:
        """The data, read strictly."""
        return json.loads(self.data, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def messages(stream: bytes, last_id: str = "") -> list[Message]:
    """Return the events of a stream that has ended; what is not complete at its end is dropped."""
    text = stream.decode("utf-8")  # strictly
    result: list[Message] = []
    data: list[str] = []
    event = ""
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    for line in lines[:-1]:
        if not line:
            if data:
                result.append(Message(event or "message", "\n".join(data), last_id))
            data, event = [], ""
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif name == "id" and "\0" not in value:
            last_id = value
        else:
            assert name in ("", "retry"), line
    assert lines[-1] == "" and not data, "the stream ends within an event"
    return result
