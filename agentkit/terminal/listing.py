"""The list of runs, kept up to date: in a terminal in its place, elsewhere a line for each change."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from agentkit.agent.agent import runs
from agentkit.core.text import counted, one_line
from agentkit.export.tables import Table, to_text
from agentkit.journal.entries import NO_TAGS, RunInfo
from agentkit.terminal.screen import Screen, screen_of

INTERVAL = 1.0
"""How often the list is looked at, in seconds."""

SHARE = 4
"""How many times longer than a look the pause after it is at least: the list may be long."""

COLUMNS = ["run", "status", "rows", "held by", "tags", "model", "task"]


def changes(
    journal: Any = "sqlite",
    prefix: str = "",
    tags: Mapping[str, str] = NO_TAGS,
    pause: Callable[[float], Any] = time.sleep,
) -> Iterator[list[RunInfo]]:
    """Yield the list of runs, newest first, now and whenever it has changed, for ever."""
    before: list[RunInfo] | None = None
    while True:
        begun = time.monotonic()
        found = runs(journal, prefix=prefix, tags=tags)
        if found != before:
            yield found
        before = found
        pause(max(INTERVAL, SHARE * (time.monotonic() - begun)))


def follow_runs(
    journal: Any = "sqlite", prefix: str = "", tags: Mapping[str, str] = NO_TAGS, *, as_json: bool = False
) -> None:
    """Print the list of runs, and what changes in it, until Ctrl-C."""
    screen = screen_of("stdout")
    if screen.is_terminal and not as_json:
        _keep(screen, changes(journal, prefix, tags))
        return
    known: dict[str, tuple[str, str]] = {}
    for found in changes(journal, prefix, tags):
        for info in reversed(found):
            if known.get(info.run) != (info.status, info.holder):
                screen.lines(json.dumps(asdict(info)) if as_json else line(info))
                known[info.run] = info.status, info.holder
        for run in known.keys() - {info.run for info in found}:
            screen.lines(json.dumps({"run": run, "status": "deleted"}) if as_json else f"{run}  deleted")
            del known[run]


def line(info: RunInfo) -> str:
    """Return a run as one line: its status, who holds it, its tags and its task."""
    holder = f"held by {info.holder}" if info.holder else ""
    parts = (info.run, info.status, holder, tags_text(info), one_line(info.task, 200))
    return "  ".join(one_line(part, 300) for part in parts if part)


def tags_text(info: RunInfo) -> str:
    """Return the tags of a run as one text."""
    return ", ".join(f"{name}={value}" for name, value in info.tags.items())


def _keep(screen: Screen, lists: Iterable[list[RunInfo]]) -> None:
    """Show the newest runs, as many as fit, and draw them again whenever the list has changed."""
    for found in lists:
        size = shutil.get_terminal_size()
        shown = found[: max(1, size.lines - 4)]
        rows = [
            [info.run, info.status, str(info.rows), info.holder, tags_text(info), info.model, info.task]
            for info in shown
        ]
        table = to_text(Table(COLUMNS, rows), cell_width=size.columns, line_width=size.columns)
        more = f", {len(found) - len(shown):,} of them not shown" if len(found) > len(shown) else ""
        screen.draw([*table.splitlines(), f"{counted(len(found), 'run')}{more}; Ctrl-C ends this"])
