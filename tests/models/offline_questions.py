"""Questions for the offline model, generated: the tools under other names, in other words, among tools of other kinds."""

from __future__ import annotations

import datetime as dt
import math as stdlib_math
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from agentkit.tools.builtin import clock, facts, math, units
from agentkit.tools.tool import Tool

# For each tool other ways to describe it, and for each argument other ways to describe that.
WORDINGS: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "calculate": (
        [
            "Evaluate an arithmetic expression and return the number.",
            "Computes the result of a mathematical formula.",
            "A calculator. Give it a calculation in the usual notation.",
            "Solve math problems.",
            "Do sums such as 3+4.",
            "Evaluates numeric expressions (Python syntax).",
            "Works out mathematics: plus, minus, times, divided by, powers and brackets.",
        ],
        {
            "expression": [
                "What to calculate, e.g. 3 * (4 + 5).",
                "The formula as a string",
                "",
                "An arithmetic expression.",
            ]
        },
    ),
    "convert": (
        [
            "Convert a measured value from one unit to another.",
            "Expresses a quantity in a different unit of measurement.",
            "Performs unit conversions (metric and imperial).",
            "How much is a quantity in some other unit?",
            "Unit converter for lengths, weights, temperatures, times, volumes, speeds, areas and data.",
        ],
        {
            "value": ["How much there is.", "The quantity", ""],
            "from_unit": ["The unit it is given in.", "The original unit", "Source unit of measure."],
            "to_unit": ["The unit that is wanted.", "The target unit", "Unit to express the result in."],
        },
    ),
    "lookup": (
        [
            "Look up one fact about a country, a chemical element, a planet or a mountain.",
            "A reference table of well-known facts.",
            "World facts database.",
            "Get information about an entity",
            "Retrieves a property of a place or a substance.",
        ],
        {
            "subject": ["What the fact is about.", "The thing of interest, in English", "Name of the entity."],
            "attribute": ["Which fact is wanted.", "The property to retrieve", "One of the attributes in the table."],
        },
    ),
    "now": (
        [
            "Tell the current date and time.",
            "The date and the time of day at this moment.",
            "Reads the clock: what time is it now?",
        ],
        {},
    ),
    "days_between": (
        [
            "Count the days from one date to another.",
            "The number of days between two dates.",
            "Computes how many days lie between a start date and an end date.",
        ],
        {
            "start": ["The first date, as YYYY-MM-DD.", "The date from which to count (ISO)", "Start date"],
            "end": ["The second date, as YYYY-MM-DD.", "The date up to which to count (ISO)", "End date"],
        },
    ),
    "add_days": (
        [
            "Add a number of days to a date.",
            "Shifts a calendar date by some days and returns the new date.",
            "Gives the date that comes a number of days after another date.",
        ],
        {
            "date": ["The date to begin at, as YYYY-MM-DD.", "ISO date"],
            "days": ["How many days; negative goes back.", "Number of days to add"],
        },
    ),
    "weekday": (
        [
            "Tell on which day of the week a date falls.",
            "Returns the weekday (Monday to Sunday) of a date.",
            "Finds the day of the week for a calendar date.",
        ],
        {"date": ["The date, as YYYY-MM-DD.", "ISO date", "A calendar date."]},
    ),
}
REAL = {each.name: each for box in (math.box, units.box, facts.box, clock.box) for each in box}
SPELLED = {
    "from_unit": "from",
    "to_unit": "to",
    "value": "amount",
    "expression": "formula",
    "subject": "entity",
    "attribute": "field",
}


def _sentence(name: str, about: str, **fields: str) -> Tool:
    """Make a tool of another kind; using it is always wrong here, so it fails the test."""

    def misused(**given: Any) -> Any:
        raise AssertionError(f"the distractor {name} was called with {given}")

    properties = {
        key: {"type": "number" if kind == "number" else "string", "description": kind} for key, kind in fields.items()
    }
    return Tool(
        name, about, {"type": "object", "properties": properties, "required": list(properties)}, misused, effect="pure"
    )


