"""Engines by name, and what is known of an engine: its parameters, its source."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from agentkit.errors import Unknown, UsageError

ENGINES = {"react": "agentkit.engines.react:react"}
"""The engines of this package, by name."""

AT_LEAST = {"max_iterations": 1}
"""The least value of the parameters that count something."""


def find(engine: Any) -> tuple[Callable[..., Any], str]:
    """Give an engine and its import path, for a name, an import path ("module:function"), or a generator function."""
    if isinstance(engine, str):
        path = ENGINES.get(engine, engine)
        module, _, name = path.partition(":")
        if not name:
            raise Unknown("engine", engine, ENGINES)
        try:
            return getattr(importlib.import_module(module), name), path
        except (ImportError, AttributeError) as error:
            raise Unknown("engine", engine, ENGINES) from error
    if not inspect.isgeneratorfunction(engine):
        raise UsageError(f"an engine is a generator function (it yields steps), not {engine!r}")
    return engine, f"{engine.__module__}:{engine.__qualname__}"


@functools.cache
def parameters(engine: Callable[..., Any]) -> tuple[str, ...]:
    """Name an engine's parameters, after the task."""
    return tuple(inspect.signature(engine).parameters)[1:]


def check(engine: Callable[..., Any], options: dict[str, Any], others: Iterable[str] = ()) -> None:
    """Check an engine's parameters. Raises `Unknown` for a name it does not have, `ValueError` for a value out of range."""
    known = parameters(engine)
    for name, value in options.items():
        if name not in known:
            raise Unknown("option", name, [*known, *others])
        if name in AT_LEAST and not (isinstance(value, int) and not isinstance(value, bool) and value >= AT_LEAST[name]):
            raise ValueError(f"{name} is a whole number of at least {AT_LEAST[name]}, not {value!r}")
        if name == "force_answer" and not isinstance(value, bool):
            raise ValueError(f"{name} is True or False, not {value!r}")


@functools.cache
def source(engine: Callable[..., Any]) -> dict[str, Any]:
    """Give an engine's source text and its digest; empty where Python does not have it."""
    try:
        text = inspect.getsource(engine)
    except (OSError, TypeError):
        text = ""
    return {"source": text, "source_digest": hashlib.sha256(text.encode()).hexdigest()[:32]}
