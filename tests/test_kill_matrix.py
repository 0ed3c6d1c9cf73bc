"""Processes that pay at random are killed with SIGKILL: nothing is lost, and nothing is paid twice unless it was asked.

`AGENTKIT_SIZE` is the number of kills for each engine: 4 by default, 100 by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server
from random_payments import ENGINES

pytestmark = pytest.mark.slow
SIZE = int(os.environ.get("AGENTKIT_SIZE", "4"))


def killed(folder: Path, size: int, *journal: str) -> list[dict[str, Any]]:
    """Return what came of all cases."""
    script = Path(__file__).with_name("kill_matrix.py")
    command = [sys.executable, str(script), str(folder), str(size), *journal]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cases) == size * len(ENGINES) and sum(case["asked"] for case in cases) > size
    return cases


@pytest.mark.timeout(0)
def test_after_a_kill_nothing_is_lost_repeated_unasked_or_asked_needlessly(tmp_path: Path) -> None:
    for case in killed(tmp_path, SIZE):
        assert (case["lost"], case["wrong"], case["needless"]) == ([], [], 0), case


@pytest.mark.timeout(0)
def test_the_same_holds_for_a_journal_on_postgresql(tmp_path: Path) -> None:
    server = Server()
    try:
        cases = killed(tmp_path, max(1, SIZE // 4), server.url(server.create()))
    finally:
        server.remove()
    for case in cases:
        assert (case["lost"], case["wrong"], case["needless"]) == ([], [], 0), case
