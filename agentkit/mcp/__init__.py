"""The Model Context Protocol: the tools of a server for an agent, and tools or an agent as a server.

The official SDK is the extra "mcp". It is imported when it is first used, in the thread of the caller.
"""

from agentkit.mcp.client import McpServer, mcp
from agentkit.mcp.server import serve

__all__ = ["McpServer", "mcp", "serve"]
