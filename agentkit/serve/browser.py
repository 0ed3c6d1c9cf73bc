"""The page of a run in a browser of this machine, for scripts and for notebooks that have no room beside them."""

from __future__ import annotations

import threading

from agentkit.errors import UsageError
from agentkit.run.run import Run
from agentkit.serve.app import app
from agentkit.serve.server import Server

_lock = threading.Lock()
_server: Server | None = None


def show(run: Run) -> str:
    """Open the page of a run in a browser, print its address, and return it.

    All runs are shown by one server, which lives as long as the process, and which starts runs of the agent whose run
    was shown first. Raises `UsageError` if the packages of the extra "serve" are missing.
    """
    global _server
    with _lock:
        if _server is None or not _server.is_running:
            try:
                _server = Server(app(run.agent), "127.0.0.1", 0)
            except UsageError as error:
                raise UsageError(f"there is no notebook here to show the run in, and {error}") from error
    return _server.show(run)
