"""Tests use real parts: nothing of agentkit is mocked or replaced; `Scripted` is the public stand-in for a model."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.stem)
def test_tests_use_real_parts(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom) and node.module == "unittest.mock":
                names = [name for name in names if not name.endswith("Mock")]  # objects that people pass to agentkit
            elif isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            is_clean = not any({"mock", "patch", "*"} & {*name.split(".")} for name in names)
            assert is_clean, f"{path.name}:{node.lineno} imports mock"
        if isinstance(node, ast.arg):
            assert node.arg != "mocker", f"{path.name}:{node.lineno} asks for mocker"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setattr"
            and node.args
        ):
            assert not replaces_our_own(node.args[0], path), f"{path.name}:{node.lineno} replaces a part of agentkit"


def replaces_our_own(target: ast.expr, path: Path) -> bool:
    """Return whether the target of a `monkeypatch.setattr` is a part of agentkit: a path in a str, or an imported name."""
    if isinstance(target, ast.Constant):
        return str(target.value).startswith("agentkit")
    found = [node for node in ast.walk(parse(path)) if isinstance(node, ast.Import | ast.ImportFrom)]
    ours = {
        (alias.asname or alias.name).split(".")[0]
        for node in found
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] == "agentkit"
    }
    return any(isinstance(node, ast.Name) and node.id in ours for node in ast.walk(target))
