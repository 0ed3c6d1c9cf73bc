"""The audit log: a file of JSON lines that says which calls were asked about, decided, made and answered, and by whom.

It is kept apart from the journal, for people who have to show later what an agent was allowed to do. Each line has a
number, and contains the hash of the line before it, so that a line that is changed, removed or moved is noticed.
Several processes may write to one file. Secrets are masked before a line is hashed.

The hash of the last line is also kept in a seal in the folder of agentkit's own data: without it, or a hash that was
noted elsewhere, nobody can know that lines at the end are missing, or that all lines were written anew.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import itertools
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from agentkit.config import home
from agentkit.core import outside
from agentkit.core.secrets import mask, mask_json
from agentkit.core.text import counted
from agentkit.errors import AuditError, UsageError
from agentkit.inert import inert
from agentkit.journal.lock import lock_until_closed

START = "0" * 64
"""What the first line has in the place of the hash of a line before it."""

MAX_TEXT = 20_000
"""The most characters of the arguments of a call in a line; of longer ones it has the beginning and a digest."""

_SHOWN = 200
_BLOCK = 1 << 16
_END = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')


class Audit:
    """An audit log: a file to which lines are added; it is made when the first line is written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(outside.path_of(path, "an audit log")))

    @classmethod
    def of(cls, option: Any) -> Audit | None:
        """Return the audit log that an agent's option `audit` describes: a path, an `Audit`, or None."""
        return option if option is None or isinstance(option, Audit) else cls(option)

    @inert
    def __repr__(self) -> str:
        return f"Audit({str(self.path)!r})"

    def write(self, kind: str, run: str, **data: Any) -> None:
        """Add a line. Raises `AuditError` if it cannot be written; then the call that it is about must not be made."""
        now = time.time()
        moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
        about = {"at": moment, "pid": os.getpid(), "run": run, "kind": kind, **_shortened(mask_json(data))}
        try:
            with open(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600), "r+b", 0) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError("it is not a regular file")
                lock_until_closed(file.fileno())
                number, before, is_torn = _last(file)
                if (sealed := _seal_of(self.path)) is not None and sealed[0] >= number:
                    number, before = sealed  # if lines at the end were cut off, this line must not hide that
                content = json.dumps({"number": number + 1, **about, "before": before}, separators=(",", ":"))
                line, mark = _sealed_line(content)
                file.seek(0, os.SEEK_END)
                whole = (b"\n" if is_torn else b"") + line
                if file.write(whole) != len(whole):
                    raise OSError("the disk is full")
                with contextlib.suppress(OSError):  # the seal only helps to notice what is cut off at the end
                    _seal(self.path, number + 1, mark)
        except (OSError, ValueError) as error:
            raise AuditError(
                f"cannot write the audit log {self.path}: {error}; nothing is called without it"
            ) from error

    def lines(self, run: str, most: int = 200) -> list[dict[str, Any]]:
        """Return the last lines about a run, as data; those that cannot be read are left out. Raises `AuditError`."""
        try:
            read = [_data_of(line) for line in outside.read_file(self.path).split(b"\n")] if self.path.exists() else []
        except OSError as error:
            raise AuditError(f"cannot read the audit log {self.path}: {error}") from error
        return [data for data in read if data is not None and data.get("run") == run][-most:]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with an audit log: at which line of the file, or 0 for a line that is not there."""

    line: int
    number: int
    text: str

    @inert
    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Report:
    """The result of verifying an audit log: the number of its lines, the hash of the last one, and what is wrong.

    `cut` says what is known about lines that may be missing at the end.
    """

    path: Path
    lines: int
    last: str
    problems: list[Problem] = field(default_factory=list)
    cut: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @inert
    def __repr__(self) -> str:
        problems = "; ".join(str(problem) for problem in self.problems)
        return f"<Report {self.path}: {counted(self.lines, 'line')}, {problems or 'intact'}>"


@dataclass(slots=True)
class _Line:
    """A line of the file: `at` is its position, from 1; `number` is its own, 0 if it is not intact."""

    at: int
    number: int
    before: str
    mark: str
    claimed: int
    is_cut: bool


def verify(path: str | os.PathLike[str], last: str = "") -> Report:
    """Read an audit log, and return what was changed, removed, moved or added.

    `last` is a hash that one of the lines must have. Raises `UsageError` if there is no such file.
    """
    file = Path(os.path.abspath(outside.path_of(path, "an audit log")))
    try:
        lines = list(_read(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None
    intact = [line for line in lines if line.number]
    report = Report(file, len(lines), intact[-1].mark if intact else START)
    first_of: dict[int, _Line] = {}
    for line in intact:
        known = first_of.setdefault(line.number, line)
        if known is not line:
            same = (
                f"is the same as line {known.at}" if known.mark == line.mark else f"has the number of line {known.at}"
            )
            report.problems.append(Problem(line.at, line.number, f"line {line.at} was added: it {same}"))
    kept = [line for line in intact if first_of[line.number] is line]
    for line, due in zip(kept, sorted(kept, key=lambda other: other.number), strict=True):
        if line is not due:
            text = f"line {line.at} was moved: it was written as line {line.number}"
            report.problems.append(Problem(line.at, line.number, text))
    missing = _Missing(first_of)
    end = _name_damaged(lines, missing, report)
    for first, until in missing.ranges:
        report.problems.append(Problem(0, first, f"{_lines_text(first, until)} removed"))
    _check_links(first_of, report)
    _check_end(first_of, end, _seal_of(file), last, report)
    report.problems.sort(key=lambda problem: (problem.line or problem.number, problem.number))
    return report


class _Missing:
    """The numbers of lines that are not in a file although later ones are, as ranges with both ends, in order."""

    def __init__(self, numbers: Iterable[int]) -> None:
        known = [0, *sorted(numbers)]
        self.ranges = [(one + 1, other - 1) for one, other in itertools.pairwise(known) if other > one + 1]

    def take(self, number: int) -> bool:
        """Take a number out; return whether it was there."""
        at = bisect.bisect_right(self.ranges, number, key=lambda part: part[0]) - 1
        if at < 0 or number > self.ranges[at][1]:
            return False
        first, last = self.ranges[at]
        self.ranges[at : at + 1] = [part for part in ((first, number - 1), (number + 1, last)) if part[0] <= part[1]]
        return True

    def after(self, number: int) -> int:
        """Return the lowest number above another one; 0 if there is none."""
        at = bisect.bisect_right(self.ranges, number, key=lambda part: part[1])
        return max(self.ranges[at][0], number + 1) if at < len(self.ranges) else 0


def _lines_text(first: int, last: int) -> str:
    return f"line {first} was" if first == last else f"lines {first} to {last} were"


def _name_damaged(lines: list[_Line], missing: _Missing, report: Report) -> int:
    """Name each line that is not as it was written, and take its number off those that are missing.

    Return the highest number, including those of damaged lines at the end.
    """
    before, end = 0, max((line.number for line in lines), default=0)
    last_intact = max((line.at for line in lines if line.number), default=0)
    for line in lines:
        if line.number:
            before = max(before, line.number)
            continue
        if missing.take(line.claimed):
            number = line.claimed
        elif line.at > last_intact:
            end = number = end + 1
        else:
            number = missing.after(before)
            missing.take(number)
        was = f" (it was written as line {number})" if number not in (0, line.at) else ""
        what = "is cut off, or was not written to its end" if line.is_cut else "was changed"
        report.problems.append(Problem(line.at, number, f"line {line.at} {what}{was}"))
    return end


def _check_links(first_of: dict[int, _Line], report: Report) -> None:
    """Name each intact line that is not the one which the line after it was written after."""
    for number, line in sorted(first_of.items()):
        before = first_of.get(number - 1)
        if before is not None and line.before != before.mark:
            text = f"line {before.at} was changed, and its hash with it: line {line.at} was written after another line"
            report.problems.append(Problem(before.at, before.number, text))
        elif number == 1 and line.before != START:
            report.problems.append(Problem(line.at, 1, f"line {line.at} was changed: there were lines before it"))


def _check_end(first_of: dict[int, _Line], end: int, seal: tuple[int, str] | None, last: str, report: Report) -> None:
    """Compare the end with the seal, and with a hash that was noted elsewhere."""
    if last and all(line.mark != last for line in first_of.values()):
        text = "no line has the given hash: lines at the end were cut off, or lines were written anew"
        report.problems.append(Problem(0, end + 1, text))
    if seal is None:
        report.cut = (
            "" if last else "there is no seal of this file here: lines that are cut off at its end are not noticed"
        )
        return
    number, mark = seal
    if number > end:
        report.problems.append(Problem(0, end + 1, f"{_lines_text(end + 1, number)} removed from the end"))
    elif (sealed := first_of.get(number)) is not None and sealed.mark != mark:
        text = f"line {number} is not the one that was sealed: all lines from a changed one on were written anew"
        report.problems.append(Problem(sealed.at, number, text))


def _read(file: Path) -> Iterator[_Line]:
    """Yield the lines of a regular file; a device or a pipe might never end. Raises `OSError`."""
    with outside.open_file(file) as stream:
        for at, line in enumerate(stream, 1):
            is_ended = line.endswith(b"\n")
            text = line.rstrip(b"\n") if is_ended else line
            data = _data_of(text)
            claimed = _number_of(text)
            if data is None or not is_ended or line != text + b"\n":
                yield _Line(at, 0, "", "", claimed, not is_ended or _END.search(text) is None)
            else:
                yield _Line(at, data["number"], data["before"], data["hash"], claimed, False)


def _data_of(line: bytes) -> dict[str, Any] | None:
    """Return the data of a line; None if the line is not exactly as it was written."""
    end = _END.search(line)
    if end is None or hashlib.sha256(line[: end.start()]).hexdigest().encode() != end[1]:
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(data, dict) and type(data.get("number")) is int and data["number"] > 0
    return data if fits and isinstance(data.get("before"), str) else None


def _number_of(line: bytes) -> int:
    """Return the number that a line says it has, whether it is intact or not; 0 if it says none."""
    found = re.match(rb'\{"number":(\d{1,15}),', line)
    return int(found[1]) if found else 0


def _last(file: BinaryIO) -> tuple[int, str, bool]:
    """Return the number and the hash of the last intact line, and whether the file does not end with the end of one."""
    size = file.seek(0, os.SEEK_END)
    is_torn, start, tail = False, size, b""
    while start:
        step = min(_BLOCK, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
        is_torn = not tail.endswith(b"\n")
        lines = tail.split(b"\n")
        for line in reversed(lines if not start else lines[1:]):
            if line and (data := _data_of(line)) is not None:
                return data["number"], data["hash"], is_torn
    return 0, START, is_torn


def _sealed_line(content: str) -> tuple[bytes, str]:
    """Return a line with its hash, and the hash; `content` is a JSON object in ASCII."""
    body = content[:-1].encode()
    mark = hashlib.sha256(body).hexdigest()
    return body + b',"hash":"%b"}\n' % mark.encode(), mark


def _shortened(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a line, with the beginning and a digest of arguments that are very long."""
    if "arguments" in data:
        text = json.dumps(data["arguments"], default=str)
        if len(text) > MAX_TEXT:
            digest = hashlib.sha256(text.encode()).hexdigest()
            data = {**data, "arguments": {"beginning": text[:_SHOWN], "characters": len(text), "sha256": digest}}
        else:
            data = {**data, "arguments": json.loads(text)}
    return data


