"""Options of an agent and of its engine in one dict, as tests write them, separated for `Agent(...)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit import Loop
from agentkit.agent.options import NAMES

AGENT = (*NAMES, "model", "tools")


def split(options: Mapping[str, Any], engine: Any = "react") -> dict[str, Any]:
    """Return the arguments for `Agent`; names that are not options of an agent are options of the engine."""
    options = dict(options)
    engine = options.pop("engine", engine)
    own = {name: options.pop(name) for name in list(options) if name not in AGENT}
    if isinstance(engine, Loop):
        engine, own = engine.engine, {**engine.options, **own}
    return {"engine": Loop(engine, **own) if own else engine, **options}
