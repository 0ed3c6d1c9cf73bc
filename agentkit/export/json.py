"""A run as JSON data and back: all rows of its tree in the journal's own spelling, each vouching for the one before it.

    {"format": "agentkit.run", "version": 2, "run": ..., "tree": ..., "runs": [...], "line": [...], "rows": [...], "digest": ...}

`runs` are the runs of the tree (`run`, `parent`, `task`, `engine`, `model`, `status`, `created`), `line` the numbers of
the rows that are the trace of `run`, in order. A row holds its number `id`, its `run`, what the journal writes about it
(`row`), what it was the first to name (`new`: messages and tools), and a `digest` of all that and of the row before.
"""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from typing import Any

from agentkit.core import secrets
from agentkit.core.messages import canonical, digest
from agentkit.core.steps import Answer, Think
from agentkit.errors import JournalDamaged, UsageError
from agentkit.export import check
from agentkit.export.held import HeldRun
from agentkit.journal.entries import Entry, Journal, Note, Row, RunInfo
from agentkit.journal.json_lines import dumps
from agentkit.journal.reader import Reader
from agentkit.journal.writer import Writer

FORMAT, VERSION = "agentkit.run", 2
_KEYS = ("run", "tree", "runs", "line", "rows", "digest")
_ABOUT = ("run", "parent", "task", "engine", "model", "status", "created")
_DEEPEST = 60  # what is nested deeper stays a text, so that any reader of JSON can read the rest
_LARGEST = 1 << 30  # bytes that a packed recording may unpack to


# -- writing -------------------------------------------------------------------------------------------------------------


def to_json(run: HeldRun) -> dict[str, Any]:
    """Give all that is recorded of a run, and of the runs that share its tree, as JSON data; secrets are masked."""
    writer, records, before, rows = Writer(secrets.mask), [], "", _rows(run)
    for row in rows:
        _name_chats(row)
        first, *new = writer.encode(row).split("\n")
        writer.keep()
        record: dict[str, Any] = {"id": row.id, "run": row.run, "row": _data(first)}
        if new:
            record["new"] = [_data(line) for line in new]
        record["digest"] = before = _link(before, record)
        records.append(record)
    return {
        "format": FORMAT,
        "version": VERSION,
        "run": run.id,
        "tree": run.tree_id,
        "runs": _runs(run, {row.run for row in rows}),
        "line": [entry.id for entry in run.entries],
        "rows": records,
        "digest": before,
    }


def _name_chats(row: Row) -> None:
    """Compute the digests of a row's chats, so that how they are spelled does not depend on who has asked for them before."""
    for value in (row.step, row.performed, row.result) if isinstance(row, Entry) else ():
        if isinstance(value, Think | Answer):
            _ = value.chat.digest


def _rows(run: HeldRun) -> list[Row]:
    """All rows of the tree, numbered from 1 without a gap; a run without a journal has them in its hands."""
    trace = run.trace
    if trace.journal is not None:
        try:
            return trace.journal.rows(run.id)
        except JournalDamaged as damage:
            return damage.sound
    kept: dict[int, Row] = {**trace.tree.entries, **{note.id: note for note in trace.injections.notes.values()}}
    rows = [kept.get(number) or Note("status", {}, 0.0, run.id, number) for number in range(1, trace.latest + 1)]
    line = [entry.id for entry in trace.line.entries]
    return [*rows, Note("head", {"keep": 0, "then": line, "why": "exported"}, 0.0, run.id, trace.latest + 1)]


def _runs(run: HeldRun, named: set[str]) -> list[dict[str, Any]]:
    """Say what the runs are that the rows name; of one that the journal has forgotten, only that it was there."""
    journal, spec = run.trace.journal, run.task
    task = next((message["text"] for message in reversed(spec["task"]) if message["role"] == "user"), "")
    found: dict[str, dict[str, Any]] = {
        name: dict(zip(_ABOUT, (name, "", task, spec["engine"], spec["model"], "stopped", 0.0), strict=True))
        for name in sorted({run.id, *named})
    }
    for info in journal.runs() if journal is not None else ():
        if info.tree == run.tree_id:
            found[info.run] = {name: getattr(info, name) for name in _ABOUT}
    found[run.id]["status"] = run.status
    return secrets.mask_json(sorted(found.values(), key=lambda about: (about["created"], about["run"])))


def _data(line: str) -> Any:
    """Give a line as the data that it spells, where that gives the line back; else as the text that it is."""
    try:
        data = json.loads(line)
        same = dumps(data) == line if "entry" in data or "note" in data else canonical(data).decode() == line
    except RecursionError:
        return line
    return data if same and _is_flat(data) else line


