"""The list of the runs in a file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from agentkit.errors import Unknown
from agentkit.journal.chain import TREE
from agentkit.journal.entries import RunInfo
from agentkit.journal.lock import is_held

_ROWS = f"FROM rows WHERE rows.id BETWEEN runs.tree << {TREE} AND (runs.tree + 1 << {TREE}) - 1"
_LIST = f"""
SELECT run, status, updated, info, trees.name, (SELECT max(rows.id) {_ROWS}) - (runs.tree << {TREE}),
  (SELECT at {_ROWS} AND rows.run = runs.run ORDER BY rows.id DESC LIMIT 1)
FROM runs JOIN trees ON trees.id = runs.tree"""


def infos(db: sqlite3.Connection, run: str = "") -> list[RunInfo]:
    """Return the list of runs, newest first, or only the run that is named."""
    cursor = db.execute(f"{_LIST} WHERE run = ?", (run,)) if run else db.execute(_LIST)
    lines = [_info(*line) for line in cursor]
    return sorted(lines, key=lambda info: info.updated, reverse=True)


def _info(run: str, status: str, updated: float, info: str, tree: str, rows: int | None, at: float | None) -> RunInfo:
    try:
        data: dict[str, Any] = json.loads(info)
        line = RunInfo(**data, run=run, tree=tree, status=status, rows=rows or 0, updated=max(updated, at or 0.0))
    except (ValueError, TypeError):  # the other runs are listed nevertheless
        line = RunInfo(run, tree, "", "", "", "damaged", rows or 0, 0.0, updated)
    return line


def listed(found: list[RunInfo], locks: Path) -> list[RunInfo]:
    """Return a list of runs in which a run whose process died while it was running is "interrupted"."""
    for info in found:
        if info.status == "running" and not is_held(locks, info.run):
            info.status = "interrupted"
    return found


def tree_of(db: sqlite3.Connection, run: str) -> int:
    """Return the number of a run's tree. Raises `Unknown`."""
    row = db.execute("SELECT tree FROM runs WHERE run = ?", (plain(run),)).fetchone()
    if row is None:
        raise Unknown(
            "run", run, [name for (name,) in db.execute("SELECT run FROM runs ORDER BY updated DESC LIMIT 20")]
        )
    return int(row[0])


def plain(text: str) -> str:
    """Return a text that SQLite accepts: lone surrogates are escaped."""
    return text.encode(errors="backslashreplace").decode()
