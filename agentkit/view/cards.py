"""An entry as the JSON data that a view draws; the shapes are those of `Card` in widgets/src/protocol.ts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.messages import Call
from agentkit.core.secrets import mask_json
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.export import rich
from agentkit.export.html import document
from agentkit.journal.entries import Entry
from agentkit.trace.line import lane_of

LIMIT = 20_000
"""Characters of one text in a card; `whole` gives the rest on demand."""
_ROWS, _COLUMNS, _ITEM = 200, 40, 2_000_000

_OF_OTHERS = {"plan", "plan_states", "scores", "pruned", "chosen"}
"""Tags that the pictures draw, and that say nothing of the step that wears them: a thought with `pruned` need not be pruned."""

Data = dict[str, Any]


def card(entry: Entry, number: int) -> Data:
    """Give the card of an entry that stands at place `number` of the trace."""
    data = _common(entry, number)
    data.update(_OF[entry.kind](entry))
    _shorten(data)
    return data


def whole(entry: Entry, field: str) -> str:
    """Give one text of an entry, uncut. Raises `UsageError` for a field that holds no text."""
    text = _texts(_OF[entry.kind](entry)).get(field)
    if text is None:
        raise UsageError(f"an entry of kind {entry.kind} has no text {field!r}")
    return text


def letter(entry: Entry) -> str:
    """Give the letter of an entry on the map: what it is, an action that failed as "x", and a capital where it was edited."""
    failed = entry.kind == "act" and not entry.result.ok
    found = "x" if failed else {"begin": "b", "think": "t", "act": "a", "ask": "q"}.get(entry.kind, "c")
    return found.upper() if entry.original else found


def call(asked: Call) -> Data:
    """Give a tool call; secrets in its arguments are masked, by their names too."""
    data: Data = {"name": asked.name, "arguments": mask_json(asked.arguments), "id": asked.id}
    if asked.problem:
        data["problem"] = asked.problem
    if asked.coerced:
        data["coerced"] = list(asked.coerced)
    if asked.problem and asked.raw:
        data["raw"] = asked.raw[:LIMIT]
    return data


def usage(used: Usage | None) -> Data | None:
    """Give what a model call used up."""
    return {name: getattr(used, name) for name in Usage.__slots__} if used is not None else None


def _common(entry: Entry, number: int) -> Data:
    return {
        "id": entry.id,
        "n": number,
        "kind": "conclude" if entry.kind == "end" else entry.kind,
        "role": entry.step.role if entry.step is not None else "",
        "path": entry.path,
        "index": entry.index,
        "lane": lane_of(entry.path),
        "tags": _marks(entry.step.tags) if entry.step is not None else {},
        "author": entry.author,
        "original": entry.original,
        "reason": entry.reason,
        "seconds": round(max(0.0, entry.ended - entry.started), 6),
    }


def _marks(tags: Mapping[str, Any]) -> Data:
    of_others = [name for name in _OF_OTHERS if isinstance(tags.get(name), dict | list | tuple)]
    return {name: value for name, value in tags.items() if name not in of_others and value is not None and value != ""}


def _begin(entry: Entry) -> Data:
    return {"messages": [{"role": message["role"], "text": message["text"]} for message in entry.result["task"]]}


def _think(entry: Entry) -> Data:
    reply = entry.result
    return {
        "text": reply.text or ("" if reply.calls or reply.reasoning else reply.raw),
        "reasoning": reply.reasoning,
        "calls": [call(asked) for asked in reply.calls],
        "answer": reply.answer,
        "cut": reply.cut,
        "problems": list(reply.problems),
        "heard": [message.text for message in reply.heard],
        "model": entry.model,
        "dialect": entry.dialect,
        "usage": usage(entry.usage),
    }


def _act(entry: Entry) -> Data:
    step: Any = entry.step
    message = entry.result
    items = [_ITEMS[type(item)](item) for item in rich.items(message)]
    if not items and isinstance(message.value, dict | list):
        written = json.dumps(message.value, default=str)
        items = [{"type": "json", "value": json.loads(written)}] if len(written) <= LIMIT else []
    return {"call": call(step.call), "ok": message.ok, "text": message.text, "items": items}


def _ask(entry: Entry) -> Data:
    step: Any = entry.step
    return {"question": step.question, "choices": list(step.choices), "text": str(entry.result)}


def _conclude(entry: Entry) -> Data:
    step: Any = entry.step
    return {"answer": step.answer, "more": entry.result.text if entry.result else None}


def _end(entry: Entry) -> Data:
    return {"answer": entry.result.answer, "more": None}


def _table(table: rich.Table) -> Data:
    rows = [row[:_COLUMNS] for row in table.rows[:_ROWS]]
    return {"type": "table", "header": table.header[:_COLUMNS], "rows": rows, "more": max(0, len(table.rows) - _ROWS)}


def _image(image: rich.Image) -> Data:
    return {"type": "image", "mime": image.mime, "data": image.data} if len(image.data) <= _ITEM else _large(image.mime)


def _page(page: rich.Page) -> Data:
    return {"type": "page", "srcdoc": document(page.source)} if len(page.source) <= _ITEM else _large("text/html")


def _source(source: rich.Source) -> Data:
    return {"type": "source", "mime": source.mime, "text": source.text[:LIMIT]}


def _large(mime: str) -> Data:
    return {"type": "source", "mime": mime, "text": "too large to be shown here"}


_OF: dict[str, Callable[[Entry], Data]] = {
    "begin": _begin,
    "think": _think,
    "act": _act,
    "ask": _ask,
    "conclude": _conclude,
    "end": _end,
}
_ITEMS: dict[Any, Callable[[Any], Data]] = {
    rich.Table: _table,
    rich.Image: _image,
    rich.Page: _page,
    rich.Source: _source,
}


def _texts(data: Data) -> dict[str, str]:
    """Give the texts of a card by their fields; those of a task are "message0" and so on."""
    messages = {f"message{number}": message["text"] for number, message in enumerate(data.get("messages", ()))}
    return messages | {field: text for field, text in data.items() if isinstance(text, str)}


def _shorten(data: Data) -> None:
    long = {field: len(text) for field, text in _texts(data).items() if len(text) > LIMIT}
    for field in long.keys() & data.keys():
        data[field] = data[field][:LIMIT]
    for message in data.get("messages", ()):
        message["text"] = message["text"][:LIMIT]
    if long:
        data["long"] = long
