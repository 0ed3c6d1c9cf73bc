"""Work a plan off, one call at a time: what was observed already is taken from the conversation, the next call is asked for.

Nothing is remembered between requests. The whole plan is walked each time, so that an observation that a person edited
changes everything that follows from it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.models.offline.jobs import choose
from agentkit.models.offline.plans import AddDays, Convert, Date, DaysBetween, Lookup, Now, Number, Sum, Weekday, Yearly
from agentkit.models.offline.schemas import plain_words
from agentkit.models.offline.wire import Exchange, Schema

ATTEMPTS = 2
_LONGEST_VALUE = 300
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_VALUE_KEYS = ("value", "result", "answer", "output")
_SAME = (  # ways to say one attribute, the usual one first
    ("population", "inhabitants", "people", "residents"),
    ("area", "size", "surface", "surface area"),
    ("currency", "money"),
    ("language", "official language"),
    ("capital", "capital city"),
    ("symbol", "chemical symbol"),
    ("atomic mass", "atomic weight"),
    ("height", "elevation", "altitude"),
    ("distance from the sun", "distance to the sun"),
    ("distance from the earth", "distance to the earth"),
)


class CallNeeded(Exception):
    """The plan needs this call next."""

    def __init__(self, tool: str, arguments: dict[str, Any], job: str) -> None:
        self.tool, self.arguments, self.job = tool, arguments, job


class Cannot(Exception):
    """The plan cannot be carried out; the text says why."""


@dataclass(slots=True)
class Value:
    """What an observation says: its text, the unit beside it, and when it was true."""

    text: str
    unit: str = ""
    as_of: str = ""

    @property
    def number(self) -> str:
        """The value as digits, or nothing when it is not plainly one number."""
        return self.text if _NUMBER.fullmatch(self.text) else ""


@dataclass(slots=True)
class Desk:
    """The tools, the exchanges so far, and in `findings` one clause for each thing found out."""

    tools: list[Schema]
    exchanges: list[Exchange]
    findings: list[str] = field(default_factory=list)
    _used: list[int] = field(default_factory=list)

    def use(self, job: str, given: dict[str, Any], what: str) -> tuple[Value, str]:
        """Get a job done: give its observation, and how a person changed the call, if one did.

        Raises `CallNeeded` when it was not called yet, `Cannot` when no tool can do it or all that can have failed.
        """
        calls = choose(job, self.tools, given)
        if not calls:
            raise Cannot(f"none of the tools offered can {what}")
        failures = []
        for tool, arguments in calls[:ATTEMPTS]:
            exchange = self._find(tool.name, arguments)
            if exchange is None or exchange.observation is None:
                raise CallNeeded(tool.name, arguments, what)
            changed = "" if _same(exchange, tool.name, arguments) else f"{exchange.name}({_plain(exchange.arguments)})"
            if exchange.observation.lstrip().lower().startswith("error"):
                failures.append(f"the tool {tool.name} failed and said “{one_line(exchange.observation)}”")
                continue
            return value_of(exchange), changed
        raise Cannot("; ".join(failures))

    def _find(self, name: str, arguments: dict[str, Any]) -> Exchange | None:
        """Find this call; or the next one in turn of the same tool, for a person may have changed its arguments."""
        for i, exchange in enumerate(self.exchanges):
            if _same(exchange, name, arguments):
                self._used.append(i)
                return exchange
        waiting = [i for i in range(len(self.exchanges)) if i not in self._used]
        if waiting and self.exchanges[waiting[0]].name == name:
            self._used.append(waiting[0])
            return self.exchanges[waiting[0]]
        return None

    def find_out(self, clause: str, value: Value) -> Value:
        """Note what was found out."""
        if (noted := f"{clause} is {said(value)}") not in self.findings:
            self.findings.append(noted)
        return value


def _same(exchange: Exchange, name: str, arguments: dict[str, Any]) -> bool:
    return exchange.name == name and exchange.arguments == arguments


def _plain(arguments: dict[str, Any]) -> str:
    return one_line(", ".join(f"{name}={value!r}" for name, value in arguments.items()))


def one_line(text: str) -> str:
    """Bring foreign text to one line of bounded length; a marker in it cannot come to stand at a line's start."""
    line = " ".join(text[: _LONGEST_VALUE * 4].split())
    return line if len(line) <= _LONGEST_VALUE else line[:_LONGEST_VALUE] + "…"


