"""The rows of a live table that a page asks for: sorted, filtered, and only those that it draws."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.experiments import table
from agentkit.experiments.outcome import FAILED, OVER_BUDGET, UNSCORED, WAITING
from agentkit.view.table import TableFeed

Data = dict[str, Any]

Order = Literal["given", "id", "lost", "problems"]
Filter = Literal["all", "lost", "problems", "missing"]

MAX_ROWS = 200
MAX_CELLS = 5_000
"""The most rows and cells that are sent at a time."""

_PROBLEMS = (FAILED, WAITING, UNSCORED, OVER_BUDGET)
_MAX_ID, _MAX_TASK = 80, 200


def rows(
    feed: TableFeed,
    *,
    first: int,
    count: int,
    order: Order = "given",
    only: Filter = "all",
    text: str = "",
    score: str = "",
) -> Callable[[], Data]:
    """Return some of the rows of an experiment, one for each case, with its cells variant by variant.

    `order` is that of the cases, or by id, or the cases first in which a variant lost most against the first one, or
    those with the most problems. `only` leaves the others out, as does `text`, which is looked for in ids, tasks and
    answers. `score` is the name of the score by which variants lose.
    """
    if first < 0 or not 1 <= count <= MAX_ROWS:
        raise UsageError(f"count must be a number from 1 to {MAX_ROWS}, and first not below 0")
    found = feed.found
    lost = _lost(feed, score) if "lost" in (order, only) or len(found.variants) > 1 else {}
    cases = [n for n in range(len(found.cases)) if _is_shown(feed, n, only, lost) and _contains(feed, n, text)]
    if order == "id":
        cases.sort(key=lambda n: _natural(found.cases[n].id))
    elif order == "lost":
        cases.sort(key=lambda n: -lost.get(found.cases[n].id, 0.0))
    elif order == "problems":
        cases.sort(key=lambda n: -sum(found.cells[each].state in _PROBLEMS for each in _numbers(feed, n)))
    per_row = max(1, len(found.cells) // max(1, len(found.cases)))
    shown = cases[first : first + min(count, max(1, MAX_CELLS // per_row))]
    # the cells as they are when the answer is sent: after the changes that are sent before it
    return lambda: {"total": len(cases), "first": first, "rows": [_row(feed, n, lost) for n in shown]}


def _row(feed: TableFeed, number: int, lost: dict[str, float]) -> Data:
    case = feed.found.cases[number]
    return {
        "case": number,
        "id": one_line(case.id, _MAX_ID, mask),
        "task": one_line(_task_text(case.task), _MAX_TASK, mask),
        "lost": max(0.0, lost.get(case.id, 0.0)),
        "cells": [feed.cell_data(each) for each in _numbers(feed, number)],
    }


def _numbers(feed: TableFeed, case: int) -> list[int]:
    """Return the numbers of the cells of a case: experiments have them variant by variant, then case by case."""
    found = feed.found
    cases = len(found.cases)
    repeats = len(found.cells) // max(1, cases * len(found.variants))
    return [(v * cases + case) * repeats + r for v in range(len(found.variants)) for r in range(repeats)]


def _lost(feed: TableFeed, score: str) -> dict[str, float]:
    """Return by case how much lower the worst variant scores than the first one."""
    found = feed.found
    means = [{case: table.mean(each) for case, each in found.scores(v, score).items()} for v in found.variants]
    return {
        case: max((first - other[case] for other in means[1:] if case in other), default=0.0)
        for case, first in means[0].items()
    }


def _is_shown(feed: TableFeed, case: int, only: Filter, lost: dict[str, float]) -> bool:
    if only == "lost":
        return lost.get(feed.found.cases[case].id, 0.0) > 0
    if only == "all":
        return True
    states = ("missing",) if only == "missing" else _PROBLEMS
    return any(feed.found.cells[each].state in states for each in _numbers(feed, case))


def _contains(feed: TableFeed, number: int, text: str) -> bool:
    if not (wanted := text.strip().casefold()):
        return True
    case = feed.found.cases[number]
    texts = [case.id, _task_text(case.task)]
    outcomes = [feed.found.cells[each].outcome for each in _numbers(feed, number)]
    texts += [part for outcome in outcomes if outcome for part in (outcome.answer, outcome.problem)]
    return any(wanted in mask(each).casefold() for each in texts)


def _task_text(task: Any) -> str:
    """Return a task as text: of messages, what the last one says."""
    if isinstance(task, str):
        return task
    last = task[-1] if isinstance(task, list) and task else task
    return str(last.get("content", last) if isinstance(last, dict) else getattr(last, "text", last))


def _natural(id: str) -> list[tuple[bool, int, str]]:
    """Return a key by which ids are sorted with their numbers as numbers: "case 9" before "case 10"."""
    parts = re.split(r"(\d{1,18})", id)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
