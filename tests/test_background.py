"""The private loop, and what becomes of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKED = """
import os, signal, sys
from agentkit import Agent

async def model(request):
    return "ok"

assert Agent(model, journal=None).run("q").answer == "ok"
if not (child := os.fork()):
    signal.alarm(20)
    os._exit(Agent(model, journal=None).run("q").answer != "ok")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