def about_result(text: str) -> dict[str, Any]:
    """Return what a line says about the result of a call: its beginning, its length and a digest."""
    hidden = mask(text)
    digest = hashlib.sha256(hidden.encode(errors="surrogatepass")).hexdigest()
    return {"result": hidden[:_SHOWN], "characters": len(hidden), "sha256": digest}


# -- the seal ----------------------------------------------------------------------------------------------------------


def _seal_path(path: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(path).encode(errors="surrogateescape")).hexdigest()[:32]
    return home() / "audit" / f"{name}.seal"


def _seal(path: Path, number: int, mark: str) -> None:
    """Note the number and the hash of the last line, beside the runs of the person."""
    seal = _seal_path(path)
    text = f"{number:020} {mark} {path}\n".encode(errors="surrogateescape")
    for attempt in (1, 2):
        try:
            file = os.open(seal, os.O_WRONLY | os.O_CREAT, 0o600)
            break
        except FileNotFoundError:
            if attempt == 2:
                raise
            seal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.write(file, text)
    finally:
        os.close(file)


def _seal_of(path: Path) -> tuple[int, str] | None:
    try:
        number, mark, _ = _seal_path(path).read_text(errors="replace").split(" ", 2)
        return int(number), mark
    except (OSError, ValueError):
        return None
