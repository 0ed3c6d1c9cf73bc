"""A third-party model server from npm: installed from its lock file if it is missing; the tests that need it are never
skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = Path(__file__).parents[1] / "servers"


@pytest.fixture(scope="session")
def aimock_cli() -> str:
    """Return the path of the server, and tell it to the pytest plugin, which would otherwise fetch another version."""
    configured = os.environ.get("AIMOCK_CLI_PATH")
    program = (
        Path(configured) if configured else SERVERS / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    )
    own = Path(sys.executable).parent  # where a wheel installs node, on a machine without one
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(own)])
    if not program.is_file():
        npm = shutil.which("npm", path=path)
        assert npm, f"the test server {program} is missing, and so is npm, to fetch it"
        fetch = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(fetch, cwd=SERVERS, check=True, timeout=300, env={**os.environ, "PATH": path})
    node = shutil.which("node", path=path)
    assert node, "the test server needs node"
    os.environ.setdefault("AIMOCK_NODE_PATH", node)
    os.environ["AIMOCK_CLI_PATH"] = str(program)
    return str(program)
