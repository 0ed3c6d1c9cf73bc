"""What checks and predictions print: lines of inert text."""

from __future__ import annotations

import sys

from agentkit.inert import for_terminal


def write_lines(*lines: str) -> None:
    """Print lines; no text in one of them begins another."""
    sys.stdout.write("".join(f"{for_terminal(line)}\n" for line in lines))
