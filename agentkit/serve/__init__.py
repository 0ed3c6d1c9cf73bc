"""Runs over HTTP: streams of their events, and their live view in a browser without Jupyter.

The packages that it needs are the extra "serve". They are imported when they are first used.
"""

from agentkit.serve.app import App, app
from agentkit.serve.server import Server, serve

__all__ = ["App", "Server", "app", "serve"]
