"""The browser: headless Chromium, restricted to this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser.servers import find_node
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
UNPACKED = FOLDER / "node_modules" / ".unpacked"
"""Where `make test` unpacks Chromium from npm if the machine has none."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield the browser with a new profile. Raises `FileNotFoundError` if there is none."""
    program, variables = find_chromium()
    os.environ["PLAYWRIGHT_NODEJS_PATH"] = find_node()  # Playwright's own node needs a library that bare systems lack
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS, env={**os.environ, **variables})
        yield browser
        browser.close()


def find_chromium() -> tuple[str, dict[str, str]]:
    """Return the path of Chromium, and the environment variables that it needs.

    It is the one that the variable CHROMIUM names, or else the machine's, or else the one from npm.
    """
    if program := os.environ.get("CHROMIUM") or shutil.which("chromium"):
        return program, {}
    if not (UNPACKED / "chromium").exists():
        raise FileNotFoundError("the tests in tests/browser need Chromium: run `make test` once, which installs it")
    libraries, fonts = UNPACKED / "lib", FOLDER / "fonts.conf"
    return str(UNPACKED / "chromium"), {"LD_LIBRARY_PATH": str(libraries), "FONTCONFIG_FILE": str(fonts)}
