"""No path leads out of a folder: not by dots, links, other spellings or the kernel's files, and not in a race."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentkit.errors import ToolError, UsageError
from agentkit.sandbox.paths import AccessDenied, Folder
from agentkit.tools.builtin.files import Files

CANARY = "the canary outside of the folder"
ROUNDS = 300 * int(os.environ.get("AGENTKIT_SIZE", "5"))
"""How often each race is run; `AGENTKIT_SIZE` sets the number."""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Return a folder `in` with links of every kind, beside a folder `out` and a folder whose name begins the same."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside / "sub" / "deep", inside / ".git", inside / ".ssh", outside / "deep", tmp_path / "in-not"):
        folder.mkdir(parents=True)
    for canary in (outside / "secret.txt", outside / "deep" / "secret.txt", tmp_path / "secret.txt"):
        canary.write_text(CANARY)
    for canary in (
        inside / ".git" / "config",
        inside / ".env",
        inside / ".ssh" / "id_rsa",
        tmp_path / "in-not" / "secret.txt",
    ):
        canary.write_text(CANARY)
    (inside / "sub" / "file.txt").write_text("inside")
    links = {
        "up": "..",
        "out": "../out",
        "absolute": str(outside),
        "root": "/",
        "file": "../out/secret.txt",
        "chain": "chain2",
        "chain2": "sub/../out",
        "sub/up": "..",
        "sub/up2": "../..",
        "sub/deep/up3": "../../../out",
        "proc": "/proc/self",
        "cwd": "/proc/self/cwd",
        "fd": "/dev/fd",
        "loop": "loop",
        "hidden": ".git",
        "hidden2": "sub/../.git/config",
        "self": ".",
        "same": str(inside),
        "new": "../out/new.txt",
    }
    for name, target in links.items():
        (inside / name).symlink_to(target)
    return inside


OUTSIDE_NAMES = ("out/secret.txt", "secret.txt", "in-not/secret.txt", "out/deep/secret.txt")


def escapes() -> list[str]:
    """Return paths that lead out of the folder `in`, or to what is hidden in it; `{base}` is the folder above it."""
    up = [
        "..", "../", "./..", "sub/../..", "sub/deep/../../..", ".//..", "..//", "./sub/./../..", "self/..", "self/self/..",
        "sub/up/..", "sub/up/up", "sub/up2", "up", "up/", "up/.", "sub/../up", "self/up", "missing/../..", "sub/file.txt/../../..",
        "sub/up/sub/up/up", "{base}/in/..", "{base}/in/sub/../..", "{base}/in/up", "{base}", "//{base}", "/./{base}", "{base}/in/../in/..",
        "/proc/self/root{base}", "/proc/self/cwd/../../..{base}", "root{base}", "root/{base}", "self/root{base}", "sub/up/root{base}",
    ]  # fmt: skip
    combined = [f"{way}/{name}" for way, name in itertools.product(up, OUTSIDE_NAMES)]
    single = [
        "out/secret.txt", "absolute/secret.txt", "file", "chain/secret.txt", "chain2/secret.txt", "sub/deep/up3/secret.txt",
        "self/file", "sub/up/file", "out/deep/../secret.txt", "absolute/../secret.txt", "loop", "loop/x", "cwd/secret.txt",
        "proc/environ", "proc/root/etc/passwd", "proc/mem", "fd/0", "root/etc/passwd", "root/proc/self/environ", "/etc/passwd",
        "/proc/self/environ", "/proc/self/mem", "/proc/self/fd/0", "/dev/stdin", "/dev/mem", "//etc/passwd", "///etc/passwd",
        "same/sub/file.txt", "same/../secret.txt", "new", "..\x00/secret.txt", "sub\x00/../../secret.txt", "{base}/in-not/secret.txt",
        "{base}/in\x00/../secret.txt", "{base}/in/../secret.txt", "\ud800/../../secret.txt", "a/" * 200 + "../" * 201 + "secret.txt",
        "../" * 500 + "etc/passwd", "x" * 300 + "/../../secret.txt", "x" * 5000,
        ".git/config", ".GIT/config", ".Git/config", ".git./config", ".git /config", ".g\u200cit/config", "．git/config", ".env",
        ".ENV", ".env.local", "sub/../.git/config", "hidden/config", "hidden2", "self/.git/config", ".ssh/id_rsa", "sub/up/.git/config",
        "{base}/in/.git/config", "{base}/in/.env", "self/hidden/config", ".git//config", "./.git/./config",
    ]  # fmt: skip
    return combined + single


def everything_outside(world: Path) -> dict[str, object]:
    """Return what is beside the folder and what is hidden in it: each file with its content, each folder."""
    paths = [path for path in world.parent.rglob("*") if world not in (path, *path.parents)]
    paths += [path for name in (".git", ".env", ".ssh") for path in (world / name, *(world / name).rglob("*"))]
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def test_of_many_ways_out_none_leads_out(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    box, tried, out = Files(world, write=True), 0, []
    before = everything_outside(world)
    for path in (text.format(base=str(world.parent)) for text in escapes()):
        attempts: list[Callable[[], str]] = [
            lambda path=path: box.read_file(path),
            lambda path=path: box.list_files(path),
            lambda path=path: box.search_files("canary", path),
            lambda path=path: box.edit_file(path, CANARY, "changed"),
            lambda path=path: box.write_file(path, "written"),
            lambda path=path: box.write_file(f"{path}/new.txt", "written"),
        ]
        for attempt in attempts:
            tried += 1
            with contextlib.suppress(ToolError):
                result = attempt()
                if CANARY in result or "secret.txt" in result or "root:" in result:
                    out.append(path)
        assert everything_outside(world) == before, path
    print(f"{len(escapes())} paths, {tried} attempts, {len(out)} out")
    assert len(escapes()) >= 150
    assert out == []


@pytest.mark.parametrize("path", ["..", "up/secret.txt", "absolute", "/etc/passwd", ".git/config", "hidden2"])
def test_the_model_is_told_that_the_access_is_denied(world: Path, path: str) -> None:
    with pytest.raises(AccessDenied, match=r"^Access denied: '.*' (is outside of the folder|leads to '.git')"):
        Folder(world).read(path, limit=100)


@pytest.mark.parametrize(
    "path",
    [
        "sub/file.txt",
        "./sub//file.txt",
        "sub/deep/../file.txt",
        "self/sub/file.txt",
        "sub/up/sub/file.txt",
        "{in}/sub/file.txt",
    ],
)
def test_every_way_that_stays_inside_is_open(world: Path, path: str) -> None:
    assert Folder(world).read(path.replace("{in}", str(world)), limit=100) == b"inside"


def test_a_path_that_leads_through_too_many_links_or_folders_is_refused(world: Path) -> None:
    for number in range(60):
        (world / f"l{number}").symlink_to(f"l{number + 1}")
    for path in ("l0", "loop", "sub/" * 3 + "x", "a/" * 150):
        with pytest.raises(ToolError):
            Folder(world).read(path, limit=100)


def test_what_is_not_a_regular_file_is_not_read(world: Path) -> None:
    os.mkfifo(world / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(world / "socket"))
        for path in ("pipe", "socket", "sub"):
            with pytest.raises(ToolError):
                Folder(world).read(path, limit=100)
    with pytest.raises(ToolError, match="not a regular file"):
        Folder(world).write("pipe", b"")
    assert [place for place, content in Folder(world).files(limit=100) if content] == ["sub/file.txt"]


def test_the_files_of_the_kernel_are_closed_even_if_the_folder_is_the_root() -> None:
    for path in ("proc/self/environ", "/proc/self/status", "sys/kernel", "/proc"):
        with pytest.raises(ToolError, match="Access denied"):
            Folder("/").read(path, limit=10_000)
    with pytest.raises(UsageError, match="a folder of the kernel"):
        Folder("/proc/self")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        Folder(tmp_path / "missing")


def test_a_file_is_replaced_as_a_whole_and_keeps_its_permissions(world: Path) -> None:
    (world / "script").write_text("old")
    (world / "script").chmod(0o750)
    Folder(world).write("script", b"new")
    assert ((world / "script").read_text(), (world / "script").stat().st_mode & 0o777) == ("new", 0o750)
    with pytest.raises(ToolError, match="changed in the meantime"):
        Folder(world).write("script", b"newer", expected=b"old")
    assert (world / "script").read_text() == "new"
    assert not list(world.glob("*.new")) + list(world.glob(".*.new"))


def test_no_handle_stays_open(world: Path) -> None:
    folder, count = Folder(world), len(os.listdir("/dev/fd"))
    for path in ("sub/file.txt", "missing/x", "up/x", "loop", "sub", ".git", "a/" * 150, "sub/deep/../../sub/file.txt"):
        for attempt in (
            lambda path=path: folder.read(path, limit=3),
            lambda path=path: folder.write(f"{path}/x", b""),
            lambda path=path: folder.entries(path),
            lambda path=path: next(folder.files(path, limit=100)),
        ):
            with contextlib.suppress(ToolError, StopIteration):
                attempt()
    assert len(os.listdir("/dev/fd")) == count


# -- races -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def swapping(swap: Callable[[], object]) -> Iterator[None]:
    """Swap something as fast as possible in another thread, while the body runs."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                swap()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def replace_by_link(path: Path, other: Path) -> None:
    """Put a link in the place of a folder or a file, or what was there before in the place of the link."""
    spare = path.with_name("spare")
    if path.is_symlink():
        os.unlink(path)
        os.rename(spare, path)
        return
    if spare.is_dir():  # a write has made the folder anew in the moment in which it was missing
        shutil.rmtree(spare)
    os.rename(path, spare)
    os.symlink(other, path)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["folder", "file", "parent", "relative"])
