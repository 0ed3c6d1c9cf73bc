"""The private loop, after a fork and while signals arrive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from agentkit.core import background

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
def test_a_forked_process_has_its_own_loop() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.fixture
def signals() -> Iterator[None]:
    """Send a signal every half millisecond, so that one of them arrives just as a wait ends."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signals")
def test_a_wait_ends_on_time_even_if_signals_arrive(signals: None) -> None:
    for _ in range(30):
        with pytest.raises(TimeoutError):
            background.wait(Future(), 0.005)
