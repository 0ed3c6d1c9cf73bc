"""The recordings of a suite: files, folders, patterns, lines of a JSONL file, runs. Each is read when it is played."""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

from agentkit.agent.recordings import look
from agentkit.core import outside
from agentkit.core.private_files import write_private
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.export import data_of, to_json
from agentkit.inert import inert
from agentkit.journal.entries import RunInfo
from agentkit.run.run import Run

HOW = 'record one with agent.run(…).run.to_json("recordings/name.json")'
_ENDINGS = (".json", ".jsonl")
_ID = re.compile(rb'"run":\s*"([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})"')
_HEAD = 200  # bytes of a line in which its run is named


@dataclass(slots=True, frozen=True)
class Recording:
    """Where the recording of a run is: a file, a line of a JSONL file, or data; it is read when it is played.

    `name` is unique in a suite, and short: the path below the folder that was searched, or the id of a run. `line` is
    the number of the line, and `start` where it begins in the file, in bytes, as long as the file has this `stamp`.
    """

    name: str
    source: Any
    line: int = 0
    start: int = 0
    stamp: tuple[int, int] = (0, 0)
    journal: Any = None

    @property
    def path(self) -> Path | None:
        """The file that the recording is in; None if it is not in a file."""
        return self.source if isinstance(self.source, Path) else None

    def data(self) -> Any:
        """Return the JSON data of the recording, unchecked. Raises `AgentkitError` if it cannot be read."""
        if isinstance(self.source, Run):
            return to_json(self.source)
        if isinstance(self.source, RunInfo):
            return to_json(look(self.source, journal=self.journal))
        if not self.line:
            if self.path is not None and self.path.is_file() and not self.path.stat().st_size:
                raise UsageError(f"{self.path} is empty; {HOW}")
            return data_of(self.source)
        try:
            with outside.open_file(self.source) as file:
                if _stamp(file) == self.stamp:
                    file.seek(self.start)
                    return outside.parse_json(file.readline())
                return outside.parse_json(next(islice(file, self.line - 1, None), b""))
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read line {self.line} of {self.source}: {error}") from None

    def write(self, data: dict[str, Any]) -> None:
        """Replace the recording by other data. Raises `UsageError` if it is not in a JSON or JSONL file."""
        if self.path is None or self.path.suffix.lower() not in _ENDINGS:
            raise UsageError(f"{self.name} is not in a JSON or JSONL file, so it is not written")
        if not self.line:
            write_private(self.path, json.dumps(data, indent=1) + "\n")
            return
        lines = outside.read_file(self.path).decode("utf-8", "surrogateescape").split("\n")
        lines[self.line - 1] = json.dumps(data)
        write_private(self.path, "\n".join(lines), errors="surrogateescape")

    @inert
    def __repr__(self) -> str:
        return f"<Recording {self.name!r}>"


def find(recordings: Any, *, journal: Any = "sqlite") -> list[Recording]:
    """Return the recordings of a suite, always in the same order.

    `recordings` is a file that `run.to_json` or `run.to_notebook` wrote, a JSONL file with such data in each line, a
    folder (with all `.json` and `.jsonl` files below it), a pattern such as "recordings/*.json", the data itself, a
    run, an entry of `agentkit.runs()` with its `journal`, or a list of these. Nothing is read but the beginnings of
    the lines of JSONL files. Raises `UsageError`, which says what to do, if there is nothing.
    """
    if isinstance(recordings, Iterable) and not isinstance(recordings, str | Mapping | Run):
        try:
            found = [each for item in recordings for each in find(item, journal=journal)]
        except RecursionError:
            raise UsageError("the list of recordings contains itself") from None
        if not found:
            raise UsageError(f"there are no recordings in an empty list; {HOW}")
        return _unique(found)
    if isinstance(recordings, str | os.PathLike):
        return _unique(_in_files(recordings))
    if isinstance(recordings, Mapping):
        name = recordings.get("run")
        return [Recording(one_line(name, 100) if isinstance(name, str) and name else "recording", recordings)]
    if isinstance(recordings, Run):
        return [Recording(recordings.id, recordings)]
    if isinstance(recordings, RunInfo):
        return [Recording(recordings.run, recordings, journal=journal)]
    raise UsageError(f"recordings are paths, exported data, runs, or a list of these, not {recordings!r:.200}")


