"""What every test stands on: a home of its own, no model or key from outside, and the recorded model output."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from agentkit.core import secrets

os.environ["AGENTKIT_LOCAL"] = "none"  # for kernels, too: no model is chosen by what the machine has

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that runs the tests in the background has it so
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "same", derandomize=True, deadline=None
)  # the same examples each time, however busy the machine
settings.load_profile("same")

collect_ignore = ["benchmarks"]  # scripts that measure, for `make bench`


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep runs in a folder of this test; let no model be chosen by what the machine has, and somebody watch."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("AGENTKIT_HOME", str(folder))
    monkeypatch.setenv("AGENTKIT_LOCAL", "none")
    secrets._learned.clear()  # keys that other tests gave as arguments
    for name in os.environ:
        if name in ("AGENTKIT_MODEL", "AGENTKIT_NONINTERACTIVE") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    return folder


@pytest.fixture
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """Give the lines of a file of recorded model output; the environment variable AGENTKIT_RECORDED names its folder."""
    folder = os.environ.get("AGENTKIT_RECORDED")
    if not folder:
        pytest.skip("AGENTKIT_RECORDED names no folder of recorded model output")
    return lambda name: [
        json.loads(line) for line in (Path(folder) / name).read_text(encoding="utf-8").splitlines() if line
    ]
