"""Find the tool that a model means, however it decorated the name."""

from __future__ import annotations

from collections.abc import Iterable

_DECORATION = " \t\r\n*_`'\"[]<>{}#:;,.!"
_LONGEST = 200


def match(name: str, names: Iterable[str]) -> str | None:
    """Give the one of `names` that is meant, or None where none or several could be.

    An exact hit wins; then one without decoration (``**search**``, `` `search` ``, ``search(…)``); then one that differs
    in case, spaces, underscores, hyphens or dots only.
    """
    known = names if isinstance(names, tuple | list | set | frozenset | dict) else tuple(names)
    if name in known:
        return name
    plain = bare(name)
    if plain in known:
        return plain
    wanted = key(plain)
    found = {other for other in known if key(other) == wanted} if wanted else set()
    return found.pop() if len(found) == 1 else None


def bare(name: str) -> str:
    """Take off what models write around a name: emphasis, quotes, brackets, an argument list."""
    name = name[:_LONGEST].strip(_DECORATION)
    return name.partition("(")[0].strip(_DECORATION) if "(" in name else name


def key(name: str) -> str:
    """Reduce a name to its letters and digits, in one case."""
    return "".join(char for char in name[:_LONGEST].casefold() if char.isalnum())
