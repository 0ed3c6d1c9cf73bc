"""Python that a model wrote runs in a process of its own, in a sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentkit.errors import ToolError
from agentkit.sandbox import Sandbox
from agentkit.sandbox.programs import HOLDS, available
from agentkit.tools.builtin.python import Python

pytestmark = pytest.mark.slow


def test_a_program_prints_into_the_result_and_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("from a file")
    box = Python(Sandbox(folder=tmp_path))
    assert asyncio.run(box.run_python("x = 6 * 7\nprint(x, open('data.txt').read())")).endswith("]\n42 from a file\n")
    failed = asyncio.run(box.run_python("print(x)"))
    assert failed.startswith("[exit code 1;") and "NameError: name 'x' is not defined" in failed
    assert "(no output)" in asyncio.run(box.run_python(""))
    for code in ("\0", "x" * 200_000):
        with pytest.raises(ToolError, match="null characters"):
            asyncio.run(box.run_python(code))


@pytest.mark.parametrize("level", [level for level in available() if "files" in HOLDS[level]])
def test_a_program_does_not_leave_its_folder_or_see_the_secrets(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-verysecret")
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("verysecret")
    box = Python(Sandbox(level, folder=tmp_path / "work"))  # type: ignore[arg-type]
    for code in (
        f"print(open({str(tmp_path / 'secret.txt')!r}).read())",
        "import os; print(dict(os.environ))",
        f"import subprocess; print(subprocess.run(['cat', {str(tmp_path / 'secret.txt')!r}], capture_output=True).stdout)",
        "import os; print(open(f'/proc/{os.getppid()}/environ').read())",
        f"open({str(tmp_path / 'new.txt')!r}, 'w')",
    ):
        assert "verysecret" not in asyncio.run(box.run_python(code))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.txt", "work"]
