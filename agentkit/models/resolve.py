"""Which model answers: one with a name, a URL or an object, or the first that is found."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentkit.config import load_plugin, plugins, read_config
from agentkit.core import secrets
from agentkit.core.log import logger
from agentkit.errors import Unknown, UsageError
from agentkit.models import keys
from agentkit.models.adapters import as_model

KNOWN = ("offline", "echo", "tiny")
PREFIXES = ("openai:", "anthropic:", "ollama:")
PAID = {"OPENAI_API_KEY": "openai:gpt-5-mini", "ANTHROPIC_API_KEY": "anthropic:claude-haiku-4-5"}
"""The keys that are looked for when no model is named, and the model that answers then."""
BRANDS = {**dict.fromkeys(("gpt", "chatgpt", "o1", "o3", "o4"), "openai:"), "claude": "anthropic:"}
"""How model names begin for which other libraries need no provider."""

_ADDRESS = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?/|[\w.-]+:\d{2,5}$|localhost$")
"""An address without its scheme; not a name with a version in it, such as gpt-4.1."""

_PROVIDER_AND_NAME = re.compile(r"(\w+)\s*[:/]+\s*(\S.*)")
"""A provider and a model, separated as in other libraries, or with spaces."""

_URL = re.compile(r"https?://", re.IGNORECASE)

_announced: set[str] = set()


@dataclass(slots=True, frozen=True)
class Choice:
    """A model that was chosen, and the reason; `paid` is the name of the key that pays for it."""

    name: str
    why: str
    paid: str = ""


def find(model: Any) -> Any:
    """Return the model with a name or a URL, or for an object; for None, the one that `choose` finds.

    A name is "offline", "echo", "tiny", "openai:NAME", "anthropic:NAME" or "ollama:NAME"; a URL is that of a server
    with OpenAI's API, with `#NAME` if it has several models. Raises `Unknown` and `UsageError`.
    """
    if model is None:
        choice = choose()
        _announce_cost(choice)
        model = choice.name
    if not isinstance(model, str):
        return as_model(model)
    name = model.strip()
    if name == "offline":
        from agentkit.models.offline import Offline

        return Offline()
    if name == "echo":
        from agentkit.models.scripted import Echo

        return Echo()
    if name == "tiny":
        from agentkit.models.tiny import Tiny

        return Tiny()
    if is_url(name):
        return _at_url(name)
    provider, _, rest = name.partition(":")
    if f"{provider}:" in PREFIXES:
        if not rest.strip():
            raise UsageError(f"{model!r} names no model: write {provider}:NAME")
        return _MAKERS[provider](rest.strip())
    if (plugin := load_plugin("models", name)) is not None:
        return as_model(plugin() if isinstance(plugin, type) else plugin)
    known = (*KNOWN, *plugins("models"), *(f"{prefix}NAME" for prefix in PREFIXES))
    likely = _likely_name(name)
    raise Unknown("model", secrets.mask(model), known, f"did you mean {likely!r}?" if likely else "")


def _likely_name(name: str) -> str:
    """Return the name that is meant if the provider or the scheme is missing, as other libraries allow; else ""."""
    parts = _PROVIDER_AND_NAME.fullmatch(name)
    if parts and f"{parts[1].lower()}:" in PREFIXES:
        return f"{parts[1].lower()}:{parts[2]}"
    if _ADDRESS.match(name):
        return f"http://{name}"
    return next((provider + name.lower() for brand, provider in BRANDS.items() if name.lower().startswith(brand)), "")


def is_name(name: str) -> bool:
    """Return whether `find` would take a string for a name."""
    return name in KNOWN or name.startswith(PREFIXES) or is_url(name)


def is_url(name: str) -> bool:
    """Return whether `find` would take a string for the URL of a server."""
    return bool(_URL.match(name.strip()))


def choose() -> Choice:
    """Return the model that answers when none is named, and why.

    The model is not asked, and no key is sent anywhere.
    """
    if name := os.environ.get("AGENTKIT_MODEL", "").strip():
        return Choice(name, f"the environment variable AGENTKIT_MODEL names it{_but_unknown(name)}")
    if name := str(read_config().get("model", "")).strip():
        return Choice(name, f"config.toml names it{_but_unknown(name)}")
    from agentkit.models import local_servers

    for found in local_servers.servers():
        return Choice(found.names[0], f"{found.server} answers on this machine")
    for key, name in PAID.items():
        if keys.is_set(key):
            return Choice(name, f"no model was named, no local server answers, and {key} is set", key)
    return Choice("offline", "no model was named, no local server answers, and no key is set")


def _but_unknown(name: str) -> str:
    """Return what is wrong with a configured name, or ""."""
    if is_name(name) or name in plugins("models"):
        return ""
    likely = _likely_name(name)
    return f", but there is no such model{f'; did you mean {likely!r}?' if likely else ''}"


def list_all() -> dict[str, str]:
    """Return the models that can be named here and now, each with what is known about it."""
    from agentkit.models import local_servers

    listed = {name: (type(find(name)).__doc__ or "").strip().split("\n")[0] for name in KNOWN}
    for server in local_servers.all_servers():
        about = f"{server.server} at {server.address}" if server.server != server.address else "a server that answers"
        listed |= dict.fromkeys(server.names, about)
        if server.problem:
            listed[server.address] = f"{about}, but {server.problem}"
    for key, name in PAID.items():
        provider = name.partition(":")[0]
        about = f"{key} is set, and is billed for it" if keys.is_set(key) else f"needs a key: {key}"
        listed[f"{provider}:NAME"] = f"{about}; for instance {name}"
    listed["ollama:NAME"] = "a model of an Ollama server, as `ollama list` names it"
    listed["URL#NAME"] = "a model of any server with OpenAI's API, for instance http://127.0.0.1:8000/v1#qwen3-8b"
    return listed


def _announce_cost(choice: Choice) -> None:
    """Warn once, before its first use, that a model is paid for."""
    if choice.paid and choice.name not in _announced:
        _announced.add(choice.name)
        text = '%s answers: %s. What it does is billed to that key. Agent("offline") asks no host.'
        logger.warning(text, choice.name, choice.why)


def _openai(name: str) -> Any:
    from agentkit.models.openai import OpenAI

    return OpenAI(name)


def _anthropic(name: str) -> Any:
    from agentkit.models.anthropic import Anthropic

    return Anthropic(name)


def _ollama(name: str) -> Any:
    from agentkit.models import local_servers, ollama

    found = local_servers.capabilities(ollama.server_url(), name)
    abilities = {} if found is None else {"tools": "tools" in found, "reasoning": "thinking" in found}
    return ollama.Ollama(name, abilities=abilities)


def _at_url(url: str) -> Any:
    """Return the model of a server with OpenAI's API: the one that is named after `#`, else its first."""
    from agentkit.models import local_servers
    from agentkit.models.openai import OpenAI
    from agentkit.models.urls import base_of, host_of

    scheme, _, rest = url.partition("://")
    base_url, _, name = f"{scheme.lower()}://{rest}".partition("#")
    host_of(base_url)
    address, mark, query = base_of(base_url, "/chat/completions").partition("?")
    if "/" not in address.partition("://")[2]:
        address += "/v1"
    if not name:
        try:
            models = local_servers.models_at(address, 2.0)
        except OSError as error:
            reason = (
                f"{address} did not answer when asked for its models ({error}). Is it up, and is the address right?"
            )
            raise UsageError(f"{reason} A model that is named is not looked for: {address}#NAME") from None
        except local_servers.ServerRefused as error:
            raise UsageError(
                f"{address} did not list its models: {error}. A model that is named is not looked for: {address}#NAME"
            ) from None
        except Exception:
            models = ()
        if not models:
            raise UsageError(f"{address} lists no models without a key; name one: {address}#NAME")
        name = models[0]
    return OpenAI(name, base_url=address + mark + query)


_MAKERS: dict[str, Callable[[str], Any]] = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}
