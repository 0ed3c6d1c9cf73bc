"""Which model answers: a name, a URL, an object, or the first that is found."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentkit.config import load_plugin, plugins, read_config
from agentkit.core import secrets
from agentkit.errors import Unknown, UsageError
from agentkit.models import keys
from agentkit.models.adapters import as_model

KNOWN = ("offline", "echo")
PREFIXES = ("openai:", "anthropic:", "ollama:")
PAID = {"OPENAI_API_KEY": "openai:gpt-5-mini", "ANTHROPIC_API_KEY": "anthropic:claude-haiku-4-5"}
"""Keys that are looked for when no model is named, and which model answers then."""
BRANDS = {**dict.fromkeys(("gpt", "chatgpt", "o1", "o3", "o4"), "openai:"), "claude": "anthropic:"}
"""How the names of models begin whose provider goes without saying elsewhere."""

_ADDRESS = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?/|[\w.-]+:\d{2,5}$|localhost$")
"""An address without its scheme; not a name with a version in it, such as gpt-4.1."""

_SPELLED = re.compile(r"(\w+)\s*[:/]+\s*(\S.*)")
"""A provider and a model, parted as other libraries do, or with spaces between them."""
_URL = re.compile(r"https?://", re.IGNORECASE)

_told: set[str] = set()


@dataclass(slots=True, frozen=True)
class Choice:
    """A model that was chosen, and why; `paid` names the key that it is paid with."""

    name: str
    why: str
    paid: str = ""


def find(model: Any) -> Any:
    """Give the model of a name, a URL or an object; for None the one that `choose` finds.

    A name is "offline", "echo", "openai:NAME", "anthropic:NAME" or "ollama:NAME"; a URL is that of a server which speaks
    like OpenAI, with `#NAME` where it has several models. Raises `Unknown` and `UsageError`.
    """
    if model is None:
        chosen = choose()
        _tell(chosen)
        model = chosen.name
    if not isinstance(model, str):
        return as_model(model)
    name = model.strip()
    if name == "offline":
        from agentkit.models.offline import Offline

        return Offline()
    if name == "echo":
        from agentkit.models.scripted import Echo

        return Echo()
    if _URL.match(name):
        return _at(name)
    provider, _, rest = name.partition(":")
    if f"{provider}:" in PREFIXES:
        if not rest.strip():
            raise UsageError(f"{model!r} names no model: write {provider}:NAME")
        return _MAKERS[provider](rest.strip())
    if (found := load_plugin("models", name)) is not None:
        return as_model(found() if isinstance(found, type) else found)
    raise Unknown(
        "model",
        secrets.mask(model),
        (*KNOWN, *plugins("models"), *(f"{prefix}NAME" for prefix in PREFIXES)),
        _meant(name),
    )


def _meant(name: str) -> str:
    """Give the name that somebody means who leaves out the provider or the scheme, as other libraries do; else ""."""
    spelled = _SPELLED.fullmatch(name)
    if spelled and f"{spelled[1].lower()}:" in PREFIXES:
        return f"{spelled[1].lower()}:{spelled[2]}"
    if _ADDRESS.match(name):
        return f"http://{name}"
    return next((provider + name.lower() for begin, provider in BRANDS.items() if name.lower().startswith(begin)), "")


def is_name(name: str) -> bool:
    """Say whether `find` would take this for a name."""
    return name in KNOWN or name.startswith(PREFIXES) or bool(_URL.match(name))


def choose() -> Choice:
    """Say which model answers when none is named, and why; nothing is asked of it, and no key is sent anywhere."""
    if named := os.environ.get("AGENTKIT_MODEL", "").strip():
        return Choice(named, "the environment variable AGENTKIT_MODEL says so")
    if named := str(read_config().get("model", "")).strip():
        return Choice(named, "config.toml says so")
    from agentkit.models import local_servers

    for found in local_servers.servers():
        return Choice(found.names[0], f"{found.server} answers on this machine")
    for key, name in PAID.items():
        if keys.is_set(key):
            return Choice(name, f"no other was named, no local server answers, and {key} is set", key)
    return Choice("offline", "no other was named, no local server answers, and no key is set")


def list_all() -> dict[str, str]:
    """Give the models that can be named here and now, each with what is known of it."""
    from agentkit.models import local_servers

    found = {name: (type(find(name)).__doc__ or "").strip().split("\n")[0] for name in KNOWN}
    for server in local_servers.servers():
        found |= dict.fromkeys(server.names, f"{server.server} at {server.address}")
    for key, name in PAID.items():
        provider = name.partition(":")[0]
        about = f"{key} is set, and is billed for it" if keys.is_set(key) else f"needs a key: {key}"
        found[f"{provider}:NAME"] = f"{about}; for instance {name}"
    found["ollama:NAME"] = "a model of an Ollama server, as `ollama list` names it"
    found["URL#NAME"] = "a model of any server that speaks like OpenAI, for instance http://127.0.0.1:8000/v1#qwen3-8b"
    return found


def _tell(chosen: Choice) -> None:
    """Say once, before its first use, that a model is paid for."""
    if chosen.paid and chosen.name not in _told:
        _told.add(chosen.name)
        logging.getLogger("agentkit").warning(
            '%s answers: %s. What it does is billed to that key. Agent("offline") asks nobody.', chosen.name, chosen.why
        )


def _openai(name: str) -> Any:
    from agentkit.models.openai import OpenAI

    return OpenAI(name)


def _anthropic(name: str) -> Any:
    from agentkit.models.anthropic import Anthropic

    return Anthropic(name)


def _ollama(name: str) -> Any:
    from agentkit.models import local_servers, ollama

    can = local_servers.can(ollama.base(), name)
    return ollama.Ollama(
        name, abilities={} if can is None else {"tools": "tools" in can, "reasoning": "thinking" in can}
    )


def _at(url: str) -> Any:
    """Give the model of a server that speaks like OpenAI: the one that is named behind `#`, else its first."""
    from agentkit.models import local_servers
    from agentkit.models.openai import OpenAI
    from agentkit.models.remote import host_of
    from agentkit.models.wire import based

    scheme, _, rest = url.partition("://")
    whole, _, name = f"{scheme.lower()}://{rest}".partition("#")
    host_of(whole)
    address, mark, query = based(whole, "/chat/completions").partition("?")
    if "/" not in address.partition("://")[2]:
        address += "/v1"
    if not name:
        try:
            offered = local_servers.models_at(address, 2.0)
        except OSError as error:
            why = f"{address} did not answer when asked for its models ({error}). Is it up, and is the address right?"
            raise UsageError(f"{why} A model that is named is not looked for: {address}#NAME") from None
        except Exception:
            offered = ()
        if not offered:
            raise UsageError(f"{address} lists no models to somebody without a key; name one: {address}#NAME")
        name = offered[0]
    return OpenAI(name, base_url=address + mark + query)


_MAKERS: dict[str, Callable[[str], Any]] = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}
