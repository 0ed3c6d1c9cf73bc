"""Messages to a browser, and the clock that sends them."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
import time
import traceback

import pytest

from agentkit.view.wire import CLOCK, SEND_INTERVAL, SWITCH_INTERVAL, Clock, clean


@pytest.fixture(autouse=True)
def alone() -> None:
    """Wait until the views of other tests are closed."""
    wait_until_stopped(CLOCK)


def test_any_value_is_sent_as_json() -> None:
    value = {"nan": math.nan, "big": 2**53, "fits": 1 - 2**53, "half": "\ud800", "set": {1}, ("no", "key"): 1}
    assert clean(value)[0] == {"nan": "NaN", "big": str(2**53), "fits": 1 - 2**53, "half": "?", "set": "{1}"}


def test_a_member_that_fails_does_not_keep_others_from_being_called(caplog: pytest.LogCaptureFixture) -> None:
    clock, called = Clock(), threading.Event()
    members = (lambda: 1 / 0, called.set)
    for member in members:
        clock.add(member)
    clock.wake()
    assert called.wait(5) and "ZeroDivisionError" in caplog.text
    for member in members:
        clock.remove(member)
    wait_until_stopped(clock)


def test_threads_are_switched_more_often_while_a_clock_has_members() -> None:
    default, clock = sys.getswitchinterval(), Clock()
    clock.add(int)
    assert sys.getswitchinterval() <= SWITCH_INTERVAL
    clock.remove(int)
    clock.wake()
    wait_until_stopped(clock)
    assert sys.getswitchinterval() == pytest.approx(default, rel=0.02)  # Python stores it in whole microseconds


def test_a_clock_that_is_woken_all_the_time_leaves_an_interval_between_two_calls() -> None:
    now, times, is_enough = 100.0, list[float](), threading.Event()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def member() -> None:
        times.append(now)
        if len(times) == 20:
            is_enough.set()
        clock.wake()

    clock = Clock(lambda: now, sleep)
    clock.add(member)
    clock.wake()
    assert is_enough.wait(5)
    clock.remove(member)
    wait_until_stopped(clock)
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses == [pytest.approx(SEND_INTERVAL)] * len(pauses)


def test_an_answer_does_not_wait_for_the_interval() -> None:
    times = iter([0.0, 100.0])  # the members are called at 100, and then it is 0 again: the interval takes 100 s
    clock, calls, is_answered = Clock(lambda: next(times, 0.0)), list[bool](), threading.Event()

    def member() -> None:
        calls.append(True)
        clock.wake(at_once=True)
        if len(calls) == 2:
            is_answered.set()

    clock.add(member)
    clock.wake()
    assert is_answered.wait(5)
    clock.remove(member)
    wait_until_stopped(clock)


def test_what_follows_an_answer_does_not_wait_for_the_interval() -> None:
    now, slept, is_enough = 100.0, list[float](), threading.Event()
    clock = Clock(lambda: now, slept.append)
    calls = 0

    def member() -> None:
        nonlocal calls, now
        calls, now = calls + 1, now + 0.001
        clock.wake(at_once=calls < 3)
        if calls == 5:
            is_enough.set()

    clock.add(member)
    clock.wake(at_once=True)
    assert is_enough.wait(5)
    clock.remove(member)
    wait_until_stopped(clock)
    # three answers and the first call after them begin at once, the one after it an interval later
    assert slept[:4] == [0.0] * 4 and slept[4] == pytest.approx(SEND_INTERVAL - 0.001)


def test_members_are_called_in_time_while_another_thread_computes_and_looks_at_files() -> None:
    """A round takes about a millisecond; with Python's default interval, there is a call in about 500 rounds."""
    clock, called = Clock(), []
    clock.add(lambda: called.append(True))
    for _ in range(1000):
        sum(range(100_000))
        os.stat(__file__)
        clock.wake()
    clock.remove(clock._members[0])
    assert len(called) > 10


def wait_until_stopped(clock: Clock) -> None:
    """Wait until a clock without members has stopped."""
    end = time.monotonic() + 5
    while (thread := clock._thread) is not None:
        if time.monotonic() > end:
            frame = sys._current_frames().get(thread.ident or 0)
            pytest.fail(f"still called: {clock._members}; now at\n{''.join(traceback.format_stack(frame))}")
        time.sleep(0.01)
