"""A lesson that needs a module of an extra says in one line what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from agentkit.classroom import needs


def test_nothing_happens_if_the_module_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    needs("json", extra="tiny")
    assert capsys.readouterr().out == ""


def test_a_missing_module_is_named_with_the_extra_to_install() -> None:
    with pytest.raises(
        UsageError, match=r"^this lesson needs no_such_module: run %pip install \"jupyter-agentkit\[tiny\]\""
    ):
        needs("no_such_module", extra="tiny")


def test_a_notebook_shows_one_line_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell()
    result = shell.run_cell('from agentkit.classroom import needs\nneeds("no_such_module", extra="tiny")\nprint("on")')
    out, err = capsys.readouterr()
    assert not result.success
    (line,) = (out + err).strip().splitlines()
    assert line.startswith("UsageError: this lesson needs no_such_module")


def test_a_module_that_is_there_but_broken_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_lesson_module.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        needs("broken_lesson_module", extra="tiny")
    assert "broken_lesson_module" not in sys.modules