def _in_files(given: str | os.PathLike[str]) -> list[Recording]:
    path = outside.path_of(given, "the recordings")
    try:
        return _below(path)
    except OSError as error:  # the name is too long, or a folder must not be read
        raise UsageError(f"cannot read {str(path)!r:.200}: {error.strerror}") from None


def _below(path: Path) -> list[Recording]:
    if path.is_dir():
        found = [each for each in path.rglob("*") if _is_recording(each.relative_to(path)) and not each.is_dir()]
        if not found:
            raise UsageError(f"there is no .json or .jsonl file in the folder {path}; {HOW}")
        return [each for file in sorted(found) for each in _in_file(file, file.relative_to(path).as_posix())]
    if path.exists() or path.is_symlink():
        return _in_file(path, path.name)
    if not glob.has_magic(str(path)):
        raise UsageError(f"there is no file or folder {path}; {HOW}")
    found = _each_once(Path(each) for each in glob.glob(str(path), recursive=True) if not os.path.isdir(each))
    if not found:
        raise UsageError(f"no file matches the pattern {path}; {HOW}")
    folder = Path(os.path.commonpath([each.parent for each in found]))
    return [each for file in sorted(found) for each in _in_file(file, file.relative_to(folder).as_posix())]


def _each_once(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without those that lead to a folder that an earlier one led to: links may lead in circles."""
    shortest: dict[Path, Path] = {}
    for path in sorted(paths, key=lambda path: (len(path.parts), path)):
        shortest.setdefault(path.parent.resolve() / path.name, path)
    return list(shortest.values())


def _is_recording(path: Path) -> bool:
    return path.suffix.lower() in _ENDINGS and not any(part.startswith(".") for part in path.parts)


def _in_file(path: Path, name: str) -> list[Recording]:
    """Return the recording in a file, or those in the lines of a JSONL file."""
    if path.suffix.lower() != ".jsonl":
        return [Recording(name, path)]
    found, start = list[Recording](), 0
    try:
        with outside.open_file(path) as file:
            stamp = _stamp(file)
            for number, line in enumerate(file, 1):
                if line.strip():
                    id = _ID.search(line[:_HEAD])
                    label = id[1].decode() if id else f"line {number}"
                    found.append(Recording(f"{name}:{label}", path, number, start, stamp))
                start += len(line)
    except OSError:
        found = []
    return found or [Recording(name, path)]  # what is wrong with it is said when it is played


def _stamp(file: BinaryIO) -> tuple[int, int]:
    """Return what changes when a file is written: its time and its size."""
    about = os.fstat(file.fileno())
    return about.st_mtime_ns, about.st_size


def _unique(recordings: list[Recording]) -> list[Recording]:
    """Return the recordings with names that differ: by their lines or folders, or by numbers."""
    for more in (_line, _folder):
        times = Counter(each.name for each in recordings)
        recordings = [more(each) if times[each.name] > 1 else each for each in recordings]
    seen: Counter[str] = Counter()
    taken = {each.name for each in recordings}
    named = []
    for each in recordings:
        name, seen[each.name] = each.name, seen[each.name] + 1
        if seen[name] > 1:
            name = next(new for n in count(seen[name]) if (new := f"{each.name} ({n})") not in taken)
            taken.add(name)
        named.append(replace(each, name=name))
    return named


def _line(recording: Recording) -> Recording:
    return replace(recording, name=f"{recording.name}, line {recording.line}") if recording.line else recording


def _folder(recording: Recording) -> Recording:
    path = recording.path
    return replace(recording, name=f"{path.parent.name}/{recording.name}") if path is not None else recording
