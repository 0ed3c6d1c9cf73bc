"""After a process is killed while it writes, every row that it reported as written is there."""

from __future__ import annotations

import random
import time

import pytest

from agentkit.journal import Note
from agentkit.journal.sqlite import SqliteJournal

pytestmark = pytest.mark.slow

WRITE = """
journal.create(make.info())
chat = Chat.of("the task")
print("ready", flush=True)
number = 0
while True:
    rows, chat = make.turn(chat + "x" * 500, number)
    for at, row in enumerate(rows):
        journal.append(row, sync=at > 0)
        os.write(1, f"{row.id}\\n".encode())
    number += 1
"""


@pytest.mark.parametrize("seed", range(6))
def test_every_append_that_returned_survives_a_kill_and_the_file_is_intact(tmp_path, start_python, make, seed):
    child = start_python(WRITE, tmp_path / "runs.db")
    assert child.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.3))
    child.kill()
    numbers = [int(line) for line in child.stdout.read().split()]
    journal = SqliteJournal(tmp_path / "runs.db")
    rows = journal.rows("r1")
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(rows) - len(numbers) in (0, 1)
    journal.claim("r1")
    assert journal.append(Note("status", run="r1")) == len(rows) + 1
    assert len(journal.rows("r1")) == len(rows) + 1
    journal.close()
