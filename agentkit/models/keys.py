"""Where a key comes from: an argument, the environment, the keyring. It is shown nowhere, stored nowhere and never pickled."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from agentkit.core import secrets
from agentkit.errors import UsageError

SERVICE = "agentkit"
"""The service under which the keyring is asked; the user name is the name of the environment variable."""


class Key:
    """A key that does not show itself; of several `words` where it is a whole header."""

    __slots__ = ("_value",)

    def __init__(self, value: str, name: str = "api_key", *, words: bool = False) -> None:
        value = value.strip()
        if not value.isascii() or not value.isprintable() or (" " in value and not words):
            raise UsageError(f"the key in {name} holds a space or a character that no key has; it was not used")
        self._value = value
        for word in value.split():
            secrets.learn(word, name)
            secrets.learn(word.partition("=")[2].rstrip(";"), name)  # as in a cookie

    def reveal(self) -> str:
        """Give the key itself, for a header."""
        return self._value

    def __repr__(self) -> str:
        return "[secret key]" if self._value else "[no key]"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled; name it in the environment where it is needed")


def find(given: str | Key | None, name: str) -> Key:
    """Give the key that was given, else the one that the environment or the keyring has under `name`, else an empty one."""
    if isinstance(given, Key):
        return given
    if given is not None:
        return Key(given)
    if not name:
        return Key("")
    return Key(os.environ.get(name, ""), name) or Key(_from_keyring(name), name)


def named(name: str) -> str:
    """Give the name of a key back. Raises `UsageError` where it is the key itself, which would be shown as a name is."""
    if secrets.mask(name) != name:
        raise UsageError(
            "key_name is the name of the variable that holds the key, such as GATEWAY_KEY; the key is api_key=…"
        )
    return name


def no_key(model: str) -> str:
    """Give the name of a model back. Raises `UsageError` where it is a key, which would be shown as a name is."""
    if secrets.is_key(model):
        raise UsageError("that is a key, and no model: name a model such as openai:gpt-5-mini; the key is api_key=…")
    return model


def is_set(name: str) -> bool:
    """Say whether there is a key of this name, without looking at it."""
    return bool(os.environ.get(name, "").strip())


def _from_keyring(name: str) -> str:
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return ""
    ring: Any = keyring
    try:
        return ring.get_password(SERVICE, name) or ""
    except Exception:  # a machine without a desktop has a keyring without a backend
        return ""
