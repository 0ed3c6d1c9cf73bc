"""The model that a persona names, and what answers if it cannot be had: never a model that nobody named."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from agentkit.core.log import logger
from agentkit.core.messages import Reply
from agentkit.errors import UsageError
from agentkit.models import local_servers, resolve
from agentkit.models.base import Abilities, Request
from agentkit.models.openai import OpenAI
from agentkit.models.transport import clients
from agentkit.models.urls import base_of, host_of, without_secrets

NO_BRAIN = "Error: no brain configured."
"""What a persona replies without its model, as the loops of OVOS do."""


def named(name: Any) -> Any:
    """Return the model that a persona names; a host with a URL is not asked before the model is used.

    Raises `UsageError` if there is no such model.
    """
    if isinstance(name, str) and resolve.is_url(name):
        return AtUrl(name)
    if name is None:
        raise UsageError("the persona names no brain")
    return resolve.find(name)


class NoBrain:
    """A model that replies that there is none. `reason` is what a developer is told."""

    name = "no brain"
    abilities = Abilities()

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self._is_told = False

    def __call__(self, request: Request) -> Reply:
        if not self._is_told:
            self._is_told = True
            logger.warning("the persona cannot reply: %s", self.reason)
        return Reply(NO_BRAIN)


class AtUrl:
    """The model at a URL that a file names: found when it is first asked.

    An address of a private network or of this machine is only asked if a person has named it: in `AGENTKIT_LOCAL`, in
    `local` of config.toml, or as one of the usual local servers.
    """

    def __init__(self, url: str) -> None:
        address, _, name = url.strip().partition("#")
        self.url, self.name = url, name or without_secrets(address)
        self._host = host_of(address)
        model = OpenAI(name or "unnamed", base_url=base_of(address, "/chat/completions"))
        self.abilities, self.limits_itself = model.abilities, model.limits_itself
        self._found: Any = None

    def __call__(self, request: Request) -> Any:
        if self._found is None:
            self._found = self._find()
        return self._found(request)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request as JSON data, as it will be sent if that is known yet."""
        write = getattr(self._found, "body", None)
        return write(request) if write else request.to_dict()

    def _find(self) -> Any:
        try:
            if not clients.is_replaying() and is_private(self._host) and not self._is_own():
                raise UsageError(
                    f"{without_secrets(self.url)} is an address of a private network, and only a file names it; to use "
                    "it, add it to AGENTKIT_LOCAL, or call persona.load(config, model=URL)"
                )
            return resolve.find(self.url)
        except UsageError as error:
            return NoBrain(str(error))

    def _is_own(self) -> bool:
        own = [urlsplit(address) for address in local_servers.addresses().values()]
        parts = urlsplit(self.url.strip())
        return (parts.hostname, parts.port) in [(other.hostname, other.port) for other in own]


def is_private(host: str) -> bool:
    """Return whether a host has an address that is not on the public internet; one that is not known has none."""
    try:
        found: Iterable[Any] = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    addresses = [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
    return any(not (getattr(address, "ipv4_mapped", None) or address).is_global for address in addresses)
