"""A run that another process holds and drives, for tests of those who look at it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

CODE = """
import sys, time
from agentkit import Agent, Loop, tool

@tool(effect="pure")
def look() -> str:
    "Look."
    time.sleep(float(sys.argv[2]))
    return "nothing"

def think(request):
    return "Thought: I go on.\\nAction: look\\nAction Input: {}"

agent = Agent(think, [look], journal=sys.argv[1], engine=Loop("react", max_iterations=10_000))
run = agent.start("Look for it.", tags={"who": "Ada"})
print(run.id, flush=True)
for line in sys.stdin:
    exec(line)
    print(run.status, flush=True)
run.stop()
run.wait()
run.close()
"""


class Elsewhere(NamedTuple):
    """A process that holds the run `id`, which looks around every `pace` seconds until it is paused."""

    process: subprocess.Popen[str]
    id: str

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def tell(self, code: str) -> str:
        """Let the process execute a line of Python, and return the status of the run after it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{code}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def driven_elsewhere(journal: str, pace: float = 0.05) -> Iterator[Elsewhere]:
    """Start a process that drives a run in a journal, and end it."""
    command = [sys.executable, "-c", CODE, journal, str(pace)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Elsewhere(process, process.stdout.readline().strip())
        finally:
            process.kill()
