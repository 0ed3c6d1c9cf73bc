"""Explain a request that was not recorded: which recording comes closest to it, and how they differ."""

from __future__ import annotations

import difflib
import json
from typing import Any

_MAX_RECORDINGS = 200  # compared: the last ones
_MAX_CHARACTERS = 1_500  # compared of each of the last two messages
_MAX_LINES = 24
_MAX_WIDTH = 160


def describe_miss(asked: dict[str, Any], recorded: list[dict[str, Any]], where: str) -> str:
    """Return a description of a request that is not on a tape: the closest recording, and the differences."""
    if not recorded:
        return f"{where} contains no recording at all"
    index = closest(asked, recorded)
    head = (
        f"{where} contains {len(recorded)} recordings, but not this request. "
        f"The closest is number {index + 1}; it differs in:"
    )
    return "\n".join([head, *differences(recorded[index], asked)])


def closest(asked: dict[str, Any], recorded: list[dict[str, Any]]) -> int:
    """Return the index of the recording whose last messages are most like those of the request."""
    matcher = difflib.SequenceMatcher(autojunk=True)
    matcher.set_seq2(_last_messages(asked))

    def likeness(index: int) -> tuple[float, int]:
        matcher.set_seq1(_last_messages(recorded[index]))
        more_messages = abs(len(_messages(recorded[index])) - len(_messages(asked)))
        return matcher.quick_ratio(), -more_messages

    return max(range(max(0, len(recorded) - _MAX_RECORDINGS), len(recorded)), key=likeness)


def differences(recorded: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """Return the differences in a few lines: first those in the messages, then those in everything else
    that is sent.
    """
    lines: list[str] = []
    old, new = _messages(recorded), _messages(asked)
    if len(old) != len(new):
        lines.append(f"- messages: recorded {len(old)}, asked {len(new)}")
    for number, (before, after) in enumerate(zip(old, new, strict=False), 1):
        if before != after:
            lines += [f"- message {number}:", *_diff(_pretty(before), _pretty(after))]
            break
    for name in sorted((recorded.keys() | asked.keys()) - {"messages"}):
        if recorded.get(name) != asked.get(name):
            lines += [f"- {name}:", *_diff(_pretty(recorded.get(name)), _pretty(asked.get(name)))]
    return lines[: 2 * _MAX_LINES]


def _diff(recorded: str, asked: str) -> list[str]:
    old, new = ([line[:_MAX_WIDTH] for line in text.splitlines()[:400]] for text in (recorded, asked))
    changes = list(difflib.unified_diff(old, new, "recorded", "asked", lineterm="", n=1))
    return [f"    {line}" for line in changes[:_MAX_LINES]] or ["    (they differ further on than is compared here)"]


def _pretty(value: Any) -> str:
    written = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    return written.replace("\\n", "\n")


def _messages(request: dict[str, Any]) -> list[Any]:
    messages = request.get("messages")
    return messages if isinstance(messages, list) else []


def _last_messages(request: dict[str, Any]) -> str:
    return "".join(str(message)[-_MAX_CHARACTERS:] for message in _messages(request)[-2:])