DISTRACTORS = [
    _sentence(
        "send_email", "Send an email to somebody.", to="The address", subject="The subject line", body="What to say"
    ),
    _sentence(
        "translate",
        "Translate a text from one language into another.",
        text="The text",
        source="From language",
        target="To language",
    ),
    _sentence(
        "exchange",
        "Convert an amount of money from one currency to another.",
        amount="number",
        source="From currency",
        target="To currency",
    ),
    _sentence("sentiment", "Evaluate the sentiment of an expression.", expression="The expression to evaluate"),
    _sentence("match", "Evaluate a regular expression.", expression="The expression"),
    _sentence("delete_file", "Delete a file. A calculation may be stored in it.", path="The path of the file"),
    _sentence("remind", "Set a reminder on a date.", date="The date as YYYY-MM-DD", text="What to remember"),
    _sentence("share_price", "Look up the price of a share.", symbol="The symbol of the share"),
    _sentence(
        "dictionary", "Look up a word in a dictionary.", word="The word", language="The language of the dictionary"
    ),
    _sentence("week_number", "Give the number of the calendar week of a date.", date="The date as YYYY-MM-DD"),
    _sentence("horoscope", "Give the horoscope for a day.", date="A date, as YYYY-MM-DD"),
    _sentence("route", "Find the way between two places.", start="Where to start from", end="Where to go to"),
    _sentence("uptime", "Tell for how long the server has been running."),
    _sentence("current_weather", "Tell the current weather."),
    _sentence("play", "Play a song.", song="The name of the song"),
    _sentence("gene", "Look up the expression of a gene.", gene="The name of the gene"),
    _sentence("tip", "Calculate the tip for a bill.", bill="The bill"),
    _sentence("parse", "Parse a mathematical expression and return its tree.", expression="The expression"),
    _sentence("explain", "Explain a formula in words.", formula="The formula"),
    _sentence("simplify", "Simplify a fraction.", fraction="The fraction"),
    _sentence("profile", "Get a property of a user.", user="The name of the user", attribute="Which property"),
    _sentence("business_days", "Count the business days between two dates.", start="Start date", end="End date"),
    _sentence("add_months", "Add months to a date.", date="The date, as YYYY-MM-DD", months="number"),
    _sentence("holiday", "Tell whether a date is a holiday.", date="The date, as YYYY-MM-DD"),
    _sentence("growth", "Population growth of a country.", country="The country"),
    _sentence("search", "Search an encyclopedia.", query="What to look for"),
    _sentence("current_temperature", "The current temperature."),
    _sentence(
        "resize",
        "Convert an image from one format to another.",
        width="number",
        source="From format",
        target="To format",
    ),
]


def renamed(original: Tool, chance: random.Random) -> Tool:
    """Give a tool another name, other words, and other names for its arguments; it does what it did."""
    descriptions, fields = WORDINGS[original.name]
    parameters = original.parameters
    names = {
        name: chance.choice([name, SPELLED.get(name, name), _nonsense(chance)]) for name in parameters["properties"]
    }
    properties = {}
    for name, schema in parameters["properties"].items():
        about = chance.choice(fields[name]) if name in fields else schema.get("description", "")
        properties[names[name]] = {**schema, "description": about}
    order = list(properties)
    chance.shuffle(order)
    schema = {
        "type": "object",
        "properties": {name: properties[name] for name in order},
        "required": [names[name] for name in parameters.get("required", ())],
    }
    back = {new: old for old, new in names.items()}

    def run(**given: Any) -> Any:
        return original(**{back[name]: value for name, value in given.items()})

    return Tool(_nonsense(chance), chance.choice(descriptions), schema, run, effect="pure")


def _nonsense(chance: random.Random) -> str:
    return "".join(chance.choice("bdgjkprvwz") + chance.choice("aeiou") for _ in range(3)) + chance.choice(
        string.ascii_lowercase
    )


@dataclass
class Case:
    """A question, what is right (as the answer spells it), the tools it takes, and how many calls."""

    question: str
    right: str
    needs: tuple[str, ...]
    kind: str


def cases(count: int, seed: int) -> list[Case]:
    """Generate questions of all kinds, in turn."""
    chance = random.Random(seed)
    return [MAKERS[i % len(MAKERS)](chance) for i in range(count)]


def offered(case: Case, chance: random.Random) -> list[Tool]:
    """Give the tools that the question takes, renamed, some others, renamed too, and some of other kinds, shuffled."""
    others = [name for name in REAL if name not in case.needs]
    names = [*dict.fromkeys(case.needs), *chance.sample(others, chance.randint(0, len(others)))]
    tools = [renamed(REAL[name], chance) for name in names] + chance.sample(
        DISTRACTORS, chance.randint(2, len(DISTRACTORS))
    )
    chance.shuffle(tools)
    return tools


def _number(value: Any) -> str:
    return str(value)


