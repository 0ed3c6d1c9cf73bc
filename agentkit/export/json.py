"""A run as JSON data and back: all rows of its tree, encoded as in the journal and chained by digests.

    {"format": "agentkit.run", "version": 2, "run": ..., "tree": ..., "runs": [...], "line": [...],
     "rows": [...], "digest": ...}

`runs` are the runs of the tree (`run`, `parent`, `task`, `engine`, `model`, `status`, `created`, and `tags` if there
are any), and `line` contains the numbers of those rows that are the trace of `run`, in order. A row has its number
`id`, its `run`, its content as the journal encodes it (`row`), the messages and tools that it is the first to refer to
(`new`), and a `digest` of all that and of the row before it.
"""

from __future__ import annotations

import base64
import json
import os
import uuid
import zlib
from typing import Any

from agentkit.core import outside, secrets
from agentkit.core.messages import canonical, digest
from agentkit.core.steps import Answer, Think
from agentkit.errors import JournalDamaged, UsageError
from agentkit.export import files
from agentkit.export.protocols import RunLike
from agentkit.gates.guards import disallow
from agentkit.journal.check import Checker, runs_problem
from agentkit.journal.entries import ASKED_AGAIN, Entry, Journal, Note, Row, RunInfo
from agentkit.journal.json_lines import dumps
from agentkit.journal.reader import InvalidRow, Reader
from agentkit.journal.writer import Writer

FORMAT, VERSION = "agentkit.run", 2
_KEYS = ("run", "tree", "runs", "line", "rows", "digest")
_RUN_KEYS = ("run", "parent", "task", "engine", "model", "status", "created")
_MAX_TEXT = 32 << 20
_MAX_DEPTH = 60  # what is nested more deeply stays text, so that any JSON reader can read the rest


# -- writing -----------------------------------------------------------------------------------------------------------


def to_json(run: RunLike, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> dict[str, Any]:
    """Return everything that is recorded of a run, and of the runs that share its tree, as JSON data; secrets are
    masked. Write it to `path` if there is one.
    """
    data = _recorded(run)
    if path is not None:
        files.write(path, "json", json.dumps(data, indent=1) + "\n", overwrite=overwrite)
    return data


def _recorded(run: RunLike) -> dict[str, Any]:
    writer, records, last_digest, rows = Writer(secrets.mask), [], "", _rows(run)
    for row in rows:
        _compute_chat_digests(row)
        first, *new = writer.encode(row).split("\n")
        writer.keep()
        record: dict[str, Any] = {"id": row.id, "run": row.run, "row": _data(first)}
        if new:
            record["new"] = [_data(line) for line in new]
        record["digest"] = last_digest = _chained_digest(last_digest, record)
        records.append(record)
    return {
        "format": FORMAT,
        "version": VERSION,
        "run": run.id,
        "tree": run.tree_id,
        "runs": _runs(run, {row.run for row in rows}),
        "line": [entry.id for entry in run.entries],
        "rows": records,
        "digest": last_digest,
    }


def _compute_chat_digests(row: Row) -> None:
    """Compute the digests of a row's chats, so that their encoding does not depend on which were computed before."""
    for value in (row.step, row.performed, row.result) if isinstance(row, Entry) else ():
        if isinstance(value, Think | Answer):
            _ = value.chat.digest


def _rows(run: RunLike) -> list[Row]:
    """Return all rows of the tree, numbered from 1 without gaps."""
    trace = run.trace
    if trace.journal is None:
        return trace.tree.rows
    try:
        return trace.journal.rows(run.id)
    except JournalDamaged as damage:
        return damage.sound


def _runs(run: RunLike, ids: set[str]) -> list[dict[str, Any]]:
    """Return the runs of the tree; for one that was deleted from the journal, little more than its id."""
    journal, spec = run.trace.journal, run.task
    task = next((message["text"] for message in reversed(spec["task"]) if message["role"] == "user"), "")
    runs: dict[str, dict[str, Any]] = {
        id: dict(zip(_RUN_KEYS, (id, "", task, spec["engine"], spec["model"], "stopped", 0.0), strict=True))
        for id in sorted({run.id, *ids})
    }
    for info in journal.runs() if journal is not None else ():
        if info.tree == run.tree_id:
            tags = {"tags": dict(info.tags)} if info.tags else {}
            runs[info.run] = {key: getattr(info, key) for key in _RUN_KEYS} | tags
    if not run.read_only:
        runs[run.id]["status"] = run.status
    return secrets.mask_json(sorted(runs.values(), key=lambda info: (info["created"], info["run"])))


def _data(line: str) -> Any:
    """Return the data of a line if encoding it again gives the same line, else the line itself."""
    try:
        data = json.loads(line)
        is_same = dumps(data) == line if "entry" in data or "note" in data else canonical(data).decode() == line
    except RecursionError:
        return line
    return data if is_same and not _is_deep(data) else line


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(_MAX_DEPTH):
        if not level:
            return False
        containers = [
            item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)
        ]
        level = [item for container in containers for item in container]
    return bool(level)


