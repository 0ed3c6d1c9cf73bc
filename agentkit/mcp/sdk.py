"""The official SDK of the Model Context Protocol, which takes a second or more to import."""

from __future__ import annotations

import logging
from typing import Any

from agentkit.errors import UsageError


def sdk() -> Any:
    """Return the module of the SDK. Raises `UsageError` if it is not installed, or too old."""
    try:
        import mcp
        from mcp import StdioServerParameters, stdio_client  # noqa: F401  # the client of version 2 has them
    except ImportError as error:
        raise UsageError(
            f"MCP needs its SDK ({error}); install it with: pip install 'jupyter-agentkit[mcp]'"
        ) from error
    for name in ("mcp", "client"):  # a line for each message that a server garbles; errors are reported by calls
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:
            log.setLevel(logging.CRITICAL)
    return mcp
