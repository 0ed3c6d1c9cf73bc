"""Facts: one tool that looks something up in a small table that comes with agentkit.

The table (`facts.json`) has countries, chemical elements, planets, mountains and a few more, with the year of a figure
if that matters. It is there for examples and for the offline model, not as a reference.
"""

from __future__ import annotations

import difflib
import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from agentkit.errors import ToolError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

Attribute = Literal[
    "capital", "population", "area", "currency", "language", "continent",
    "symbol", "atomic number", "atomic mass", "melting point",
    "moons", "diameter", "mass", "distance from the sun", "distance from the earth", "orbital period",
    "height", "country", "speed",
]  # fmt: skip


@cache
def table() -> dict[str, list[dict[str, Any]]]:
    """Return the facts about each subject (normalized), each with attribute and value, and maybe unit and as_of."""
    data = json.loads(files("agentkit.tools.builtin").joinpath("facts.json").read_text(encoding="utf-8"))
    subjects: dict[str, list[dict[str, Any]]] = {}
    for group in data["groups"]:
        for subject, *values in group["rows"]:
            for column, value in zip(group["columns"], values, strict=True):
                if value is not None:
                    fact = {"subject": subject, "attribute": column["name"], "value": value}
                    fact |= {key: column[key] for key in ("unit", "as_of") if key in column}
                    subjects.setdefault(normalize(subject), []).append(fact)
    return subjects | {normalize(alias): subjects[normalize(subject)] for alias, subject in data["aliases"].items()}


def normalize(name: str) -> str:
    """Return a name in the form in which the table is searched."""
    return " ".join(name[:200].replace("_", " ").replace(".", "").lower().split()).removeprefix("the ")


@tool(effect="pure")
def lookup(subject: str, attribute: Attribute) -> dict[str, str | int | float]:
    """Look up one fact about a country, a chemical element, a planet or a mountain in a small bundled table.

    The value comes with its unit and with the year in which it was true (`as_of`), if it has one.

    Args:
        subject: What the fact is about, by its English name, such as "France", "iron", "Jupiter" or "Mount Everest".
        attribute: Which fact is wanted.
    """
    subjects, name = table(), normalize(subject)
    facts = subjects.get(name)
    if facts is None:
        nearest = difflib.get_close_matches(name, subjects, n=1, cutoff=0.75)
        hint = f"; did you mean {subjects[nearest[0]][0]['subject']!r}?" if nearest else ""
        raise ToolError(f"the table has nothing about {subject[:80]!r}{hint}")
    for fact in facts:
        if fact["attribute"] == attribute:
            return dict(fact)
    known = ", ".join(dict.fromkeys(fact["attribute"] for fact in facts))
    raise ToolError(f"the table does not have the {attribute} of {facts[0]['subject']}; it has: {known}")


box = ToolBox([lookup], name="facts")