def said(value: Value) -> str:
    """Word a value for the answer; long texts are quoted, for they are the tool's words."""
    text = value.text if len(value.text) <= 80 else f"“{value.text}”"
    return text + (f" {value.unit}" if value.unit else "") + (f" (as of {value.as_of})" if value.as_of else "")


def value_of(exchange: Exchange) -> Value:
    """Read an observation: a bare value, or JSON with the value under one of its keys."""
    text = (exchange.observation or "").strip()
    try:
        data = json.loads(text, parse_float=str, parse_int=str, parse_constant=str) if len(text) < 100_000 else text
    except (ValueError, RecursionError):
        data = text
    if not isinstance(data, dict):
        return Value(one_line(data if isinstance(data, str) else text))
    given = {str(value).lower() for value in exchange.arguments.values()}
    news = {
        key: value
        for key, value in data.items()
        if not isinstance(value, dict | list) and str(value).lower() not in given
    }
    unit, as_of = str(news.pop("unit", "")), str(news.pop("as_of", ""))
    for key in _VALUE_KEYS:
        if key in data and not isinstance(data[key], dict | list):
            return Value(one_line(str(data[key])), one_line(unit), one_line(as_of))
    if len(news) == 1:
        return Value(one_line(str(*news.values())), one_line(unit), one_line(as_of))
    return Value(one_line(", ".join(f"{key}: {value}" for key, value in news.items()) or text))


# One function per kind of plan


def work(plan: Any, desk: Desk) -> Value:
    """Work a plan off, its parts first."""
    return WORKERS[type(plan)](plan, desk)


def _literal(plan: Number | Date, desk: Desk) -> Value:
    return Value(plan.text)


def _pieces(plan: Sum, desk: Desk, units: set[str]) -> Iterator[str]:
    """Write a sum with the numbers that were observed, and gather their units."""
    for part in plan.parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Sum):
            yield from _pieces(part, desk, units)
        else:
            value = work(part, desk)
            if not value.number:
                raise Cannot(
                    f"“{one_line(value.text)}” is not a plain number, so that nothing can be worked out with it"
                )
            units |= {value.unit} - {""}
            yield f"({value.number})" if value.number.startswith("-") else value.number


def _sum(plan: Sum, desk: Desk) -> Value:
    if not choose("calculate", desk.tools, {"expressions": [""]}):
        return _operation(plan, desk)
    units: set[str] = set()
    expression = "".join(_pieces(plan, desk, units))
    if len(units) > 1 and (" + " in expression or " - " in expression):
        raise Cannot(f"amounts in {' and '.join(sorted(units))} cannot be added or subtracted as they are")
    spellings = [expression]
    if expression.startswith("sqrt(") and expression.endswith(")") and expression.count("(") == 1:
        spellings.append(f"{expression[4:]} ** 0.5")
    value, changed = desk.use("calculate", {"expressions": spellings}, "do arithmetic")
    return desk.find_out(changed or expression, value)


def _operation(plan: Sum, desk: Desk) -> Value:
    """Do without a calculator where there are tools for the single operations."""
    match plan.parts:
        case ("(", inner, ")"):
            return work(inner, desk)
        case (left, str(operator), right) if operator.strip() in ("+", "-", "*", "/"):
            if not choose("operate", desk.tools, {"operator": operator.strip(), "left": 0, "right": 0}):
                raise Cannot("none of the tools offered can do this sum")
            one, other = work(left, desk), work(right, desk)
            if not (one.number and other.number):
                raise Cannot("an observation is not a plain number, so that nothing can be worked out with it")
            if one.unit and other.unit and one.unit != other.unit and operator.strip() in "+-":
                raise Cannot(f"amounts in {one.unit} and {other.unit} cannot be added or subtracted as they are")
            given = {"operator": operator.strip(), "left": _read(one.number), "right": _read(other.number)}
            value, changed = desk.use("operate", given, "do this sum")
            return desk.find_out(changed or f"{one.number}{operator}{other.number}", value)
    raise Cannot("none of the tools offered can do arithmetic of this kind")


