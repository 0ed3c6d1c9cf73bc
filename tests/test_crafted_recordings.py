"""Opening somebody else's recording runs no code, raises only typed errors, and takes a bounded amount of memory.

Set AGENTKIT_CRAFTED to open more files than CI does, such as 300; run with `-s` to see the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crafted_recordings import (
    CANARY,
    LARGE,
    SCRIPTS,
    Crafted,
    as_journal,
    as_notebook,
    as_text,
    crafted,
    large,
    recorded,
)

pytestmark = pytest.mark.slow

SIZE = int(os.environ.get("AGENTKIT_CRAFTED", "60"))
BATCH = 30
SECONDS = 240
MAX_MEMORY = 200
"""Megabytes of a whole process that opens a file of 2 MB."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a module that must never be imported, and with harmless files of each kind."""
    folder = tmp_path_factory.mktemp("crafted")
    (folder / f"{CANARY}.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\ndef engine(task, **more): yield\n")
    data = recorded("reflexion")
    for name, content in {
        "warm.load": as_text(data),
        "warm.notebook.ipynb": as_notebook(data),
        "warm.resume": as_journal(data),
        "warm.persona": as_text({"solvers": ["react"], "plugin-config": {"react": {"brain": "offline"}}}),
    }.items():
        (folder / name).write_bytes(content)
    return folder


def opened(folder: Path, files: list[Crafted]) -> list[dict[str, Any]]:
    """Open files in a child process, and return what happened to each."""
    names = []
    for number, file in enumerate(files):
        names.append(f"{number}.{file.door}.{file.engine}{'.ipynb' if file.door == 'notebook' else ''}")
        (folder / names[-1]).write_bytes(file.content)
    script = Path(__file__).parent / "crafted_recordings.py"
    environment = {**os.environ, "AGENTKIT_HOME": str(folder), "AGENTKIT_LOCAL": "none", "PYTHONFAULTHANDLER": "1"}
    child = subprocess.run(
        [sys.executable, script, folder, *names], capture_output=True, text=True, timeout=SECONDS, env=environment
    )
    found = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(found) == len(files), f"{files[len(found)].label}: {child.stderr[-3000:]}"
    return [{**file._asdict(), **about} for file, about in zip(files, found, strict=True)]


def test_crafted_recordings_run_no_code_and_raise_only_typed_errors(folder: Path) -> None:
    files, results = list(crafted(SIZE)), []
    for start in range(0, len(files), BATCH):
        results += opened(folder, files[start : start + BATCH])
    ran = [(about["door"], about["label"], about["ran"], about["printed"]) for about in results if about["ran"]]
    printed = [(about["door"], about["label"], about["printed"]) for about in results if about["printed"]]
    untyped = [about for about in results if about["error"].startswith("untyped")]
    kinds = Counter(about["error"] or about["text"].partition(":")[0].partition(" ")[0] for about in results)
    print(f"\n{len(results)} files: code run {len(ran)}, untyped errors {len(untyped)}; {dict(kinds)}")
    assert not ran and not (folder / "ran").exists(), ran[:5]
    assert not printed, printed[:5]
    assert not untyped, [(about["door"], about["label"][:200], about["text"]) for about in untyped[:12]]
    assert kinds["paused"] + kinds["readonly"] + kinds["done"] > len(results) // 20


@pytest.mark.parametrize("kind", LARGE)
def test_a_file_of_two_megabytes_takes_a_bounded_amount_of_memory(folder: Path, kind: str) -> None:
    content = large(kind)
    door = "notebook" if kind.startswith("packed") else "resume" if kind == "journal" else "load"
    (about,) = opened(folder, [Crafted(door, kind, content)])
    print(
        f"\n{kind}: {len(content) >> 10} kB, {about['before']} -> {about['peak']} MB; {about['error']} {about['text']:.150}"
    )
    assert not about["error"].startswith("untyped"), about["text"]
    assert about["peak"] < MAX_MEMORY


def test_the_recordings_that_are_crafted_can_be_opened_as_they_were(folder: Path) -> None:
    files = [Crafted("load", engine, as_text(recorded(engine))) for engine in SCRIPTS]
    assert [about["error"] for about in opened(folder, files)] == [""] * len(files)
