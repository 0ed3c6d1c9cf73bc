"""Processes that pay at random are killed with SIGKILL: nothing is lost, and nothing is paid twice unless it was asked.

`AGENTKIT_SIZE` is the number of kills for each engine: 4 by default, 100 by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from random_payments import ENGINES

pytestmark = pytest.mark.slow
SIZE = int(os.environ.get("AGENTKIT_SIZE", "4"))


@pytest.mark.timeout(0)
def test_after_a_kill_nothing_is_lost_repeated_unasked_or_asked_needlessly(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_matrix.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path), str(SIZE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cases) == SIZE * len(ENGINES) and sum(case["asked"] for case in cases) > SIZE
    for case in cases:
        assert (case["lost"], case["wrong"], case["needless"]) == ([], [], 0), case
