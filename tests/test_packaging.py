"""The distributions contain all of the package, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
FRONT_END = {f"agentkit/static/{name}" for name in ("widget.js", "table.js", "loader.js", "page.js", "page.css")}
WEIGHTS = {f"agentkit/models/tiny/{name}.npz" for name in ("early", "middle", "final")}
NO_NODE = {**os.environ, "PATH": "/nonexistent"}


def python_m(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, env=env, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr


def build(kind: str, folder: Path) -> Path:
    python_m("hatchling", "build", "-t", kind, "-d", folder)
    return next(folder.iterdir())


def package_files() -> set[str]:
    files = (path.relative_to(ROOT) for path in (ROOT / "agentkit").rglob("*") if path.is_file())
    return {file.as_posix() for file in files if not any(part.startswith((".", "__pycache__")) for part in file.parts)}


def test_the_citation_names_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation and f"license: {project['license']}\n" in citation


def test_the_wheel_contains_the_package_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        scripts = next(wheel.read(name).decode() for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert names == package_files() >= FRONT_END | WEIGHTS
    assert "agentkit = agentkit.cli:main" in scripts


def test_the_source_archive_contains_the_package_and_the_files_that_the_build_reads(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    extra = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore", "hatch_build.py"}
    assert names == package_files() | extra
    assert names >= FRONT_END | WEIGHTS


def test_a_source_archive_can_be_installed_without_node_and_without_the_network(tmp_path: Path) -> None:
    archive = build("sdist", tmp_path / "archive")
    python_m(
        "pip",
        "wheel",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        tmp_path,
        archive,
        cwd=tmp_path,
        env=NO_NODE,
    )
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        assert set(wheel.namelist()) >= FRONT_END


@pytest.mark.timeout(300)
def test_a_fresh_checkout_can_be_built_on_a_machine_without_node(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for folder in ("agentkit", "widgets"):
        shutil.copytree(
            ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("node_modules", "static", "__pycache__")
        )
    for file in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, checkout)
    python_m("pip", "wheel", "--no-deps", "-w", tmp_path, checkout, env=NO_NODE)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        assert set(wheel.namelist()) >= FRONT_END
        assert wheel.getinfo("agentkit/static/widget.js").file_size > 1000