def _chained_digest(last_digest: str, record: dict[str, Any]) -> str:
    return digest(canonical([last_digest, record["id"], record["run"], record["row"], record.get("new", [])]))


# -- reading -----------------------------------------------------------------------------------------------------------


def rows_of(data: Any) -> list[Row]:
    """Return the rows of a run from data of `to_json`, oldest first. Raises `UsageError` that says what is damaged."""
    _check_head(data)
    reader, checker, rows, last_digest, as_text = Reader(), Checker(), list[Row](), "", 0
    for number, record in enumerate(data["rows"], 1):
        try:
            as_text += _size_of_text(record)
            if as_text > _MAX_TEXT:
                raise InvalidRow(f"has too many values that are stored as text, more than {_MAX_TEXT >> 20} MB")
            row, last_digest = _row(record, number, last_digest, reader)
            if problem := checker.problem(row):
                raise InvalidRow(problem)
        except InvalidRow as invalid:
            raise _damaged(number, str(invalid)) from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise _damaged(number, f"cannot be read ({type(error).__name__}: {str(error)[:200]})") from error
        rows.append(row)
    if data["digest"] != last_digest:
        raise _damaged(len(rows) + 1, "is missing, and possibly more rows after it")
    _check_line(data, rows)
    return rows


def line_of(data: dict[str, Any]) -> list[Any]:
    """Return the entries of the trace in new data of `to_json`, as they will be read back."""
    reader, rows = Reader(), {}
    for record in data["rows"]:
        rows[record["id"]] = _decode(record, reader)
    return [rows[number] for number in data["line"]]


def _row(record: Any, number: int, last_digest: str, reader: Reader) -> tuple[Row, str]:
    for name in ("id", "run", "row", "digest"):
        if name not in record:
            raise _damaged(number, f"has no {name!r}")
    if record["id"] != number:
        raise _damaged(number, f"is missing: row {record['id']!r} comes instead")
    if record["digest"] != (new_digest := _chained_digest(last_digest, record)):
        raise _damaged(number, "was changed, or a row before it was removed")
    return _decode(record, reader), new_digest


def _size_of_text(record: Any) -> int:
    """Return about how many bytes the values take that a record contains as text: nobody has counted them yet."""
    data = [record["row"], *record.get("new", ())]
    texts = [item.get("verbatim", "") if isinstance(item, dict) else item for item in data]
    return sum(
        outside.values_size(text.encode(errors="surrogatepass")) for text in texts if isinstance(text, str) and text
    )


def _decode(record: Any, reader: Reader) -> Row:
    lines = _line(record["row"], dumps), *(_line(data, _canonical) for data in record.get("new", ()))
    row = reader.decode("\n".join(lines))
    row.id, row.run = record["id"], record["run"]
    return row


def _line(data: Any, encode: Any) -> str:
    line = data if isinstance(data, str) else encode(data)
    if "\n" in line:
        raise ValueError("there is a line break in a line")
    return line


def _canonical(data: Any) -> str:
    return canonical(data).decode()


