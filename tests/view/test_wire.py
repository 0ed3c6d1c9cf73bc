"""What crosses to a browser, and the clock that sends it."""

from __future__ import annotations

import math
import os
import sys
import threading
import time

import pytest

from agentkit.view.wire import CLOCK, SWITCH, Clock, clean


@pytest.fixture(autouse=True)
def alone() -> None:
    """Wait until the views of other tests are closed."""
    ended(CLOCK)


def test_whatever_a_value_holds_it_crosses_as_json() -> None:
    given = {"nan": math.nan, "big": 2**53, "fits": 1 - 2**53, "half": "\ud800", "set": {1}, ("no", "key"): 1}
    assert clean(given)[0] == {"nan": "NaN", "big": str(2**53), "fits": 1 - 2**53, "half": "?", "set": "{1}"}


def test_one_member_that_fails_keeps_no_other_from_being_called(caplog: pytest.LogCaptureFixture) -> None:
    clock, called = Clock(), threading.Event()
    members = (lambda: 1 / 0, called.set)
    for member in members:
        clock.add(member)
    clock.soon()
    assert called.wait(5) and "ZeroDivisionError" in caplog.text
    for member in members:
        clock.remove(member)
    ended(clock)


def test_threads_take_turns_more_often_while_there_is_somebody_to_call() -> None:
    usual, clock = sys.getswitchinterval(), Clock()
    clock.add(int)
    assert sys.getswitchinterval() <= SWITCH
    clock.remove(int)
    clock.soon()
    ended(clock)
    assert sys.getswitchinterval() == pytest.approx(usual, rel=0.02)  # Python keeps it in whole microseconds


def test_a_thread_is_called_in_time_though_another_computes_and_looks_at_files() -> None:
    """A round takes about a millisecond; with the usual interval there is a call in 500 rounds or so."""
    clock, called = Clock(), []
    clock.add(lambda: called.append(True))
    for _ in range(1000):
        sum(range(100_000))
        os.stat(__file__)
        clock.soon()
    clock.remove(clock._members[0])
    assert len(called) > 10


def ended(clock: Clock) -> None:
    """Wait until a clock that has nobody to call has stopped."""
    end = time.monotonic() + 5
    while clock._thread is not None:
        assert time.monotonic() < end
        time.sleep(0.01)
