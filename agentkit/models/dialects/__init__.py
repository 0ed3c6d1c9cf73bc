"""The dialects by name, and the one that suits a model."""

from __future__ import annotations

from agentkit.core.steps import Tools
from agentkit.errors import Unknown
from agentkit.models.base import Abilities
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.json_mode import Json
from agentkit.models.dialects.native import Native
from agentkit.models.dialects.text import Text

__all__ = ["DIALECTS", "choose", "get"]

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (Native(), Json(), Text())}


def get(name: str) -> Dialect:
    """Return the dialect with this name. Raises `Unknown`."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise Unknown("dialect", name, DIALECTS) from None


def choose(abilities: Abilities, tools: Tools = ()) -> Dialect:
    """Return the dialect that makes the most of a model's abilities: native calls, else JSON mode, else text."""
    return DIALECTS["native" if abilities.tools else "json" if abilities.json else "text"]
