"""Entries as the JSON data that a view draws; the shapes are those of `Card` in widgets/src/protocol.ts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.messages import Call
from agentkit.core.secrets import mask_json
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.export import items
from agentkit.export.html import frame_document
from agentkit.export.tables import Table
from agentkit.journal.entries import Entry, untold_reason
from agentkit.trace.line import lane_of
from agentkit.view.numbers import marked
from agentkit.view.words import lane_text, role_title, tag_texts

MAX_TEXT = 20_000
"""The most characters of one text in a card; `full_text` returns the whole of it."""
_MAX_ROWS, _MAX_COLUMNS, _MAX_ITEM = 200, 40, 2_000_000

NO_PARTS: Mapping[str, int] = {}
_TAGS_OF_OTHER_STEPS = {"plan", "plan_needs", "plan_states", "scores", "pruned", "chosen"}
"""Tags that the overviews draw and that describe other steps: a thought with `pruned` is not pruned itself."""

Data = dict[str, Any]


def card(entry: Entry, number: int, parts: Mapping[str, int] = NO_PARTS) -> Data:
    """Return the card of an entry at position `number` of the trace; `parts` are those of `lane_text`."""
    data = _common(entry, number, parts)
    data.update(_CONTENT[entry.kind](entry))
    _truncate(data)
    return data


def full_text(entry: Entry, field: str) -> str:
    """Return one text of an entry in full. Raises `UsageError` if the field is not a text."""
    text = _texts(_CONTENT[entry.kind](entry)).get(field)
    if text is None:
        raise UsageError(f"an entry of kind {entry.kind!r} has no text {field!r}")
    return text


def map_letter(entry: Entry) -> str:
    """Return the letter of an entry on the time slider: one for its kind, "x" for a failed action and "h" for a thought
    that heard an injected message; a capital if edited.
    """
    failed = entry.kind == "act" and not entry.result.ok
    heard = entry.kind == "think" and bool(entry.result.heard)
    letter = (
        "x" if failed else "h" if heard else {"begin": "b", "think": "t", "act": "a", "ask": "q"}.get(entry.kind, "c")
    )
    return letter.upper() if entry.original else letter


def call_data(call: Call) -> Data:
    """Return a tool call; secrets in its arguments are masked, also those that only the name of an argument reveals,
    and numbers that JavaScript would change are marked.
    """
    data: Data = {"name": call.name, "arguments": marked(mask_json(call.arguments)), "id": call.id}
    if call.problem:
        data["problem"] = call.problem
    if call.coerced:
        data["coerced"] = list(call.coerced)
    if call.problem and call.raw:
        data["raw"] = call.raw[:MAX_TEXT]
    return data


def usage_data(usage: Usage | None) -> Data | None:
    """Return the tokens, price and number of model calls."""
    return {name: getattr(usage, name) for name in Usage.__slots__} if usage is not None else None


def _common(entry: Entry, number: int, parts: Mapping[str, int]) -> Data:
    return {
        "id": entry.id,
        "n": number,
        "kind": "conclude" if entry.kind == "end" else entry.kind,
        "role": entry.step.role if entry.step is not None else "",
        "path": entry.path,
        "index": entry.index,
        "lane": lane_of(entry.path),
        "lane_text": lane_text(lane_of(entry.path), parts),
        "title": role_title(entry.step.role) if entry.kind == "think" and entry.step is not None else "",
        "tags": tag_texts(_own_tags(entry.step.tags)) if entry.step is not None else [],
        "author": entry.author,
        "original": entry.original,
        "reason": entry.reason if entry.original else untold_reason(entry),
        "repeats": entry.repeats > 0 and not entry.original,
        "seconds": round(max(0.0, entry.ended - entry.started), 6),
    }


def _own_tags(tags: Mapping[str, Any]) -> Data:
    others = [name for name in _TAGS_OF_OTHER_STEPS if isinstance(tags.get(name), dict | list | tuple)]
    return {name: value for name, value in tags.items() if name not in others and value is not None and value != ""}


def _begin(entry: Entry) -> Data:
    return {"messages": [{"role": message["role"], "text": message["text"]} for message in entry.result["task"]]}


def _think(entry: Entry) -> Data:
    reply = entry.result
    return {
        "text": reply.text or ("" if reply.calls or reply.reasoning else reply.raw),
        "reasoning": reply.reasoning,
        "calls": [call_data(call) for call in reply.calls],
        "answer": reply.answer,
        "cut": reply.cut,
        "problems": list(reply.problems),
        "heard": [message.text for message in reply.heard],
        "model": entry.model,
        "dialect": entry.dialect,
        "usage": usage_data(entry.usage),
        "tokens": len(reply.tokens),
        **({} if entry.temperature is None else {"temperature": entry.temperature}),
    }


def _act(entry: Entry) -> Data:
    step: Any = entry.step
    message = entry.result
    shown = [_ITEM_DATA[type(item)](item) for item in items.items(message)]
    if not shown and isinstance(message.value, dict | list):
        shown = _json(message.value)
    return {"call": call_data(step.call), "ok": message.ok, "text": message.text, "items": shown}


def _json(value: Any) -> list[Data]:
    """Return a value as a tree; nothing if it is large, or contains an integer that Python does not write."""
    try:
        encoded = json.dumps(value, default=str)
    except ValueError:
        return []
    return [{"type": "json", "value": json.loads(encoded)}] if len(encoded) <= MAX_TEXT else []


def _ask(entry: Entry) -> Data:
    step: Any = entry.step
    return {"question": step.question, "choices": list(step.choices), "text": str(entry.result)}


def _conclude(entry: Entry) -> Data:
    step: Any = entry.step
    return {"answer": step.answer, "more": entry.result.text if entry.result else None}


def _end(entry: Entry) -> Data:
    return {"answer": entry.result.answer, "more": None}


def _table(table: Table) -> Data:
    rows = [row[:_MAX_COLUMNS] for row in table.rows[:_MAX_ROWS]]
    more = max(0, len(table.rows) - _MAX_ROWS)
    return {"type": "table", "header": table.header[:_MAX_COLUMNS], "rows": rows, "more": more}


def _image(image: items.Image) -> Data:
    if len(image.data) > _MAX_ITEM:
        return _too_large(image.mime)
    return {"type": "image", "mime": image.mime, "data": image.data}


def _page(page: items.Page) -> Data:
    if len(page.source) > _MAX_ITEM:
        return _too_large("text/html")
    return {"type": "page", "srcdoc": frame_document(page.source)}


def _source(source: items.Source) -> Data:
    return {"type": "source", "mime": source.mime, "text": source.text[:MAX_TEXT]}


def _too_large(mime: str) -> Data:
    return {"type": "source", "mime": mime, "text": "This output is too large to show here."}


_CONTENT: dict[str, Callable[[Entry], Data]] = {
    "begin": _begin,
    "think": _think,
    "act": _act,
    "ask": _ask,
    "conclude": _conclude,
    "end": _end,
}
_ITEM_DATA: dict[Any, Callable[[Any], Data]] = {
    Table: _table,
    items.Image: _image,
    items.Page: _page,
    items.Source: _source,
}


def _texts(data: Data) -> dict[str, str]:
    """Return the texts of a card by field; those of a task are "message0" and so on."""
    messages = {f"message{number}": message["text"] for number, message in enumerate(data.get("messages", ()))}
    return messages | {field: text for field, text in data.items() if isinstance(text, str)}


def _truncate(data: Data) -> None:
    long = {field: len(text) for field, text in _texts(data).items() if len(text) > MAX_TEXT}
    for field in long.keys() & data.keys():
        data[field] = data[field][:MAX_TEXT]
    for message in data.get("messages", ()):
        message["text"] = message["text"][:MAX_TEXT]
    if long:
        data["long"] = long
