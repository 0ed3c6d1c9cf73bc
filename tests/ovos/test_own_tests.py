"""The own tests of ovos-agentic-loop, with our engines in the place of its loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ovos_agentic_loop
import pytest

HERE = Path(__file__).parent
ARCHIVE = Path(ovos_agentic_loop.__file__).parents[1]
REASONS = json.loads((HERE / "own_tests.json").read_text(encoding="utf-8"))
"""The tests that fail with our engines, each with its reason: it tests internals of OVOS, or we decided otherwise."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Return, for each test that used something of ours, whether it passed."""
    folder = tmp_path_factory.mktemp("own")
    report = folder / "report.json"
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    places = {"PYTHONPATH": paths, "AGENTKIT_HOME": str(folder), "OWN_TESTS_REPORT": str(report)}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ARCHIVE, "-p", "shim", "test"]
    command += ["-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=ARCHIVE, env={**os.environ, **places}, capture_output=True, text=True, timeout=280
    )
    assert report.exists(), done.stdout + done.stderr
    tests = json.loads(report.read_text(encoding="utf-8"))
    return {name: passed for name, (passed, is_ours) in tests.items() if is_ours}


def test_the_own_tests_of_ovos_pass_but_for_those_with_a_reason(outcomes: dict[str, bool]) -> None:
    failed = {name for name, passed in outcomes.items() if not passed}
    assert sorted(failed - REASONS.keys()) == [], "these fail, and have no reason"
    assert sorted(REASONS.keys() - failed) == [], "these pass (or are gone): remove their reasons"


def test_no_fewer_of_its_tests_pass_than_before(outcomes: dict[str, bool]) -> None:
    assert len(outcomes) >= 168 and sum(outcomes.values()) >= 148
