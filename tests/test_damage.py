"""Whatever is damaged, cut or deleted of a journal whose process was killed: no loss is silent, no kill is an alarm.

`AGENTKIT_SIZE` is the number of cases of each kind; 100 takes some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SIZE = int(os.environ.get("AGENTKIT_SIZE", "6"))


def cases(folder: Path, kind: str, file: str, count: int) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("damage_matrix.py")
    command = [sys.executable, str(script), str(folder), kind, file, str(count), "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == count
    return found


@pytest.mark.parametrize("file", ["", "-wal"])
@pytest.mark.parametrize("kind", ["flip", "cut", "delete"])
def test_a_loss_is_told_by_looking_verifying_and_resuming(tmp_path: Path, kind: str, file: str) -> None:
    found = cases(tmp_path, kind, file, SIZE)
    with_loss = [case for case in found if case["lost"]]
    print(f"{kind} of {file or 'the main file'}: {len(found)} cases, {len(with_loss)} with a loss")
    assert with_loss or kind == "flip"
    assert [case for case in with_loss if not all(case["told"].values())] == []


def test_an_honest_kill_loses_nothing_and_is_no_alarm(tmp_path: Path) -> None:
    found = cases(tmp_path, "", "", 2 * SIZE)
    assert [case for case in found if case["lost"] or any(case["told"].values())] == []


def test_many_kills_of_processes_that_use_one_journal_cause_no_alarm(tmp_path: Path) -> None:
    found = cases(tmp_path, "kills", "", 2 * SIZE)
    assert [case for case in found if case["lost"] or case["told"]] == []
    assert found[-1]["runs"] > 3
