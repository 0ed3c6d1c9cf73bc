"""A third-party model server from npm."""

from __future__ import annotations

import os

import pytest
from npm_servers import node_and_program


@pytest.fixture(scope="session")
def aimock_cli() -> str:
    """Return the path of the server, and tell it to the pytest plugin, which would otherwise fetch another version."""
    node, program = node_and_program("@copilotkit", "aimock", "dist", "cli.js")
    program = os.environ.get("AIMOCK_CLI_PATH", program)
    os.environ.setdefault("AIMOCK_NODE_PATH", node)
    os.environ["AIMOCK_CLI_PATH"] = program
    return program
