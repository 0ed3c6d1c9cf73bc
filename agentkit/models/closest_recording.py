"""Say which recording is nearest to a request that was not recorded, and what differs."""

from __future__ import annotations

import difflib
import json
from typing import Any

_LOOKED_AT = 200
_COMPARED = 1_500
_LINES = 24
_WIDTH = 160


def describe_miss(asked: dict[str, Any], recorded: list[dict[str, Any]], where: str) -> str:
    """Say that a request is not on the tape, which recording is nearest, and where they part."""
    if not recorded:
        return f"{where} holds no recording at all"
    near = nearest(asked, recorded)
    head = f"{where} holds {len(recorded)} recordings, but not this request. The nearest is number {near + 1}; it differs in:"
    return "\n".join([head, *differences(recorded[near], asked)])


def nearest(asked: dict[str, Any], recorded: list[dict[str, Any]]) -> int:
    """Give the place of the recording whose last messages are most like those that were asked."""
    wanted = _end(asked)
    matcher = difflib.SequenceMatcher(autojunk=True)
    matcher.set_seq2(wanted)

    def likeness(place: int) -> tuple[float, int]:
        matcher.set_seq1(_end(recorded[place]))
        size = abs(len(_messages(recorded[place])) - len(_messages(asked)))
        return matcher.quick_ratio(), -size

    places = range(max(0, len(recorded) - _LOOKED_AT), len(recorded))
    return max(places, key=likeness)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """List what differs, in few lines: first the messages, then everything else that is sent."""
    lines: list[str] = []
    old, new = _messages(before), _messages(after)
    if len(old) != len(new):
        lines.append(f"- messages: recorded {len(old)}, asked {len(new)}")
    for n, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            lines += [f"- message {n + 1}:", *_diff(_pretty(one), _pretty(other))]
            break
    for name in sorted((before.keys() | after.keys()) - {"messages"}):
        if before.get(name) != after.get(name):
            lines += [f"- {name}:", *_diff(_pretty(before.get(name)), _pretty(after.get(name)))]
    return lines[: 2 * _LINES]


def _diff(before: str, after: str) -> list[str]:
    old, new = ([line[:_WIDTH] for line in text.splitlines()[:400]] for text in (before, after))
    changed = list(difflib.unified_diff(old, new, "recorded", "asked", lineterm="", n=1))
    return [f"    {line}" for line in changed[:_LINES]] or ["    (further on in the text than is compared here)"]


def _pretty(value: Any) -> str:
    written = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    return written.replace("\\n", "\n")


def _messages(request: dict[str, Any]) -> list[Any]:
    found = request.get("messages")
    return found if isinstance(found, list) else []


def _end(request: dict[str, Any]) -> str:
    return "".join(str(message)[-_COMPARED:] for message in _messages(request)[-2:])
