"""A tool: a function that a model may call, with the schemas of what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Effect = Literal["pure", "idempotent", "irreversible"]


@dataclass(slots=True, eq=False)
class Tool:
    """(contract; to be filled in) """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    returns: dict[str, Any] = field(default_factory=dict)
    effect: Effect = "irreversible"
    timeout: float | None = 120.0
    ends_turn: bool = False
    is_async: bool = False
