"""The list of the runs in a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentkit.core.declared_types import LATEST, type_problem
from agentkit.core.secrets import mask_json
from agentkit.errors import JournalDamaged, Unknown
from agentkit.journal.chain import START, TREE, Chain, link, since
from agentkit.journal.entries import NO_TAGS, NOT_BEGUN, Note, Row, RunInfo
from agentkit.journal.heads import Head, Heads, clock
from agentkit.journal.lock import folder_of_locks, is_held

_ROWS = f"FROM rows WHERE rows.id BETWEEN runs.tree << {TREE} AND (runs.tree + 1 << {TREE}) - 1"
_LIST = f"""
SELECT run, status, updated, info, trees.name, holder, (SELECT max(rows.id) {_ROWS}) - (runs.tree << {TREE}),
  (SELECT at {_ROWS} AND rows.run = runs.run ORDER BY rows.id DESC LIMIT 1)
FROM runs JOIN trees ON trees.id = runs.tree"""
_NAMED = "WHERE runs.run >= ?1 AND runs.run < ?1 || '~'"  # names of runs are of characters before the tilde
_LAST = f"""
SELECT runs.run, last.id - (runs.tree << {TREE}), last.at, last.body, last.hash,
  (SELECT hash FROM rows WHERE id = last.id - 1)
