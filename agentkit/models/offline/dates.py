"""Read dates and what is asked about them."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentkit.models.offline.plans import AddDays, Date, DaysBetween, Now, Unclear, Weekday, Yearly

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
FEASTS = {
    "christmas": "12-25", "christmas day": "12-25", "christmas eve": "12-24", "new year": "01-01", "new year's day": "01-01",
    "new years day": "01-01", "new year's eve": "12-31", "halloween": "10-31", "valentine's day": "02-14",
}  # fmt: skip
ZONES = {
    "utc": "UTC", "gmt": "UTC", "london": "Europe/London", "paris": "Europe/Paris", "berlin": "Europe/Berlin",
    "madrid": "Europe/Madrid", "rome": "Europe/Rome", "lisbon": "Europe/Lisbon", "vienna": "Europe/Vienna",
    "athens": "Europe/Athens", "moscow": "Europe/Moscow", "istanbul": "Europe/Istanbul", "cairo": "Africa/Cairo",
    "lagos": "Africa/Lagos", "nairobi": "Africa/Nairobi", "johannesburg": "Africa/Johannesburg", "dubai": "Asia/Dubai",
    "delhi": "Asia/Kolkata", "new delhi": "Asia/Kolkata", "mumbai": "Asia/Kolkata", "bangkok": "Asia/Bangkok",
    "singapore": "Asia/Singapore", "beijing": "Asia/Shanghai", "shanghai": "Asia/Shanghai", "hong kong": "Asia/Hong_Kong",
    "tokyo": "Asia/Tokyo", "seoul": "Asia/Seoul", "sydney": "Australia/Sydney", "auckland": "Pacific/Auckland",
    "new york": "America/New_York", "chicago": "America/Chicago", "los angeles": "America/Los_Angeles",
    "toronto": "America/Toronto", "mexico city": "America/Mexico_City", "sao paulo": "America/Sao_Paulo",
    "são paulo": "America/Sao_Paulo", "buenos aires": "America/Argentina/Buenos_Aires",
}  # fmt: skip

_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DAY_FIRST = re.compile(r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]+)\.?,? (\d{4})")
_MONTH_FIRST = re.compile(r"([a-z]+)\.? (?:the )?(\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_SLASHES = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")


def date(text: str) -> object | None:
    """Read a date, "today", or a feast; None when it is neither. Raises `Unclear` for 3/4/2024."""
    low = " ".join(text.lower().split())
    if low in ("today", "now"):
        return Now(part="date")
    if low in ("tomorrow", "yesterday"):
        return AddDays(Now(part="date"), 1 if low == "tomorrow" else -1)
    if low in FEASTS:
        return Yearly(low, FEASTS[low])
    if low[:-5] in FEASTS and low[-5] == " " and low[-4:].isdecimal():
        return Date(f"{low[-4:]}-{FEASTS[low[:-5]]}")
    if found := _ISO.fullmatch(low):
        return _date(found[1], found[2], found[3])
    if found := _DAY_FIRST.fullmatch(low):
        return _date(found[3], _month(found[2]), found[1])
    if found := _MONTH_FIRST.fullmatch(low):
        return _date(found[3], _month(found[1]), found[2])
    if found := _SLASHES.fullmatch(low):
        first, second = int(found[1]), int(found[2])
        if first <= 12 and second <= 12 and first != second:
            raise Unclear(f"{text} can be two different days; write the date as YYYY-MM-DD")
        return _date(found[3], *((second, first) if first > 12 else (first, second)))
    return None


def _month(name: str) -> int:
    hits = [
        i for i, month in enumerate(MONTHS, 1) if month == name or (name in (month[:3], month[:4]) and len(name) >= 3)
    ]
    return hits[0] if hits else 0


def _date(year: str, month: str | int, day: str | int) -> Date | None:
    """Spell a date for the tools; whether such a day exists is for them to say."""
    return Date(f"{int(year):04}-{int(month):02}-{int(day):02}") if int(month) else None


def _two(found: re.Match[str]) -> object | None:
    start, end = date(found["a"]), date(found["b"])
    return DaysBetween(start, end) if start and end else None


def _until(found: re.Match[str]) -> object | None:
    end = date(found["a"])
    return DaysBetween(Now(part="date"), end) if end else None


def _since(found: re.Match[str]) -> object | None:
    start = date(found["a"])
    return DaysBetween(start, Now(part="date")) if start and not isinstance(start, Yearly) else None


def _weekday(found: re.Match[str]) -> object | None:
    day = date(found["a"])
    return Weekday(day) if day else None


def _later(found: re.Match[str]) -> object | None:
    day, words = date(found["a"]), found.groupdict()
    days = int(found["n"]) * (7 if found["unit"].startswith("week") else 1)
    back = words.get("way") in ("before", "minus") or words.get("verb") in ("subtract", "take")
    return AddDays(day, -days if back else days) if day else None


def _here(found: re.Match[str]) -> object | None:
    return Now()


def _there(found: re.Match[str]) -> object | None:
    place = " ".join(found["a"].lower().split())
    return Now(ZONES[place]) if place in ZONES else None


_TWO = r"(?P<a>.+?) (?:and|to|until|till) (?P<b>.+)"
_CLOCK = r"(?:what )?(?:is )?(?:the )?(?:current )?(?:local )?(?:time|date)(?: is it)?(?: right)?"
_N = r"(?P<n>\d{1,6}) (?P<unit>days?|weeks?)"
_WEEK = r"(?:weekday|day of the week|day)"
RULES: tuple[tuple[str, Callable[[re.Match[str]], object | None]], ...] = (
    (rf"(?:how many|(?:the )?number of) days (?:are there |are |is it |lie )?(?:between|from) {_TWO}", _two),
    (rf"days (?:between|from) {_TWO}", _two),
    (r"(?:how many )?days (?:is it |are there |are left |left |to go )?(?:until|till|before|to) (?P<a>.+)", _until),
    (r"how many days (?:is it |are there |have passed |passed |has it been )?since (?P<a>.+)", _since),
    (rf"{_CLOCK}(?: now| today)?", _here),
    (r"(?:what (?:day|year|month|date) is (?:it|today|this)(?: today| now)?|what is today|today's date|the date today)", _here),
    (rf"(?:on )?(?:what|which) {_WEEK} (?:is|was|will be) (?:it on |it )?(?P<a>.+)", _weekday),
    (rf"(?:on )?(?:what|which) {_WEEK} (?:does|did|will) (?P<a>.+) (?:fall on|fall|be)", _weekday),
    (r"(?:the )?(?:weekday|day of the week) (?:of|for|on) (?P<a>.+)", _weekday),
    (
        r"(?:what |which )?(?:date |day )?(?:is |was |will it be |will be |comes )?(?:the )?(?:date )?"
        rf"{_N} (?P<way>after|before|from) (?P<a>.+)",
        _later,
    ),
    (rf"(?P<verb>add|subtract|take) {_N} (?:to|from) (?P<a>.+)", _later),
    (rf"(?P<a>.+) (?P<way>plus|minus) {_N}", _later),
    (rf"{_CLOCK}(?: now)? in (?P<a>.+?)(?: right now| now)?", _there),
)  # fmt: skip
_RULES = tuple((re.compile(pattern, re.IGNORECASE), make) for pattern, make in RULES)


def asked(question: str) -> object | None:
    """Read a question about dates or the time; None when it is not one."""
    for pattern, make in _RULES:
        if (found := pattern.fullmatch(question)) and (plan := make(found)):
            return plan
    return None
