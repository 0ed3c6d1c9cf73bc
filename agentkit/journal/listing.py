"""The list of the runs in a file."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from agentkit.core.declared_types import LATEST, type_problem
from agentkit.journal.chain import TREE
from agentkit.journal.entries import NOT_BEGUN, RunInfo

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
        status = NOT_BEGUN if at is None else status
        line = RunInfo(**data, run=run, tree=tree, status=status, rows=rows or 0, updated=max(updated, at or 0.0))
        if type_problem(line, RunInfo) or not 0 <= line.created < LATEST:
            raise ValueError
    except (ValueError, TypeError, RecursionError):  # the other runs are listed nevertheless
        last = updated if isinstance(updated, float) else 0.0
        line = RunInfo(str(run), str(tree), "", "", "", "damaged", rows or 0, 0.0, last)
    return line
