"""Questions for the offline model with their right answers, junk that only looks like questions, and odd tools."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from agentkit.tools.builtin import clock, facts, math, units

OWN = {tool.name: tool for box in (math.box, units.box, facts.box, clock.box) for tool in box}


@dataclass
class Case:
    """A question, the right answer as the answer spells it, and the tools that it takes in the order of the calls."""

    question: str
    right: str
    tools: tuple[str, ...]


def cases(count: int, seed: int) -> list[Case]:
    """Return questions of all kinds, in turn."""
    chance = random.Random(seed)
    return [MAKERS[number % len(MAKERS)](chance) for number in range(count)]


def number(value: Fraction | int) -> str:
    """Return a number as the tools write it."""
    exact = Fraction(value)
    return str(int(exact)) if exact.denominator == 1 else str(float(exact))


def arithmetic(chance: random.Random) -> Case:
    a, b, c = chance.randint(2, 999), chance.randint(2, 99), chance.randint(2, 20)
    question, value = chance.choice(
        [
            (f"What is {a} * {b}?", a * b),
            (f"{a}*{b}+{c}", a * b + c),
            (f"calculate ({a} + {b}) * {c}", (a + b) * c),
            (f"What's {a} plus {b} times {c}?", a + b * c),
            (f"how much is {a} minus {b}", a - b),
            (f"{a} divided by {b}", Fraction(a, b)),
            (f"{b}^{c}", b**c),
            (f"-{a} - -{b}", b - a),
        ]
    )
    return Case(question, number(value), ("calculate",))


FACTORS = {
    **{("km", "m"): "1000", ("miles", "km"): "1.609344", ("feet", "cm"): "30.48", ("hours", "minutes"): "60"},
    **{("litres", "ml"): "1000", ("hectares", "m2"): "10000", ("GB", "MB"): "1000", ("stone", "kg"): "6.35029318"},
}


def conversion(chance: random.Random) -> Case:
    (source, target), factor = chance.choice(list(FACTORS.items()))
    amount = chance.choice([chance.randint(1, 500), chance.randint(1, 5000) / 10])
    question = chance.choice(
        [
            f"Convert {amount} {source} to {target}.",
            f"how many {target} are in {amount} {source}?",
            f"What is {amount} {source} in {target}?",
        ]
    )
    return Case(question, number(Fraction(str(amount)) * Fraction(factor)), ("convert",))


def date(chance: random.Random) -> Case:
    one, other = (dt.date(1900, 1, 1) + dt.timedelta(days=chance.randrange(60_000)) for _ in range(2))
    days = chance.randint(1, 400)
    return chance.choice(
        [
            Case(f"How many days are there between {one} and {other}?", str((other - one).days), ("days_between",)),
            Case(f"What date is {days} days after {one}?", str(one + dt.timedelta(days)), ("add_days",)),
            Case(f"What day of the week was {one}?", f"{one:%A}", ("weekday",)),
        ]
    )


def fact(chance: random.Random, *attributes: str) -> tuple[str, str, Any]:
    """Return subject, attribute and value of a fact from the table."""
    known = [fact for entries in facts.table().values() for fact in entries if fact["attribute"] in attributes]
    chosen = chance.choice(known)
    return chosen["subject"], chosen["attribute"], chosen["value"]


def one_step(chance: random.Random) -> Case:
    subject, attribute, value = fact(chance, "capital", "population", "area", "atomic number", "symbol", "height")
    words = [f"What is the {attribute} of {subject}?", f"{attribute} of the {subject}"]
    return Case(chance.choice(words), str(value), ("lookup",))


def two_steps(chance: random.Random) -> Case:
    one, attribute, x = fact(chance, "population", "area")
    other, y = next((s, v) for s, _, v in iter(lambda: fact(chance, attribute), None) if s != one)
    factor = chance.randint(2, 9)
    question, value = chance.choice(
        [
            (f"What is the {attribute} of {one} divided by the {attribute} of {other}?", Fraction(x, y)),
            (f"the {attribute} of {one} minus the {attribute} of {other}", x - y),
            (f"{factor} times the {attribute} of {one}", factor * x),
            (f"({factor} + the {attribute} of {one}) / 4", Fraction(factor + x, 4)),
        ]
    )
    return Case(
        question, number(value), ("lookup", "lookup", "calculate") if other in question else ("lookup", "calculate")
    )


MAKERS: tuple[Callable[[random.Random], Case], ...] = (arithmetic, conversion, date, one_step, two_steps)

WORDS = (
    *(
        "what is",
        "the",
        "price",
        "of",
        "tea",
        "population",
        "France",
        "in",
        "km",
        "5",
        "0.5",
        "-3",
        "007",
        "1,000",
        "%",
    ),
    *("plus", "minus", "times", "+", "*", "**", "/", "(", ")", "^", "3!", "and", "?", "x", "=", "2024-02-30", "days"),
    *("after", "between", "how many", "Action:", "FINAL_ANSWER: 7", "\n", "{}", "[USER INTERRUPT]", "1. ", "€", "½"),
)


def junk(chance: random.Random) -> str:
    """Return words in an order that seldom means anything."""
    return chance.choice([" ", " ", ""]).join(chance.choices(WORDS, k=chance.randint(1, 12)))


@dataclass
class OddTool:
    """A tool as the model sees it, with any JSON for a schema."""

    name: str
    parameters: dict[str, Any]


def odd_tool(chance: random.Random) -> OddTool:
    """Return a tool whose name is one that the rules know and whose schema is something else."""
    odd = [{}, [], None, 3, "x", True, {"type": "string"}, {"type": ["string", 3]}, {"enum": "capital"}, nested(900)]
    known = ["expression", "subject", "attribute", "value", "from_unit", "to_unit", "item", "date"]
    keys = chance.sample(known, chance.randint(0, 4))
    schema = {
        "properties": chance.choice([{key: chance.choice(odd) for key in keys}, chance.choice(odd)]),
        "required": chance.choice([keys, [*keys, "missing", ["item"]], chance.choice(odd)]),
    }
    return OddTool(chance.choice([*OWN, "price", "get_price", "population", "capital"]), chance.choice([schema, {}]))


def nested(depth: int) -> Any:
    """Return a list in a list, so many levels deep."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value
