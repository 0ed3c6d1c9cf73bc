"""The private loop, and what becomes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from agentkit.core.background import Mailbox

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


@pytest.fixture
def signals() -> Iterator[None]:
    """A signal every half a millisecond: one of them arrives just as a wait ends."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signals")
def test_a_wait_for_mail_ends_though_signals_arrive(signals: None) -> None:
    box: Mailbox[str] = Mailbox()
    rescue = threading.Timer(10, box.put, ["nobody looked at the clock"])
    rescue.start()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            box.get(0.005)
    rescue.cancel()


def test_mail_comes_in_order_and_is_never_lost() -> None:
    box: Mailbox[int] = Mailbox()
    threads = [threading.Thread(target=lambda k=k: [box.put(n) for n in range(k, 3000, 3)]) for k in range(3)]
    for thread in threads:
        thread.start()
    came = [box.get(10) for _ in range(3000)]
    for thread in threads:
        thread.join()
    assert sorted(came) == list(range(3000))
    assert all([n for n in came if n % 3 == k] == list(range(k, 3000, 3)) for k in range(3))
    with pytest.raises(TimeoutError):
        box.get(0.001)
