"""The fixtures of all tests: an own home, no model or key from outside, and the recorded model output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from agentkit.core import secrets

os.environ["AGENTKIT_LOCAL"] = "none"  # also for kernels: no local model of this machine is used
# The servers of the tests are on this machine, also if it has a proxy for everything else.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell that runs the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "same", derandomize=True, deadline=None
)  # the same examples each time, however busy the machine is
settings.load_profile("same")

collect_ignore = ["benchmarks"]  # benchmarks, for `make bench`
if find_spec("ovos_plugin_manager") is None:
    collect_ignore.append("ovos")  # `make ovos-test` runs these, in an environment of their own


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store runs in a folder of this test, use no local model of this machine, and act as if somebody were watching."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("AGENTKIT_HOME", str(folder))
    monkeypatch.setenv("AGENTKIT_LOCAL", "none")
    secrets._learned.clear()  # keys that other tests passed as arguments
    for name in os.environ:
        if name in ("AGENTKIT_MODEL", "AGENTKIT_NONINTERACTIVE") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    return folder


@pytest.fixture
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """Return the lines of a file of recorded model output; the variable AGENTKIT_RECORDED names its folder."""
    folder = os.environ.get("AGENTKIT_RECORDED")
    if not folder:
        pytest.skip("AGENTKIT_RECORDED names no folder of recorded model output")
    return lambda name: [
        json.loads(line) for line in (Path(folder) / name).read_text(encoding="utf-8").splitlines() if line
    ]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the docs site, built once, with every warning as an error."""
    root, folder = Path(__file__).parents[1], tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", "docs"]
    done = subprocess.run(
        [*command, "-d", folder / "read", ".", folder / "html"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"