def _check_head(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(
            f"this is not a recording of a run: its 'format' should be {FORMAT!r}; export one with run.to_json()"
        )
    version = data.get("version")
    if version != VERSION:
        needed = "a newer" if isinstance(version, int) and version > VERSION else "an older"
        raise UsageError(
            f"the recording has version {version!r}, but this agentkit reads version {VERSION}; install {needed} one"
        )
    for name in _KEYS:
        if name not in data:
            raise UsageError(f"the recording has no {name!r}; export the run again")
    if not isinstance(data["rows"], list) or not data["rows"]:
        raise UsageError("the recording has no rows; export the run again")


def _check_line(data: dict[str, Any], rows: list[Row]) -> None:
    if problem := runs_problem(data["runs"]):
        raise UsageError(f"the list 'runs' of the recording {problem}; export the run again")
    known = {info["run"] for info in data["runs"]}
    if unknown := {data["run"] if isinstance(data["run"], str) else "", *(row.run for row in rows)} - known:
        raise UsageError(f"run {min(unknown)!r} is missing from the list 'runs' of the recording; export the run again")
    line = data["line"]
    if not isinstance(line, list) or not line or not all(_is_entry(rows, number) for number in line):
        raise UsageError("the 'line' of the recording contains numbers that are not entries; export the run again")


def _is_entry(rows: list[Row], number: Any) -> bool:
    return isinstance(number, int) and 0 < number <= len(rows) and isinstance(rows[number - 1], Entry)


def _damaged(number: int, problem: str) -> UsageError:
    return UsageError(f"row {number} of the recording {problem}; export the run again")


def adopt(data: Any, journal: Journal) -> str:
    """Add a recording to a journal, with new ids because its runs may already be there; return the new id of its run.

    Raises `UsageError` as `rows_of` does, and `JournalError` if the journal cannot be written; then nothing is added.
    """
    rows = rows_of(data)
    ids = {info["run"]: uuid.uuid4().hex[:12] for info in data["runs"]}
    created: list[str] = []
    try:
        for info in sorted(
            data["runs"], key=lambda info: bool(info["run"] != data["run"])
        ):  # it gives the tree its name
            id, parent = ids[info["run"]], ids.get(info["parent"], info["parent"])
            status = "paused" if info["status"] == "running" else info["status"]
            times = info["created"], info["created"]
            about = info["task"], info["engine"], info["model"], status
            journal.create(RunInfo(id, ids[data["run"]], *about, 0, *times, parent, info.get("tags", {})))
            created.append(id)
        for row in rows:
            row.run = ids[row.run]
            if isinstance(row, Note) and row.kind == ASKED_AGAIN:
                row.data = {**row.data, "of": ids.get(row.data["of"], row.data["of"])}
            disallow(row)
            journal.append(row, sync=False)
    except BaseException:
        for id in created:
            journal.release(id)
            journal.delete(id)
        raise
    for id in created:
        journal.release(id)
    return ids[data["run"]]


# -- packing for the cell of a notebook --------------------------------------------------------------------------------


def pack(data: dict[str, Any]) -> str:
    """Return a recording, compressed, in one line of letters, digits, `+`, `/` and `=`.

    It is not compressed so far that `unpack` would refuse it.
    """
    content = json.dumps(data, separators=(",", ":")).encode()
    packed = base64.b64encode(zlib.compress(content, 9)).decode()
    if outside.memory_needed(content) > outside.memory_limit(len(packed)):
        return base64.b64encode(zlib.compress(content, 0)).decode()
    return packed


def unpack(packed: str) -> Any:
    """Return the recording from the result of `pack`. Raises `UsageError` if it is damaged, or too large."""
    try:
        limit = outside.memory_limit(len(packed))
        decompressor = zlib.decompressobj()
        content = decompressor.decompress(base64.b64decode(packed, validate=True), limit // outside.PER_BYTE)
        if not decompressor.eof:
            raise ValueError(f"it is incomplete, or it would need more than {limit >> 20:,} MB of memory")
        return outside.parse_json(content, len(packed))
    except (ValueError, zlib.error) as error:
        raise UsageError(f"the packed recording is damaged ({error}); export the run again") from error