def arithmetic(chance: random.Random) -> Case:
    a, b, c = chance.randint(2, 999), chance.randint(2, 99), chance.randint(2, 20)
    question, value = chance.choice(
        [
            (f"What is {a} * {b}?", a * b),
            (f"{a}*{b}+{c}", a * b + c),
            (f"calculate ({a} + {b}) * {c}", (a + b) * c),
            (f"What's {a} plus {b} times {c}?", a + b * c),
            (f"how much is {a} minus {b}", a - b),
            (f"{a} divided by {b}", a // b if a % b == 0 else a / b),
            (f"What is {b} to the power of {c}?", b**c),
            (f"Please compute the square root of {c * c}.", c),
            (f"{c} squared", c * c),
            (f"what is the sum of {a} and {b}?", a + b),
            (f"{b}% of {a * 100}", a * b),
            (f"{a} mod {b}", a % b),
        ]
    )
    return Case(question, _number(value), ("calculate",), "arithmetic")


FACTORS = {
    ("km", "m"): "1000", ("miles", "km"): "1.609344", ("kg", "pounds"): "1/0.45359237", ("feet", "cm"): "30.48",
    ("hours", "minutes"): "60",
    ("inches", "mm"): "25.4", ("litres", "ml"): "1000", ("hectares", "m2"): "10000", ("km/h", "m/s"): "1/3.6", ("GB", "MB"): "1000",
    ("weeks", "days"): "7", ("stone", "kg"): "6.35029318",
}  # fmt: skip


def conversion(chance: random.Random) -> Case:
    (source, target), factor = chance.choice(list(FACTORS.items()))
    amount = chance.choice([chance.randint(1, 500), chance.randint(1, 5000) / 10])
    over, _, under = factor.rpartition("/")
    exact = Fraction(str(amount)) * (Fraction(factor) if not over else 1 / Fraction(under))
    if chance.random() < 0.2:
        source, target, exact = "fahrenheit", "celsius", (Fraction(str(amount)) - 32) * 5 / 9
    words = [
        f"Convert {amount} {source} to {target}.",
        f"how many {target} are in {amount} {source}?",
        f"What is {amount} {source} in {target}?",
    ]
    right = str(int(exact) if exact.denominator == 1 else float(exact))
    question = chance.choice(words if source != "fahrenheit" else words[::2])
    return Case(question, right, ("convert",), "units")


def _day(chance: random.Random) -> dt.date:
    return dt.date(1900, 1, 1) + dt.timedelta(days=chance.randrange(60_000))


def _spelled(day: dt.date, chance: random.Random) -> str:
    return chance.choice([day.isoformat(), f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%B} {day.year}"])


def date(chance: random.Random) -> Case:
    one, other, n = _day(chance), _day(chance), chance.randint(1, 400)
    a, b = _spelled(one, chance), _spelled(other, chance)
    return chance.choice(
        [
            Case(f"How many days are there between {a} and {b}?", str((other - one).days), ("days_between",), "dates"),
            Case(f"how many days from {a} to {b}", str((other - one).days), ("days_between",), "dates"),
            Case(f"What is the date {n} days after {a}?", str(one + dt.timedelta(n)), ("add_days",), "dates"),
            Case(f"add {n} days to {a}", str(one + dt.timedelta(n)), ("add_days",), "dates"),
            Case(f"{n} days before {a}", str(one - dt.timedelta(n)), ("add_days",), "dates"),
            Case(f"What day of the week was {a}?", f"{one:%A}", ("weekday",), "dates"),
        ]
    )


def _fact(chance: random.Random, *attributes: str) -> tuple[str, str, Any]:
    known = [fact for entries in facts.table().values() for fact in entries if fact["attribute"] in attributes]
    fact = chance.choice(known)
    return fact["subject"], fact["attribute"], fact["value"]


def fact(chance: random.Random) -> Case:
    subject, attribute, value = _fact(
        chance, "capital", "population", "area", "currency", "atomic number", "symbol", "moons", "height"
    )
    words = [
        f"What is the {attribute} of {subject}?",
        f"{attribute} of {subject}",
        f"Tell me {subject}'s {attribute}",
    ]
    return Case(chance.choice(words), str(value), ("lookup",), "look-ups")


def two_steps(chance: random.Random) -> Case:
    one, attribute, x = _fact(chance, "population", "area")
    other, y = next((s, v) for s, a, v in iter(lambda: _fact(chance, attribute), None) if s != one)
    square, first_step = chance.randint(2, 9), ("lookup", "calculate")
    ratio: Callable[[Any, Any], Any] = lambda left, right: left // right if left % right == 0 else left / right  # noqa: E731
    root = stdlib_math.sqrt(x)
    return chance.choice(
        [
            Case(
                f"What is the {attribute} of {one} divided by the {attribute} of {other}?",
                str(ratio(x, y)),
                first_step,
                "two steps",
            ),
            Case(f"the {attribute} of {one} minus the {attribute} of {other}", str(x - y), first_step, "two steps"),
            Case(
                f"What is the square root of the {attribute} of {one}?",
                str(int(root) if int(root) ** 2 == x else root),
                first_step,
                "two steps",
            ),
            Case(f"{square} times the {attribute} of {one}", str(square * x), first_step, "two steps"),
            Case(f"the area of {one} in m2", str(_area(one) * 1_000_000), ("lookup", "convert"), "two steps"),
        ]
    )


def _area(country: str) -> int:
    return facts.lookup(country, "area")["value"]


MAKERS = (arithmetic, conversion, date, fact, two_steps)
