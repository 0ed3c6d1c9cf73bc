"""Walls around what a tool may reach: a folder that no path leads out of, and programs that run confined."""

from agentkit.sandbox.paths import Folder
from agentkit.sandbox.programs import Sandbox

__all__ = ["Folder", "Sandbox"]