FROM runs JOIN rows AS last ON last.id = (SELECT rows.id {_ROWS} AND rows.run = runs.run ORDER BY rows.id DESC LIMIT 1)
{_NAMED}"""


def infos(db: sqlite3.Connection, run: str = "", *, prefix: str = "") -> list[RunInfo]:
    """Return the list of runs, newest first, or only the run that is named, or those whose names begin so."""
    if run:
        cursor = db.execute(f"{_LIST} WHERE run = ?", (run,))
    else:
        cursor = db.execute(f"{_LIST} {_NAMED}", (plain(prefix),)) if prefix else db.execute(_LIST)
    lines = [info_of(*line) for line in cursor]
    return sorted(lines, key=lambda info: info.updated, reverse=True)


def line_of(info: RunInfo, mask: Callable[[str], str] | None) -> str:
    """Return the JSON of what is stored about a run beside its own columns, with its secrets masked."""
    columns = ("run", "tree", "status", "rows", "updated", "holder")
    line = {name: value for name, value in asdict(info).items() if name not in columns and (value or name != "tags")}
    return json.dumps(mask_json(line, mask) if mask else line)


def info_of(
    run: str,
    status: str,
    updated: float,
    info: str,
    tree: str,
    holder: str,
    rows: int | None,
    at: float | None,
) -> RunInfo:
    """Return a line of the list of runs; one that cannot be read is "damaged". `holder` is the last process."""
    try:
        data: dict[str, Any] = json.loads(info)
        status = NOT_BEGUN if at is None else status
        latest = max(updated, at or 0.0)
        line = RunInfo(**data, run=run, tree=tree, status=status, rows=rows or 0, updated=latest, holder=holder)
        if type_problem(line, RunInfo) or not 0 <= line.created < LATEST:
            raise ValueError
    except (ValueError, TypeError, RecursionError):  # the other runs are listed nevertheless
        last = updated if isinstance(updated, float) else 0.0
        line = RunInfo(str(run), str(tree), "", "", "", "damaged", rows or 0, 0.0, last)
    return line


def closing_notes(db: sqlite3.Connection, kind: str, prefix: str) -> dict[str, Note]:
    """Return the notes of this kind that are the last row of their run, by run, if they are as they were written."""
    return sound_notes(kind, db.execute(_LAST, (plain(prefix),)))


def sound_notes(kind: str, lines: Iterable[Any]) -> dict[str, Note]:
    """Return the notes of this kind among the last rows of runs: run, number, time, body, hash, and hash before it."""
    found = dict[str, Note]()
    for run, number, at, body, mark, before in lines:
        try:
            if link(before or START, number, run, at, body) != mark:
                continue
            data = json.loads(body)
            if data.get("note") == kind and isinstance(data["data"], dict):
                found[run] = Note(kind, data["data"], data["at"], run, number)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # an entry, or a row that is damaged
            continue
    return found


def listed(
    db: sqlite3.Connection | None, path: Path, prefix: str = "", tags: Mapping[str, str] = NO_TAGS
) -> list[RunInfo]:
    """Return the runs that fit, newest first, with the status of those whose process did not end them.

    "interrupted" is a run whose process died while it was running, and "not begun" one that has no row yet. A run whose
    last rows are missing is "damaged"; one that is missing altogether is "lost", and is listed only among all runs.
    """
    locks, heads = folder_of_locks(path), Heads(path)
    trees = heads.trees()
    if prefix:
        own = {info.tree for info in infos(db, prefix=prefix)} if db is not None else set()
        trees = [tree for tree in trees if tree in own]
    before = {tree: heads.peek(tree) for tree in trees}  # first: a run may be written meanwhile
    found = [info for info in infos(db, prefix=prefix) if info.fits(prefix, tags)] if db is not None else []
    for info in found:
        info.holder = info.holder if info.holder and is_held(locks, info.run) else ""
        if before.get(info.tree, 0) > info.rows:
            info.status = "damaged"
        elif info.status == "running" and not info.holder:
            info.status = "interrupted"
        if info.status == NOT_BEGUN and info.tree not in before:  # its rows may be where its head is
            info.status = "interrupted"
    for tree in () if prefix or tags else before.keys() - {info.tree for info in found}:
        if before[tree] and (head := lost_run(heads, tree)) is not None:  # it was not created or deleted just now
            found.append(RunInfo(tree, tree, "", "", "", "lost", 0, head.at, head.at))
    return sorted(found, key=lambda info: info.updated, reverse=True)


def find(db: sqlite3.Connection, heads: Heads, run: str) -> tuple[int, str]:
    """Return the number and the name of a run's tree. Raises `Unknown`, or `JournalDamaged` if the run is lost."""
    found = db.execute(
        "SELECT trees.id, trees.name FROM runs JOIN trees ON trees.id = runs.tree WHERE run = ?", (plain(run),)
    ).fetchone()
    if found is None:
        is_deleted = db.execute("SELECT 1 FROM trees WHERE name = ?", (plain(run),)).fetchone()  # its forks are not
        if not is_deleted:
            check_lost(heads, run)
        raise Unknown(
            "run", run, [name for (name,) in db.execute("SELECT run FROM runs ORDER BY updated DESC LIMIT 20")]
        )
    return int(found[0]), str(found[1])


def read_more(db: sqlite3.Connection, heads: Heads, run: str, tree: int, chain: Chain) -> list[Row]:
    """Return the rows of a tree that a chain has not read yet. Raises `Unknown` if the run was deleted meanwhile."""
    if find(db, heads, run)[0] != tree:
        raise Unknown("run", run, (), "it was deleted, and another run has its name")
    return chain.take(*since(db, tree, chain.number))


def check_lost(heads: Heads, run: str) -> None:
    """Raise `JournalDamaged` if a run is missing of which rows were synced."""
    head = lost_run(heads, plain(run))
    if head is not None:
        raise JournalDamaged(
            f"run {run} is lost: all its rows are missing, {head.number} of which were synced by {clock(head.at)}",
            run=run,
            row=1,
        )


def lost_run(heads: Heads, tree: str) -> Head | None:
    """Return the head of a tree that is not in the journal; None if none of its rows was synced."""
    try:
        head = heads.get(tree)
    except ValueError:
        return Head()
    return head if head is not None and head.number else None


def plain(text: str) -> str:
    """Return a text that SQLite accepts: lone surrogates are escaped."""
    return text.encode(errors="backslashreplace").decode()
