"""The architecture: which room may import from which, no import cycles, and which rooms perform nothing."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

# From the ground up. A module imports from rooms further up this list, and freely within its own room, but never in a
# cycle. Imports under TYPE_CHECKING and inside functions count, too: they also make one module depend on the other.
ROOMS = (
    *(
        "inert",
        "errors",
        "config",
        "core",
        "sandbox",
        "tools",
        "engines",
        "models",
        "journal",
        "audit",
        "memory",
        "around",
        "stepper",
        "trace",
        "hooks",
    ),
    *(
        "gates",
        "runtime",
        "export",
        "telemetry",
        "run",
        "agent",
        "experiments",
        "mcp",
        "view",
        "serve",
        "notebook",
        "classroom",
        "integrations",
        "cli",
        "__init__",
        "__main__",
    ),
)

# Rooms that decide and never perform: no I/O, no clock, no threads, no randomness. Finding engines by name is the
# exception.
PURE, EXCEPTIONS = {"inert", "errors", "engines", "around", "stepper"}, {"engines.registry"}
PURE_ROOMS = {*PURE, "core", "models", "tools"}  # of models and tools, they use only plain data
PURE_LIBRARY = {
    *("__future__", "bisect", "collections", "copy", "dataclasses", "difflib", "enum", "functools", "hashlib", "heapq"),
    *("inspect", "itertools", "json", "linecache", "math", "operator", "re", "string", "textwrap", "tokenize", "types"),
    *("annotated_types", "typing"),
}
PERFORMS = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / "agentkit").rglob("*.py"))
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in PATHS}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
every_module = pytest.mark.parametrize("name", MODULES)


def imports(name: str) -> Iterator[str]:
    """Yield the names that a module imports, anywhere in it: the full name of a module if possible."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)


def own_imports(name: str) -> set[str]:
    return {other for other in imports(name) if other.split(".")[0] == "agentkit"} - {name}


def room(name: str) -> str:
    return [*name.split("."), "__init__"][1]


@every_module
def test_a_module_imports_only_from_rooms_below_its_own(name: str) -> None:
    allowed = ROOMS[: ROOMS.index(room(name)) + 1]
    assert [other for other in own_imports(name) if room(other) not in allowed] == []


def test_there_are_no_import_cycles() -> None:
    list(graphlib.TopologicalSorter({name: own_imports(name) for name in MODULES}).static_order())  # raises CycleError


@every_module
def test_rooms_that_decide_perform_nothing(name: str) -> None:
    if room(name) not in PURE or name.removeprefix("agentkit.") in EXCEPTIONS:
        return
    used = [room(other) if other in MODULES else other.split(".")[0] for other in imports(name)]
    calls = [
        node.func.id for node in ast.walk(TREES[name]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert [other for other in used if other not in PURE_ROOMS | PURE_LIBRARY] == []
    assert PERFORMS & set(calls) == set()


@every_module
def test_no_module_is_named_after_leftovers(name: str) -> None:
    assert not {"utils", "helpers", "common", "misc"} & set(name.split("."))
    classes = [node.name for node in ast.walk(TREES[name]) if isinstance(node, ast.ClassDef)]
    assert not [cls for cls in classes if cls.endswith(("Manager", "Handler")) or cls.startswith(("Base", "Abstract"))]


def test_the_public_names_are_sorted_few_and_complete() -> None:
    import agentkit

    assert agentkit.__all__ == sorted(agentkit.__all__)
    assert len(agentkit.__all__) <= 30
    assert [name for name in agentkit.__all__ if not hasattr(agentkit, name)] == []