def test_a_race_with_somebody_who_swaps_links_is_never_won(world: Path, what: str) -> None:
    outside, deep = world.parent / "out", world / "sub" / "deep"
    (deep / "secret.txt").write_text("inside")
    swapped, other, path = {
        "folder": (deep, outside, "sub/deep/secret.txt"),
        "file": (deep / "secret.txt", outside / "secret.txt", "sub/deep/secret.txt"),
        "parent": (world / "sub", outside, "sub/deep/secret.txt"),
        "relative": (deep, Path("../../out"), "sub/deep/secret.txt"),
    }[what]
    box, inside, denied, out = Files(world, write=True), 0, 0, 0
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    end = time.monotonic() + 60
    with swapping(lambda: replace_by_link(swapped, other)):
        for number in itertools.count():
            if (number >= ROUNDS and inside and denied) or time.monotonic() > end:
                break
            try:
                if number % 3 == 0:
                    text = box.read_file(path)
                elif number % 3 == 1:
                    text = box.search_files("a", "sub")
                else:
                    text = box.write_file(path, "inside")
                out += CANARY in text
                inside += 1
            except ToolError:
                denied += 1
    print(f"{what}: {inside} inside, {denied} denied, {out} out")
    assert out == 0
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert inside and denied, "the race was not a race"
