"""A cell that is run from the middle of a notebook says in one line what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from kernel.conftest import Kernel, started

from agentkit.classroom import load_ipython_extension, unload_ipython_extension

LESSONS = Path(__file__).parents[2] / "notebooks"
LINE = "NameError: `{}` is not defined. Run the cells above first, or check the spelling."


@pytest.fixture
def shell() -> InteractiveShell:
    """Return a shell with the extension."""
    shell = InteractiveShell(colors="nocolor")
    load_ipython_extension(shell)
    return shell


def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str], code: str) -> str:
    """Return what a cell that fails shows."""
    assert not shell.run_cell(code).success
    out, err = capsys.readouterr()
    return (out + err).strip()


def test_a_missing_name_is_one_line(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(shell, capsys, "x = 1\nrun.edit(2, text='5.5')\nprint('on')") == LINE.format("run")


def test_every_cell_says_it(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("agent", "guess", "agent"):
        assert shown(shell, capsys, name) == LINE.format(name)


def test_a_missing_name_in_a_function_keeps_its_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(shell, capsys, "def answer():\n    return the_answer\n\nanswer()")
    assert "Traceback" in text and "return the_answer" in text


def test_other_errors_keep_their_traceback(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in shown(shell, capsys, "1 / 0")


def test_the_extension_can_be_unloaded(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    unload_ipython_extension(shell)
    assert "Traceback" in shown(shell, capsys, "agent")


def test_a_handler_that_is_already_there_stays(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell()
    shell.set_custom_exc((NameError,), lambda *_, tb_offset=None: print("mine"))
    load_ipython_extension(shell)
    assert shown(shell, capsys, "agent") == "mine"


def errors(kernel: Kernel, source: str) -> list[str]:
    """Run a cell, and return the lines that it shows as an error."""
    lines: list[str] = []
    kernel.listeners = [lambda message: lines.extend(message["content"].get("traceback", ()))]
    kernel.finish(kernel.send(source))
    return lines


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Yield a fresh kernel with the configuration that `make lab` installs."""
    profile = tmp_path_factory.mktemp("ipython") / "profile_default"
    profile.mkdir()
    shutil.copy(LESSONS / "ipython_config.py", profile)
    with started(tmp_path_factory.mktemp("home"), IPYTHONDIR=str(profile.parent)) as running:
        yield running


def cells_that_need_others() -> Iterator[str]:
    """Yield the cells of the lessons that begin with what an earlier cell has made."""
    for path in sorted(LESSONS.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and cell.source.startswith(
                ("run.", "next(", "guess.reveal", "for entry in run")
            ):
                yield cell.source


def test_in_a_fresh_kernel_each_cell_that_needs_others_says_so_in_one_line(kernel: Kernel) -> None:
    sources = list(cells_that_need_others())
    assert len(sources) > 20
    for source in sources:
        (line,) = errors(kernel, source)
        assert line in (LINE.format(name) for name in ("run", "guess")), source


def test_a_notebook_that_has_imported_the_classroom_needs_no_configuration(tmp_path: Path, home: Path) -> None:
    with started(home, IPYTHONDIR=str(tmp_path)) as plain:
        assert len(errors(plain, "agent")) > 1
        plain.run("from agentkit.classroom import predict")
        assert errors(plain, "agent") == [LINE.format("agent")]
