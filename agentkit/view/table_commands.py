"""The commands of a live table: what a person does there is what the methods of an experiment do in Python."""

from __future__ import annotations

from typing import Any

from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.view.dispatcher import Commands
from agentkit.view.table import TableFeed
from agentkit.view.table_rows import rows

Data = dict[str, Any]


def begin(feed: TableFeed, *, question: str = "") -> None:
    """Run what is missing, has failed, or was changed by hand; `question` is the one that was said yes to."""
    found = feed.found
    if not found.question:
        found.begin()
    elif question != mask(found.question):
        raise UsageError("the experiment asks something else by now; read the question again")
    else:
        found.approve()


def stop(feed: TableFeed) -> None:
    """Begin no more runs, and stop those that are being made."""
    feed.found.stop()


def open_(feed: TableFeed, *, cell: int) -> Data:
    """Show the run of a cell below the table."""
    run = feed.open_run(cell)
    return {"run": run.id, "read_only": run.read_only}


def close(feed: TableFeed, *, cell: int) -> None:
    """Show the run of a cell no longer."""
    feed.close_run(cell)


OF_TABLE = Commands(
    immediate={},
    queued={"begin": begin, "open": open_, "close": close},
    slow={"stop": stop},
    queries={"rows": rows},
)
"""`stop` may take a while, because it waits for runs, and waits for no other command."""
