"""The official SDK of the Model Context Protocol, which takes a second or more to import."""

from __future__ import annotations

from typing import Any

from agentkit.core.log import silence
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
    silence("mcp", "client")  # they write a traceback for each message that a server garbles
    return mcp
