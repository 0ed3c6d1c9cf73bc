"""Read a tool's schema: what its words speak of, and which of its arguments take what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from agentkit.models.offline.wire import Schema


def stems(text: str) -> tuple[str, ...]:
    """List the words of a text."""
    return tuple(text.split())


# Stems: a word counts when it begins with one; a stem of up to three letters must be the whole word.
HARM = stems(
    "send delet remov eras pay pays buy purchas sell book reserv email mail post publish upload download sav stor writ "
    "transfer charg execut run install subscrib notif remind schedul search_web summar draw render play regist "
    "insert append creat"
)


PLAIN = frozenset(
    stems(
        "yyyy mm dd iso "
        "such a an the it its is are be was will can of in on at by for from to into with as and or per that this these than "
        "so any some each  one two another other both which what when how many much given give gives get gets tell tells "
        "return returns show shows find finds  use used using do does provide provides number numbers value result results "
        "answer simple basic standard usual tool function  between out up single new whole certain specified input output "
        "string name names compute computes calculate calculates determine  determines report reports say says you want "
        "wanted pass your "
    )
)

# Words


def words(text: str) -> list[str]:
    """Give the lower-case words of a text; names with underscores or humps are taken apart."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text.replace("_", " ")).lower().replace("-", " ").split()


def hits(text: str, beginnings: Iterable[str]) -> int:
    """Count the words of a text that begin with one of these stems."""
    whole = tuple(beginnings)
    long = tuple(stem for stem in whole if len(stem) > 3)
    clean = [word.strip("\"'`.,;:()[]!?") for word in words(text)]
    return sum(word in whole or word.startswith(long) for word in clean)


def headline(tool: Schema) -> str:
    """The name and the first sentence: what a tool is for."""
    first = re.split(r"[.!?;](?:\s|$)|\n", tool.description.strip(), maxsplit=1)[0]
    return f"{tool.name} {first}"


def explained(tool: Schema, vocabulary: Iterable[str]) -> bool:
    """Tell whether every word of a tool's first sentence is known to a job, so that no "business" days slip in."""
    first = headline(tool).removeprefix(tool.name).strip() or tool.name
    outside = re.sub(r"\([^()]{0,300}\)", " ", first)
    clean = (re.sub(r"[^a-z]", "", word) for word in words(outside))
    long = tuple(stem for stem in vocabulary if len(stem) > 3)
    return all(len(word) < 2 or word in PLAIN or word in vocabulary or word.startswith(long) for word in clean)


def told(name: str, field: dict[str, Any]) -> str:
    """What is said about an argument; its name counts twice."""
    return f"{name} {name} {field.get('title', '')} {field.get('description', '')}"


def harmless(tool: Schema) -> bool:
    """Tell whether nothing in a tool's first sentence speaks of an effect."""
    return not hits(headline(tool), HARM)


# Arguments


def types(field: dict[str, Any]) -> set[str]:
    """The JSON types that an argument takes, null aside."""
    kinds = field.get("type")
    found = {kinds} if isinstance(kinds, str) else set(kinds or ())
    for part in field.get("anyOf") or field.get("oneOf") or ():
        found |= types(part) if isinstance(part, dict) else set()
    return found - {"null"}


def texts(tool: Schema, *, required: bool = True) -> list[str]:
    """The arguments that take a text, or whatever they are given."""
    return [
        name
        for name in (tool.required if required else tool.fields)
        if "string" in types(tool.fields[name]) or "enum" in tool.fields[name] or untold(tool.fields[name])
    ]


def untold(field: dict[str, Any]) -> bool:
    """Tell whether nothing is said about what an argument takes, as of a parameter without an annotation."""
    return field.keys() <= {"title", "description", "default"}


def numbers(tool: Schema) -> list[str]:
    """The required arguments that take a number and no text."""
    return [
        name for name in tool.required if types(tool.fields[name]) and types(tool.fields[name]) <= {"number", "integer"}
    ]


def in_order(tool: Schema, names: list[str], first: Iterable[str], second: Iterable[str]) -> list[str]:
    """Put two arguments in order by what is said about them; an empty list when that does not tell which is which."""
    if len(names) != 2:
        return []
    one, two = (told(name, tool.fields[name]) for name in names)
    straight = hits(one, first) - hits(one, second) + hits(two, second) - hits(two, first)
    return [] if straight == 0 else names if straight > 0 else names[::-1]


def allowed(field: dict[str, Any], spellings: Iterable[str]) -> list[str]:
    """Keep the spellings that an argument takes; where it lists its values, in the way that it writes them."""
    choices = field.get("enum")
    if not isinstance(choices, list):
        return list(dict.fromkeys(spellings))
    plain = {plain_words(str(choice)): str(choice) for choice in choices}
    return list(dict.fromkeys(plain[key] for each in spellings if (key := plain_words(each)) in plain))


def plain_words(text: str) -> str:
    """A text without case, underscores, articles and plurals, to compare by."""
    kept = [word for word in words(text) if word not in ("the", "of", "number")]
    return " ".join(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word for word in kept
    )


def dated(tool: Schema, names: list[str]) -> bool:
    """Tell whether these arguments are dates."""
    return all(
        tool.fields[name].get("format") == "date"
        or hits(told(name, tool.fields[name]), ["day", "days", "date", "dates", "calendar", "yyyy"])
        for name in names
    )
