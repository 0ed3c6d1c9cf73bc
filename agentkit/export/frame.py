"""A trace as a data frame with one row per entry, for counting and comparing."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.core.secrets import mask, mask_json
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.export import parts
from agentkit.export.protocols import RunLike
from agentkit.journal.entries import Entry

COLUMNS = ("number", "kind", "role", "text", "tool", "arguments", "ok", "author", "seconds", "input", "output", "cost")


def to_frame(run: RunLike) -> Any:
    """Return the trace as a pandas DataFrame with one row per entry. Raises `UsageError` if pandas is not installed."""
    return frame_of(records(run.entries), COLUMNS)


def frame_of(records: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> Any:
    """Return records as a pandas DataFrame, with these columns or those of the records.

    Raises `UsageError` if pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise UsageError('a data frame needs pandas: pip install "jupyter-agentkit[frame]"') from error
    return pandas.DataFrame(list(records), columns=None if columns is None else list(columns))


def records(entries: list[Entry]) -> list[dict[str, Any]]:
    """Return one record per entry; `tool`, `arguments` and `ok` are None if no tool was called."""
    return [_record(number, entry) for number, entry in enumerate(entries)]


def _record(number: int, entry: Entry) -> dict[str, Any]:
    usage, call, message = entry.usage or Usage(), None, None
    if entry.kind == "act":
        call, message = entry.step.call, entry.result  # type: ignore[union-attr]
    return {
        "number": number,
        "kind": entry.kind,
        "role": entry.step.role if entry.step else "",
        "text": mask(_result_text(entry)),
        "tool": call.name if call else None,
        "arguments": mask_json(call.arguments) if call else None,
        "ok": message.ok if message else None,
        "author": entry.author,
        "seconds": entry.ended - entry.started,
        "input": usage.input,
        "output": usage.output,
        "cost": usage.cost,
    }


def _result_text(entry: Entry) -> str:
    """Return the thought, the observation or the reply; for other kinds, the task or the answer."""
    if entry.kind in ("think", "act"):
        return str(entry.result.text)
    return entry.result if entry.kind == "ask" else parts.parts_of(entry).line
