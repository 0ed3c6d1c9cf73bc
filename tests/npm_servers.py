"""Servers from npm, for tests: installed from the lock file of tests/servers if one is missing; tests are never skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SERVERS = Path(__file__).parent / "servers"


def node_and_program(*path: str) -> tuple[str, str]:
    """Return the path of node, and of a program below node_modules."""
    program = SERVERS.joinpath("node_modules", *path)
    own = Path(sys.executable).parent  # where a wheel installs node, on a machine without one
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), str(own)])
    if not program.is_file():
        npm = shutil.which("npm", path=search)
        assert npm, f"the test server {program} is missing, and so is npm, to fetch it"
        fetch = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(fetch, cwd=SERVERS, check=True, timeout=300, env={**os.environ, "PATH": search})
    node = shutil.which("node", path=search)
    assert node, "the test server needs node"
    return node, str(program)