def _read(digits: str) -> int | float:
    number: int | float = int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)
    if not math.isfinite(number):
        raise Cannot(f"{digits} is too large a number")
    return number


def _convert(plan: Convert, desk: Desk) -> Value:
    amount = work(plan.amount, desk)
    source = plan.source or amount.unit
    if not amount.number or not source:
        raise Cannot("a conversion needs a number and its unit, and the observation does not give both")
    given = {"value": _read(amount.number), "sources": _spellings(source), "targets": _spellings(plan.target)}
    value, changed = desk.use("convert", given, "convert units")
    return desk.find_out(changed or f"{amount.number} {source} in {plan.target}", Value(value.text))


def _spellings(unit: str) -> list[str]:
    from agentkit.tools.builtin.units import find_unit

    known = find_unit(unit)
    return [unit, *(known.names if known else ())]


def _lookup(plan: Lookup, desk: Desk) -> Value:
    attribute = plain_words(plan.attribute)
    group = next((each for each in _SAME if attribute in map(plain_words, each)), (plan.attribute,))
    given = {"subject": plan.subject, "attributes": [plan.attribute, *group]}
    job = "lookup" if choose("lookup", desk.tools, given) else "about"
    value, changed = desk.use(job, given, f"tell the {one_line(plan.attribute)} of something")
    return desk.find_out(changed or f"the {plan.attribute} of {plan.subject}", value)


def _now(plan: Now, desk: Desk) -> Value:
    value, changed = desk.use("now", {"zone": plan.zone}, "tell the time there" if plan.zone else "tell the time")
    if plan.part == "date":
        return desk.find_out(changed or "today's date", _day(value))
    plain = Value(re.sub(r"(^|, )[a-z_]{1,20}: ", r"\1", value.text))  # JSON without its keys
    return desk.find_out(changed or (f"the time in {plan.zone}" if plan.zone else "the time"), plain)


def _day(value: Value) -> Value:
    days = set(_DATE.findall(value.text))
    if len(days) != 1:
        raise Cannot(f"“{one_line(value.text)}” does not name one day")
    return Value(days.pop())


def _yearly(plan: Yearly, desk: Desk) -> Value:
    today = work(Now(part="date"), desk).text
    year = int(today[:4]) + (today[5:] > plan.day)
    return Value(f"{year:04}-{plan.day}")


def _days_between(plan: DaysBetween, desk: Desk) -> Value:
    start, end = work(plan.start, desk), work(plan.end, desk)
    value, changed = desk.use(
        "days_between", {"start": _day(start).text, "end": _day(end).text}, "count days between dates"
    )
    return desk.find_out(changed or f"the number of days from {start.text} to {end.text}", value)


def _add_days(plan: AddDays, desk: Desk) -> Value:
    day = _day(work(plan.date, desk)).text
    value, changed = desk.use("add_days", {"date": day, "days": plan.days}, "add days to a date")
    return desk.find_out(changed or f"{abs(plan.days)} days {'before' if plan.days < 0 else 'after'} {day}", value)


def _weekday(plan: Weekday, desk: Desk) -> Value:
    day = _day(work(plan.date, desk)).text
    value, changed = desk.use("weekday", {"date": day}, "tell the weekday of a date")
    return desk.find_out(changed or f"the weekday of {day}", value)


WORKERS: dict[type, Callable[[Any, Desk], Value]] = {
    Number: _literal, Date: _literal, Sum: _sum, Convert: _convert, Lookup: _lookup, Now: _now, Yearly: _yearly,
    DaysBetween: _days_between, AddDays: _add_days, Weekday: _weekday,
}  # fmt: skip
