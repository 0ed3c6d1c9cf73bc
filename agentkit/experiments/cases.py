"""The cases of an experiment: what each one asks, and what its score needs to know."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit.core.messages import canonical, digest
from agentkit.core.text import error_line
from agentkit.errors import UsageError

MAX_CASES = 1_000_000


@dataclass(slots=True, frozen=True)
class Case:
    """One case: its `id`, its `task`, and `data`, the whole case as it was given, for the score.

    `occurrence` counts the cases before it that have the same task. Cases with an equal `cluster` have something in
    common, such as a document that they ask about; it is None if nothing is known about that.
    """

    id: str
    task: Any
    data: dict[str, Any]
    occurrence: int = 0
    cluster: Hashable = None

    @property
    def key(self) -> str:
        """A digest of what decides how its runs go: the task. An expected answer that is corrected changes no run."""
        return digest(canonical([_json(self.task), self.occurrence]))


Cluster = str | Callable[[dict[str, Any]], Hashable]
"""What cases have in common: the name of one of their fields, or a function of the case."""


def read_cases(source: Any, cluster: Cluster | None = None) -> list[Case]:
    """Return the cases of a list of texts or dicts, of a DataFrame, or of a file with one JSON object per line.

    A dict has its `task` (a text, or messages) and maybe an `id`; the rest is for the score. Without ids, cases are
    numbered. Raises `UsageError`, which names the case, for one that has no task or no `cluster`, and for ids that are
    not unique.
    """
    cases, tasks = list[Case](), Counter[str]()
    for number, item in enumerate(_items(source)):
        if number >= MAX_CASES:
            raise UsageError(f"an experiment takes at most {MAX_CASES:,} cases")
        data = {"task": item} if isinstance(item, str) else dict(item) if isinstance(item, Mapping) else None
        if data is None:
            raise UsageError(f"case {number} must be a text, or a dict with a task, not {item!r:.200}")
        task = data.get("task")
        if not task or not isinstance(task, str | list):
            known = ", ".join(map(repr, list(data)[:10])) or "nothing"
            raise UsageError(f"case {number} needs a 'task', a text or a list of messages; it has {known}")
        key = _json(task)
        given = data.get("id")
        id = str(number) if given is None else str(given)
        cases.append(Case(id, task, data, tasks[key], None if cluster is None else _label(cluster, id, data)))
        tasks[key] += 1
    if not cases:
        raise UsageError("an experiment needs at least one case")
    if equal := [id for id, count in Counter(case.id for case in cases).items() if count > 1]:
        raise UsageError(
            f"several cases have the id {equal[0]!r}; give each case an id of its own"
            + (f" (there are {len(equal)} such ids)" if len(equal) > 1 else "")
        )
    return cases


def _label(cluster: Cluster, id: str, data: dict[str, Any]) -> Hashable:
    """Return what a case has in common with others. Raises `UsageError` if that is nothing one can compare."""
    if isinstance(cluster, str):
        what = f"field {cluster!r:.100}"
        label = data.get(cluster)
    else:
        what = "cluster, which the function returned"
        try:
            label = cluster(data)
        except Exception as error:
            raise UsageError(f"cluster= failed for case {id!r:.100}: {error_line(error)}") from error
    if label is None:
        raise UsageError(f"case {id!r:.100} has no {what}; cluster= needs one for each case")
    if hasattr(label, "item") and getattr(label, "shape", None) == ():  # a number of numpy
        label = label.item()
    if not isinstance(label, str | int | float) or label != label:
        raise UsageError(f"case {id!r:.100}: the {what} must be a text or a number, not {label!r:.100}")
    return label


def _items(source: Any) -> Iterable[Any]:
    if isinstance(source, str | os.PathLike):
        return _lines(Path(source))
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        records: list[Any] = source.to_dict("records")
        return records
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise UsageError(f"cases must be a list, a DataFrame or the path of a JSONL file, not {source!r:.200}")
    return source


def _lines(path: Path) -> Iterable[Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the cases in {str(path)!r:.200} cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"line {number} of {path} is not valid JSON ({error})") from None


def _json(value: Any) -> str:
    try:
        return canonical(value).decode()
    except (TypeError, ValueError):
        return repr(value)
