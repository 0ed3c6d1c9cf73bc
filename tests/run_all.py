"""Run all tests, in two processes side by side: those in a browser, which wait most of the time, and all others.

    python tests/run_all.py

The output of the others is shown at once, that of the browser tests when both have ended. Tests that fail are run once
more, with nothing beside them; those that then pass are listed at the end as unsteady, which is a defect to mend. The
exit status is 1 if a test failed twice. The tests see no model of this machine, and no runs of its user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ["--nbval", "--nbval-sanitize-with", "tests/nbval.cfg"]
BROWSER = ["tests/browser"]
OTHERS = ["--ignore", "tests/browser", "tests", "notebooks"]


class Process:
    """A process of pytest, which keeps its runs and what it remembers of the tests in a folder of its own."""

    def __init__(self, arguments: list[str], folder: str, **output: Any) -> None:
        self._cache = Path(folder, "cache")
        environment = {name: value for name, value in os.environ.items() if name != "AGENTKIT_MODEL"}
        environment |= {"AGENTKIT_HOME": f"{folder}/home", "AGENTKIT_LOCAL": "none", "AGENTKIT_NONINTERACTIVE": "1"}
        command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={self._cache}", *NOTEBOOKS, *arguments]
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, **output)

    def wait(self) -> int:
        """Wait for its end, and return its exit status: 1 if tests failed, more if something else went wrong."""
        return self._process.wait()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()

    @property
    def failed(self) -> list[str]:
        """The tests that failed; of a notebook, whose cells need those before them, the whole file."""
        kept = self._cache / "v" / "cache" / "lastfailed"
        ids = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        return list(dict.fromkeys(id.partition("::")[0] if ".ipynb::" in id else id for id in ids))


def main() -> int:
    """Run all tests, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "browser.txt"), "w+") as shown_later:
        print("The tests in tests/browser run beside the others; what they print follows at the end.", flush=True)
        browser = Process(BROWSER, f"{folder}/browser", stdout=shown_later, stderr=subprocess.STDOUT)
        others = Process(OTHERS, f"{folder}/others")
        try:
            statuses = {others.wait(), browser.wait()}
        finally:
            browser.kill()
            others.kill()
        shown_later.seek(0)
        print(shown_later.read(), flush=True)
        failed = [*others.failed, *browser.failed]
        if not failed or statuses - {0, 1}:
            return max(abs(status) for status in statuses)
        print(f"Once more, by themselves: {len(failed)} that failed.", flush=True)
        again = Process(failed, f"{folder}/again")
        status = again.wait()
        unsteady = [id for id in failed if id not in again.failed]
        if unsteady and status in (0, 1):
            print(
                "UNSTEADY: these tests failed beside the others, and passed by themselves. Mend them:",
                *unsteady,
                sep="\n  ",
            )
        return abs(status)


if __name__ == "__main__":
    sys.exit(main())
