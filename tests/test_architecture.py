"""The house rules that a reader relies on: layers, sizes, purity, and what stands at the front."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# From the ground up. A module imports from lines above its own, never from its own line, and freely within its own package.
LAYERS = """
    errors usage lines plugins endings
    messages secrets background interrupts places home shapes
    prose
    steps graph
    structured drafting
    tools engines around lanes
    registry stepper settings
    recommend models
    journal
    tree events memory
    injection moves loading behind progress
    history gates
    spending limits
    host answers budget
    desk
    effects
    works
    drive lease
    control
    show changes
    beside
    result
    edits
    stepping export decisions
    run
    log outfit resuming sessions lessons
    agent
    reopened reprs comparison persona
    view
    notebook serve
    cli integrations
    __init__ __main__
""".strip()
LEVEL = {unit: level for level, line in enumerate(LAYERS.splitlines()) for unit in line.split()}

# What decides and never performs: it imports only its like, and of the standard library only what does no I/O.
PURE_NAMES = "errors lines usage endings messages shapes prose graph steps structured drafting engines around places lanes stepper"
PURE = set(PURE_NAMES.split())
PURE_LIBRARY = """
    __future__ bisect collections copy dataclasses difflib enum functools graphlib hashlib heapq inspect itertools json
    linecache math operator re string textwrap tokenize types typing
"""
PERFORMS = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}

FILE_LINES, FUNCTION_LINES, ENGINE_LINES = 300, 40, 60
LONGER: dict[str, str] = {}  # "module.function": why it is better in one piece

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "agentkit").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path): path for path in sorted((ROOT / "agentkit").rglob("*.py"))}
TREES = {name: parse(path) for name, path in MODULES.items()}
every_module = pytest.mark.parametrize("name", MODULES)


def unit_of(name: str) -> str:
    """Give the module or package directly below agentkit that a module belongs to."""
    return name.split(".")[0]


def imports(name: str) -> Iterator[tuple[str, int]]:
    """Give what a module imports at run time, also late, as full names with the line; what only types need is left out."""
    waiting: list[ast.AST] = [TREES[name]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: imports are absolute"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        else:
            waiting += ast.iter_child_nodes(node)


def units_imported(name: str) -> Iterator[tuple[str, int]]:
    """Give the parts of agentkit that a module imports; a name from the front itself counts as `__init__`."""
    for full, line in imports(name):
        package, _, rest = full.partition(".")
        if package == "agentkit":
            yield (unit_of(rest) if unit_of(rest) in {unit_of(module) for module in MODULES} else "__init__"), line


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def is_generator(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


@every_module
def test_a_module_has_a_layer(name: str) -> None:
    assert unit_of(name) in LEVEL, f"say in LAYERS where {unit_of(name)} stands"


@every_module
def test_imports_point_one_way(name: str) -> None:
    unit = unit_of(name)
    upward = [
        f"{name}:{line} imports {other}"
        for other, line in units_imported(name)
        if other != unit and LEVEL.get(other, 99) >= LEVEL.get(unit, 99)
    ]
    assert not upward


@every_module
def test_what_decides_performs_nothing(name: str) -> None:
    if unit_of(name) not in PURE:
        return
    own = [f"{name}:{line} imports {unit}" for unit, line in units_imported(name) if unit not in PURE]
    foreign = [
        f"{name}:{line} imports {full}"
        for full, line in imports(name)
        if full.split(".")[0] not in {"agentkit", *PURE_LIBRARY.split()}
    ]
    calls = [
        f"{name}:{node.lineno} calls {node.func.id}"
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PERFORMS
    ]
    assert not own + foreign + calls


@every_module
def test_a_file_is_read_in_one_sitting(name: str) -> None:
    length = len(MODULES[name].read_text(encoding="utf-8").splitlines())
    assert length <= FILE_LINES


@every_module
def test_a_function_is_read_at_a_glance(name: str) -> None:
    for function in functions(TREES[name]):
        limit = ENGINE_LINES if unit_of(name) == "engines" and is_generator(function) else FUNCTION_LINES
        assert function.end_lineno is not None
        length = function.end_lineno - function.lineno + 1
        assert length <= limit or f"{name}.{function.name}" in LONGER, (
            f"{name}.{function.name} has {length} lines, more than {limit}"
        )


def test_no_exception_is_kept_that_is_not_needed() -> None:
    sizes = {f"{name}.{f.name}": (f.end_lineno or 0) - f.lineno + 1 for name, tree in TREES.items() for f in functions(tree)}
    assert [name for name in LONGER if sizes.get(name, 0) <= FUNCTION_LINES] == []


@every_module
def test_no_module_is_named_for_leftovers(name: str) -> None:
    assert not {"utils", "helpers", "common", "misc"} & set(name.split("."))
    classes = [node.name for node in ast.walk(TREES[name]) if isinstance(node, ast.ClassDef)]
    assert not [cls for cls in classes if cls.endswith(("Manager", "Handler")) or cls.startswith(("Base", "Abstract"))]


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.stem)
def test_tests_use_real_parts(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not any("mock" in name.split(".") for name in names), f"{path.name}:{node.lineno} imports mock"
        if isinstance(node, ast.arg):
            assert node.arg != "mocker", f"{path.name}:{node.lineno} asks for mocker"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr" and node.args:
            assert not replaces_our_own(node.args[0], path), f"{path.name}:{node.lineno} replaces a part of agentkit"


def replaces_our_own(target: ast.expr, path: Path) -> bool:
    """Say whether the target of a `monkeypatch.setattr` is a part of agentkit: a path in a string, or an imported name."""
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


def test_the_front_is_sorted_short_and_complete() -> None:
    import agentkit

    assert agentkit.__all__ == sorted(agentkit.__all__)
    assert len(agentkit.__all__) <= 30
    assert [name for name in agentkit.__all__ if not hasattr(agentkit, name)] == []
