"""Run all tests, in two processes side by side: those in a browser, which wait most of the time, and all others.

    python tests/run_all.py

The output of the others is shown at once, that of the browser tests when both have ended. The exit status is 1 if a
test failed. The tests see no model of this machine, and no runs of its user.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BROWSER = ["tests/browser"]
OTHERS = [
    *("--nbval", "--nbval-sanitize-with", "tests/nbval.cfg"),
    *("--ignore", "tests/browser", "tests", "notebooks"),
]


def start(arguments: list[str], home: str, **output: Any) -> subprocess.Popen[bytes]:
    """Start pytest; its runs are kept in the folder `home`."""
    environment = {name: value for name, value in os.environ.items() if name != "AGENTKIT_MODEL"}
    environment |= {"AGENTKIT_HOME": home, "AGENTKIT_LOCAL": "none", "AGENTKIT_NONINTERACTIVE": "1"}
    return subprocess.Popen([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, env=environment, **output)


def main() -> int:
    """Run all tests, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "browser.txt"), "w+") as shown_later:
        print("The tests in tests/browser run beside the others; what they print follows at the end.", flush=True)
        browser = start(BROWSER, f"{folder}/browser", stdout=shown_later, stderr=subprocess.STDOUT)
        try:
            others = start(OTHERS, f"{folder}/others").wait()
            status = browser.wait()
        finally:
            browser.kill()
        shown_later.seek(0)
        print(shown_later.read(), flush=True)
    return int(bool(others or status))


if __name__ == "__main__":
    sys.exit(main())
