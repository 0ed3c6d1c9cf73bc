"""Signals to a run: from its own process, or from another one through a mailbox, a folder of the run's own.

A tool that waits takes what is in the mailbox, so a signal arrives even if the run is held elsewhere, and one that was
sent while no process held the run is there when it goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from agentkit.config import home
from agentkit.core import outside
from agentkit.core.private_files import write_private
from agentkit.core.secrets import mask_json
from agentkit.errors import UsageError
from agentkit.runtime.control import Control

_MAX_BYTES = 1 << 20
_taken: set[Path] = set()
"""What was taken and is still being recorded: two tools may wait at the same time."""


def checked(name: Any, value: Any) -> dict[str, Any]:
    """Return a signal as data. Raises `UsageError` without a name, or if the value is not JSON data."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"a signal needs a name, not {name!r:.100}")
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the value of a signal must be JSON data: {error}") from None
    if len(text) > _MAX_BYTES:
        raise UsageError(f"the value of a signal may have {_MAX_BYTES:,} characters as JSON, and not {len(text):,}")
    return {"name": name, "value": mask_json(json.loads(text))}


def post(control: Control, data: dict[str, Any]) -> Any:
    """Record a signal as soon as the run allows it, and return a future. Safe in any thread."""
    trace = control.trace
    put = control.post(lambda: trace.unsaved.attempt(lambda: trace.note("signal", data, at=time.time())))
    if put.done():
        put.result()
    return put


def send(run: str, name: str, value: Any) -> None:
    """Put a signal into the mailbox of a run that another process may hold. Raises `UsageError`."""
    data, box = checked(name, value), mailbox(run)
    box.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(box / f"{time.time_ns():020}-{uuid.uuid4().hex[:8]}.json", json.dumps(data))


def take(control: Control) -> None:
    """Record the signals in the mailbox of a run, oldest first; each is deleted when it is recorded."""
    box = mailbox(control.trace.run)
    try:
        files = sorted(file for file in box.iterdir() if file.suffix == ".json")
    except OSError:  # nothing was ever sent
        return
    for file in files:
        if file in _taken:
            continue
        _taken.add(file)
        try:
            data = outside.parse_json(outside.read_file(file))
            post(control, checked(data["name"], data["value"])).add_done_callback(
                lambda put, file=file: _end(put, file)
            )
        except (UsageError, OSError, ValueError, KeyError, TypeError):  # it is not one that `send` wrote
            continue


def _end(put: Any, file: Path) -> None:
    if not put.cancelled() and put.exception() is None:
        file.unlink(missing_ok=True)
    _taken.discard(file)


def mailbox(run: str) -> Path:
    """Return the folder with the signals that were sent to a run from other processes."""
    return home() / "signals" / os.path.basename(run)


def forget(run: str) -> None:
    """Delete the mailbox of a run."""
    shutil.rmtree(mailbox(run), ignore_errors=True)
