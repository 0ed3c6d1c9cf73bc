"""Models, and how they are asked.

Any function of one argument is a model (base.py). `Scripted` and `Echo` need no host (scripted.py), `offline` follows a
few rules. `OpenAI`, `Anthropic` and `Ollama` are models behind an API: each file translates for one provider, a
`Remote` asks it (remote.py), and connections, retries and errors are in transport/. `Fallback` asks several in turn;
a `Cassette` records the replies of a model, a `Tape` all HTTP exchanges. resolve.py finds a model by its name.
A chat is written for a model, and its reply is read, by a dialect (dialects/).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.models.anthropic import Anthropic
    from agentkit.models.base import Abilities
    from agentkit.models.cassette import Cassette
    from agentkit.models.fallback import Fallback
    from agentkit.models.ollama import Ollama
    from agentkit.models.openai import OpenAI
    from agentkit.models.scripted import Echo, Scripted
    from agentkit.models.tape import Tape

__all__ = ["Abilities", "Anthropic", "Cassette", "Echo", "Fallback", "Ollama", "OpenAI", "Scripted", "Tape"]

_MODULES = {
    "Abilities": "base",
    "Anthropic": "anthropic",
    "Cassette": "cassette",
    "Echo": "scripted",
    "Fallback": "fallback",
    "Ollama": "ollama",
    "OpenAI": "openai",
    "Scripted": "scripted",
    "Tape": "tape",
}


def __getattr__(name: str) -> Any:
    """Import a model class when it is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
