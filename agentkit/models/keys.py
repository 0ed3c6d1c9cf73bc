"""Where a key comes from: an argument, the environment, the keyring. It is never shown, stored or pickled.

Every key is made known to `core.secrets`, which masks it in all texts that are shown, stored or raised.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

from agentkit.core import secrets
from agentkit.errors import UsageError

SERVICE = "agentkit"
"""The service under which the keyring is asked; the user name is the name of the environment variable."""


class Key:
    """A key that does not show itself. With `words`, it may consist of several, as a whole header does."""

    __slots__ = ("_value",)

    def __init__(self, value: str, name: str = "api_key", *, words: bool = False) -> None:
        value = value.strip()
        if not value.isascii() or not value.isprintable() or (" " in value and not words):
            raise UsageError(f"the key in {name} contains a space or a character that no key has; it was not used")
        self._value = value
        for word in value.split():
            secrets.learn(word, name)
            secrets.learn(word.partition("=")[2].rstrip(";"), name)  # the value in a cookie

    def reveal(self) -> str:
        """Return the key itself, for a header."""
        return self._value

    def __repr__(self) -> str:
        return "[secret key]" if self._value else "[no key]"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a key is not pickled, so a model with one cannot be sent to another process: name the environment "
            'variable that holds it there, with key_name="…" instead of api_key=…'
        )


def find(api_key: str | Key | None, name: str) -> Key:
    """Return the key that was passed, else the one that the environment or the keyring has under `name`, else an empty
    one.
    """
    if isinstance(api_key, Key):
        return api_key
    if api_key is not None:
        return Key(api_key)
    if not name:
        return Key("")
    return Key(os.environ.get(name, ""), name) or Key(_from_keyring(name), name)


def checked_key_name(name: str) -> str:
    """Return the name of a key. Raises `UsageError` if it is the key itself: a name is shown."""
    if secrets.mask(name) != name:
        raise UsageError(
            "key_name is the name of the variable that holds the key, such as GATEWAY_KEY; the key itself is api_key=…"
        )
    return name


def checked_model_name(model: str) -> str:
    """Return the name of a model. Raises `UsageError` if it is a key: a name is shown."""
    if secrets.is_key(model):
        raise UsageError("that is a key, not a model: name a model such as openai:gpt-5-mini; the key is api_key=…")
    return model


def is_set(name: str) -> bool:
    """Return whether the environment has a key of this name, without looking at it."""
    return bool(os.environ.get(name, "").strip())


def _from_keyring(name: str) -> str:
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return ""
    ring: Any = keyring
    try:
        return ring.get_password(SERVICE, name) or ""
    except Exception:  # on a machine without a desktop, the keyring has no backend
        return ""