def _is_flat(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        if not level:
            return True
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [item for each in inner for item in each]
    return not level


def _link(before: str, record: dict[str, Any]) -> str:
    return digest(canonical([before, record["id"], record["run"], record["row"], record.get("new", [])]))


# -- reading -------------------------------------------------------------------------------------------------------------


def rows_of(data: Any) -> list[Row]:
    """Give the rows of a run that `to_json` gave, oldest first. Raises `UsageError`, which names what is missing or damaged."""
    _check_head(data)
    reader, rows, before = Reader(), list[Row](), ""
    for number, record in enumerate(data["rows"], 1):
        try:
            row, before = _row(record, number, before, reader)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise _damaged(
                f"row {number}", f"cannot be understood ({type(error).__name__}: {str(error)[:200]})"
            ) from error
        if problem := check.row(row, rows):
            raise _damaged(f"row {number}", problem)
        rows.append(row)
    if data["digest"] != before:
        raise _damaged(f"row {len(rows) + 1}", "is missing, and maybe more behind it")
    _check_line(data, rows)
    return rows


def line_of(data: dict[str, Any]) -> list[Any]:
    """Give the entries of the trace of a recording that was made just now, as they will be read back."""
    reader, rows = Reader(), {}
    for record in data["rows"]:
        rows[record["id"]] = _decode(record, reader)
    return [rows[number] for number in data["line"]]


def _row(record: Any, number: int, before: str, reader: Reader) -> tuple[Row, str]:
    for name in ("id", "run", "row", "digest"):
        if name not in record:
            raise _damaged(f"row {number}", f"has no {name!r}")
    if record["id"] != number:
        raise _damaged(f"row {number}", f"is missing: number {record['id']!r} stands in its place")
    if record["digest"] != (link := _link(before, record)):
        raise _damaged(f"row {number}", "was changed, or a row before it was taken out")
    known = len(reader.stored)
    row = _decode(record, reader)
    for value in list(reader.stored.values())[known:]:
        if problem := check.stored(value):
            raise _damaged(f"row {number}", problem)
    return row, link


def _decode(record: Any, reader: Reader) -> Row:
    row = reader.decode(
        "\n".join((_line(record["row"], dumps), *(_line(each, _canonical) for each in record.get("new", ()))))
    )
    row.id, row.run = record["id"], record["run"]
    return row


def _line(data: Any, write: Any) -> str:
    line = data if isinstance(data, str) else write(data)
    if "\n" in line:
        raise ValueError("a line holds a line break")
    return line


def _canonical(data: Any) -> str:
    return canonical(data).decode()


def _check_head(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(
            f"this is no recording of a run: its 'format' should be {FORMAT!r}; export one with run.to_json()"
        )
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(
            f"this recording is of version {version!r}, and this agentkit reads {VERSION}; install a newer agentkit"
        )
    for name in _KEYS:
        if name not in data:
            raise UsageError(f"the recording has no {name!r}; export the run again")
    if not isinstance(data["rows"], list) or not data["rows"]:
        raise UsageError("the recording has no rows; export the run again")


def _check_line(data: dict[str, Any], rows: list[Row]) -> None:
    if problem := check.about(data["runs"]):
        raise UsageError(f"the recording's 'runs' {problem}; export the run again")
    named = {about["run"] for about in data["runs"]}
    if unknown := {data["run"] if isinstance(data["run"], str) else "", *(row.run for row in rows)} - named:
        raise UsageError(f"the recording does not say what run {min(unknown)!r} is: it is missing in 'runs'")
    line = data["line"]
    if not isinstance(line, list) or not line or not all(_is_entry(rows, number) for number in line):
        raise UsageError("the recording's 'line' names rows that are no entries of it; export the run again")


def _is_entry(rows: list[Row], number: Any) -> bool:
    return isinstance(number, int) and 0 < number <= len(rows) and isinstance(rows[number - 1], Entry)


def _damaged(where: str, how: str) -> UsageError:
    return UsageError(f"{where} of the recording {how}; export the run again")


def adopt(data: Any, journal: Journal) -> str:
    """Put a recording into a journal, under new names, since its runs may be there; give the new name of its run.

    Raises `UsageError` as `rows_of` does, and `JournalError` where the journal cannot be written; then nothing is left in it.
    """
    rows = rows_of(data)
    names = {about["run"]: uuid.uuid4().hex[:12] for about in data["runs"]}
    created: list[str] = []
    try:
        for about in data["runs"]:
            name, parent = names[about["run"]], names.get(about["parent"], about["parent"])
            status = "paused" if about["status"] == "running" else about["status"]
            times = about["created"], about["created"]
            what = about["task"], about["engine"], about["model"], status
            journal.create(RunInfo(name, names[data["run"]], *what, 0, *times, parent))
            created.append(name)
        for row in rows:
            row.run = names[row.run]
            journal.append(row, sync=False)
    except BaseException:
        for name in created:
            journal.release(name)
            journal.delete(name)
        raise
    for name in created:
        journal.release(name)
    return names[data["run"]]


# -- packed, for the cell of a notebook ----------------------------------------------------------------------------------


def pack(data: dict[str, Any]) -> str:
    """Compress a recording into one line of letters, digits, `+`, `/` and `=`."""
    return base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)).decode()


def unpack(text: str) -> Any:
    """Undo `pack`. Raises `UsageError` where the text is damaged."""
    try:
        opened = zlib.decompressobj()
        found = opened.decompress(base64.b64decode(text, validate=True), _LARGEST)
        if not opened.eof:
            raise ValueError("it is cut off, or too large")
        return json.loads(found)
    except (ValueError, zlib.error, RecursionError) as error:
        raise UsageError(f"the packed recording is damaged ({error}); export the run again") from error
