"""The page about telemetry shows what its example prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "telemetry.md"


def test_the_console_exporter_prints_what_the_page_shows() -> None:
    page = PAGE.read_text()
    program = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0]
    shown = page[page.index("the innermost come first") :].split("\n\n")[1]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [line.removeprefix("    ") for line in shown.splitlines()], done.stderr
