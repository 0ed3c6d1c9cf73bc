"""The clock and the calendar: the time now, and arithmetic with dates."""

from __future__ import annotations

import datetime as dt

from agentkit.errors import ToolError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@tool(effect="idempotent")
def now(timezone: str = "UTC") -> dict[str, str]:
    """Return the current date, time and weekday.

    Args:
        timezone: An IANA time zone such as "UTC", "Europe/Paris" or "Asia/Tokyo".
    """
    moment = dt.datetime.now(_zone(timezone))
    return {
        "date": moment.date().isoformat(),
        "time": moment.strftime("%H:%M:%S"),
        "weekday": _WEEKDAYS[moment.weekday()],
        "timezone": timezone,
    }


@tool(effect="pure")
def days_between(start: str, end: str) -> int:
    """Count the days from one date to another; the number is negative if the second date comes first.

    Args:
        start: The first date, to count from, as YYYY-MM-DD.
        end: The second date, to count to, as YYYY-MM-DD.
    """
    return (_date(end) - _date(start)).days


@tool(effect="pure")
def add_days(date: str, days: int) -> str:
    """Add a number of days to a date and return the new date as YYYY-MM-DD.

    Args:
        date: The date to start from, as YYYY-MM-DD.
        days: How many days to add; a negative number goes back.
    """
    try:
        return (_date(date) + dt.timedelta(days=days)).isoformat()
    except OverflowError:
        raise ToolError("the result is outside the years 1 to 9999") from None


@tool(effect="pure")
def weekday(date: str) -> str:
    """Return the day of the week of a date, such as "Monday".

    Args:
        date: The date, as YYYY-MM-DD.
    """
    return _WEEKDAYS[_date(date).weekday()]


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{text[:40]!r} is not a date; write a date that exists as YYYY-MM-DD") from None


def _zone(name: str) -> dt.tzinfo:
    from zoneinfo import ZoneInfo

    if name.upper() == "UTC":
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ToolError(f"unknown time zone {name[:60]!r}; use a name such as Europe/Paris") from None


box = ToolBox([now, days_between, add_days, weekday], name="clock")
