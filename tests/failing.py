"""A tool that raises any error that a test needs."""

from __future__ import annotations

from agentkit import tool
from agentkit.tools.tool import Tool


def failing(error: BaseException, *, timeout: float | None, asynchronous: bool) -> Tool:
    """Return the tool "fail"."""

    def fail() -> str:
        raise error

    async def afail() -> str:
        raise error

    return tool(name="fail", effect="pure", timeout=timeout)(afail if asynchronous else fail)
