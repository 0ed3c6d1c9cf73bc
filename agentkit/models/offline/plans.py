"""What a question comes down to: a small tree of jobs, each of them for a tool.

Nothing here is worked out. A leaf is a number or a date that stands in the question; everything above a leaf needs a tool.
"""

from __future__ import annotations

from dataclasses import dataclass


class Unclear(Exception):
    """The question can be read in two ways; the text says which, and how to write it."""


@dataclass(slots=True, frozen=True)
class Number:
    """A number of the question, in plain digits."""

    text: str


@dataclass(slots=True, frozen=True)
class Sum:
    """An expression: `parts` are its plain pieces and the plans whose results go between them."""

    parts: tuple[object, ...]
    level: int = (
        9  # how tightly it binds, as in Python: 1 for + and -, 2 for * and /, 3 for signs, 4 for powers, 9 for all else
    )


@dataclass(slots=True, frozen=True)
class Convert:
    """An amount in another unit; without `source` the unit is the one that the amount's observation names."""

    amount: object
    source: str
    target: str


@dataclass(slots=True, frozen=True)
class Lookup:
    """An attribute of a subject, both as the question words them."""

    subject: str
    attribute: str


@dataclass(slots=True, frozen=True)
class Now:
    """The time now, in a time zone if one is named; `part` is "date" where only the day matters."""

    zone: str = ""
    part: str = ""


@dataclass(slots=True, frozen=True)
class Date:
    """A date of the question, as YYYY-MM-DD."""

    text: str


@dataclass(slots=True, frozen=True)
class Yearly:
    """The next MM-DD after today."""

    name: str
    day: str


@dataclass(slots=True, frozen=True)
class DaysBetween:
    """The days from one date to another."""

    start: object
    end: object


@dataclass(slots=True, frozen=True)
class AddDays:
    """The date so many days later."""

    date: object
    days: int


@dataclass(slots=True, frozen=True)
class Weekday:
    """The day of the week on which a date falls."""

    date: object
