"""Find the tool that a model means, however the model decorated the name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DECORATION = " \t\r\n*_`'\"[]<>{}#:;,.!"
_MAX_LENGTH = 200
_NAMESPACES = ("functions.", "function.", "default_api.", "tools.")
"""What hosts and chat templates put before the name of a tool."""

_AFTER_NAME = re.compile(r"\(|<\||:\d{1,4}\Z")
"""Where a name ends: at its arguments, at a special token, or at the number of the call."""


def match_name(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that is meant, or None if there is no such name or more than one.

    An exact match wins; then one without decoration (``**search**``, `` `search` ``, ``search(…)``); then one that
    differs only in case, spaces, underscores, hyphens or dots.
    """
    known = names if isinstance(names, tuple | list | set | frozenset | dict) else tuple(names)
    if name in known:
        return name
    bare = _without_decoration(name)
    if len(bare) > _MAX_LENGTH:
        return None
    if bare in known:
        return bare
    wanted = _normalize(bare)
    matches = {other for other in known if _normalize(other) == wanted} if wanted else set()
    return matches.pop() if len(matches) == 1 else None


def strip_decoration(name: str) -> str:
    """Return a name without what models write around it (emphasis, quotes, brackets, arguments), at most 200
    characters.
    """
    return _without_decoration(name)[:_MAX_LENGTH]


def _without_decoration(name: str) -> str:
    bare = _AFTER_NAME.split(name.strip(_DECORATION), maxsplit=1)[0].strip(_DECORATION)
    namespace = next((each for each in _NAMESPACES if bare.startswith(each)), "")
    return bare[len(namespace) :]


def _normalize(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(char for char in name.casefold() if char.isalnum())
