"""Facts: one tool that looks something up in a small table that comes with agentkit.

The table (`facts.json`) holds countries, chemical elements, planets, mountains and a few more, with the year in which
a figure was true where that matters. It is there for examples and for the offline model, not as a reference.
"""

from __future__ import annotations

import difflib
import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from agentkit.errors import ToolError
from agentkit.tools.tool import ToolBox, tool

Attribute = Literal[
    "capital", "population", "area", "currency", "language", "continent",
    "symbol", "atomic number", "atomic mass", "melting point",
    "moons", "diameter", "mass", "distance from the sun", "distance from the earth", "orbital period",
    "height", "country", "speed",
]  # fmt: skip


@cache
def table() -> dict[str, list[dict[str, Any]]]:
    """Read the table once: for each subject (in plain form) its facts, each with attribute, value and maybe unit and as_of."""
    data = json.loads(files("agentkit.tools").joinpath("facts.json").read_text(encoding="utf-8"))
    found: dict[str, list[dict[str, Any]]] = {}
    for group in data["groups"]:
        for subject, *values in group["rows"]:
            for column, value in zip(group["columns"], values, strict=True):
                if value is not None:
                    fact = {"subject": subject, "attribute": column["name"], "value": value}
                    fact |= {key: column[key] for key in ("unit", "as_of") if key in column}
                    found.setdefault(plain(subject), []).append(fact)
    return found | {plain(alias): found[plain(subject)] for alias, subject in data["aliases"].items()}


def plain(text: str) -> str:
    """Bring a name to the form that the table is searched by."""
    return " ".join(text[:200].replace("_", " ").replace(".", "").lower().split()).removeprefix("the ")


@tool(effect="pure")
def lookup(subject: str, attribute: Attribute) -> dict[str, str | int | float]:
    """Look up one fact about a country, a chemical element, a planet or a mountain in a small bundled table.

    The value comes with its unit, and with the year in which it was true (`as_of`), where there is one.

    Args:
        subject: What the fact is about, by its English name, such as "France", "iron", "Jupiter" or "Mount Everest".
        attribute: Which fact is wanted.
    """
    known, name = table(), plain(subject)
    facts = known.get(name)
    if facts is None:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        hint = f"; did you mean {known[near[0]][0]['subject']!r}?" if near else ""
        raise ToolError(f"the table holds nothing about {subject[:80]!r}{hint}")
    for fact in facts:
        if fact["attribute"] == attribute:
            return dict(fact)
    have = ", ".join(dict.fromkeys(fact["attribute"] for fact in facts))
    raise ToolError(f"the table does not hold the {attribute} of {facts[0]['subject']}; it holds: {have}")


box = ToolBox([lookup], name="facts")
