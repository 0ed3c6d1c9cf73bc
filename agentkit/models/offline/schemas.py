"""Choose a tool for a job by its schema: what its arguments are, and what its description says that it does.

Rule 1: a tool fits when every argument that it requires has a part to play in the job, and none had to be guessed.
Rule 2: names count as words beside the others; a tool called `zork` is as good as one called `calculate`.
Rule 3: a tool whose first sentence speaks of sending, deleting, paying and the like is for none of these jobs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentkit.models.offline.wire import Schema

# Stems; a word counts when it begins with one. A stem that ends in a space is a whole word.
_HARM = (
    "send delet remov eras pay pays buy purchas sell book reserv email mail post publish upload download sav stor writ transfer "
    "charg translat execut run install subscrib notif remind schedul search_web summar draw render play regist insert append creat"
).split()
_CALCULATES = "calculat comput evaluat solv reckon work determin figur perform do arithmetic math find result".split()
_EXPRESSIONS = "arithmetic expression formula math calculation".split()
_STRANGE = "regular regex xpath sql python javascript facial sentiment emotion genes genetic cron currenc money loan mortgage tax chemical molecul compound boolean logical spreadsheet".split()
_CONVERTS = "conver transform chang express turn switch recalculat re-express".split()
_UNITS = "unit measur dimension quantit".split()
_NO_UNITS = "currenc money exchang encod format file document image zone calendar case temperature_only".split()
_SOURCE = "from source origin original given giv current old start initial input present existing".split()
_TARGET = "to into target want desir destination goal new output result end requested".split()
_SUBJECT = "subject entit topic about thing whose whom country element planet which_thing item object name".split()
_ATTRIBUTE = "attribut propert field fact characteristic detail aspect featur trait kind quality wanted".split()
_LOOKS_UP = "look fact table know retriev fetch find get tell giv return reference encyclop information".split()
_DAYS = "day days date dates calendar".split()
_BETWEEN = "between difference differ elapsed interval gap apart span separat count from".split()
_FIRST = "start first from begin earlier since origin initial one_date left".split()
_SECOND = "end second to until other later last final up_to right till".split()
_ADDS = "add shift mov advanc later after forward plus offset increment".split()
_NO_ADDS = "subtract event holiday appointment meeting remind birthday".split()
_WEEKDAY = "weekday".split()
_NOW = "now current present today clock moment".split()
_TIME = "time date clock day moment weekday".split()
_NO_NOW = "weather price news stock user rate temperature event location exchange forecast directory timer".split()

Given = dict[str, Any]
Fill = Callable[[Schema, Given], list[Given]]


@dataclass(slots=True, frozen=True)
class Job:
    """A kind of work: its name for people, which tools can do it, how well, and with which arguments."""

    said: str
    fits: Callable[[Schema], int]
    fill: Fill


def choose(job: str, tools: Iterable[Schema], given: Given) -> list[tuple[Schema, Given]]:
    """Give the calls that could do a job, the best first; several for one tool where it may want another spelling."""
    kind, found = JOBS[job], []
    for tool in tools:
        if harmless(tool) and (score := kind.fits(tool)):
            found += [(score, tool, arguments) for arguments in kind.fill(tool, given)]
    found.sort(key=lambda each: -each[0])
    return [(tool, arguments) for _, tool, arguments in found]


def able(tools: Iterable[Schema]) -> list[str]:
    """Say what can be done with these tools."""
    return [job.said for job in JOBS.values() if any(harmless(tool) and job.fits(tool) for tool in tools)]


# Words

def words(text: str) -> list[str]:
    """Give the lower-case words of a text; names with underscores or humps are taken apart."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text.replace("_", " ")).lower().replace("-", " ").split()


def hits(text: str, stems: Iterable[str]) -> int:
    """Count the words of a text that begin with one of these stems; short stems must be the whole word."""
    stems = tuple(stem.replace("_", " ") for stem in stems)
    long = tuple(stem for stem in stems if len(stem) > 3)
    clean = [word.strip("\"'`.,;:()[]!?") for word in words(text)]
    return sum(word in stems or word.startswith(long) for word in clean)


def headline(tool: Schema) -> str:
    """The name and the first sentence: what a tool is for."""
    first = re.split(r"[.!?](?:\s|$)|\n", tool.description.strip(), maxsplit=1)[0]
    return f"{tool.name} {first}"


def told(name: str, field: dict[str, Any]) -> str:
    """What is said about an argument; its name counts twice."""
    return f"{name} {name} {field.get('title', '')} {field.get('description', '')}"


def harmless(tool: Schema) -> bool:
    """Tell whether nothing in a tool's first sentence speaks of an effect."""
    return not hits(headline(tool), _HARM)


# Arguments

def _types(field: dict[str, Any]) -> set[str]:
    kinds = field.get("type")
    found = {kinds} if isinstance(kinds, str) else set(kinds or ())
    for part in field.get("anyOf") or field.get("oneOf") or ():
        found |= _types(part) if isinstance(part, dict) else set()
    return found - {"null"}


def texts(tool: Schema, *, required: bool = True) -> list[str]:
    """The arguments that take a text."""
    return [name for name in (tool.required if required else tool.fields) if "string" in _types(tool.fields[name]) or "enum" in tool.fields[name]]


def numbers(tool: Schema) -> list[str]:
    """The required arguments that take a number and no text."""
    return [name for name in tool.required if _types(tool.fields[name]) and _types(tool.fields[name]) <= {"number", "integer"}]


def _roles(tool: Schema, names: list[str], first: list[str], second: list[str]) -> list[str]:
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
    return " ".join(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word for word in kept)


def _dated(tool: Schema, names: list[str]) -> bool:
    return all(tool.fields[name].get("format") == "date" or hits(told(name, tool.fields[name]), [*_DAYS, "yyyy"]) for name in names)


# Jobs

def _calculator(tool: Schema) -> int:
    names = texts(tool)
    if len(names) != 1 or len(tool.required) != 1 or "enum" in tool.fields[names[0]]:
        return 0
    all_told = f"{tool.name} {tool.description} {told(names[0], tool.fields[names[0]])}"
    return 0 if hits(all_told, _STRANGE) else hits(all_told, _CALCULATES) and hits(all_told, _EXPRESSIONS)


def _calculation(tool: Schema, given: Given) -> list[Given]:
    name = texts(tool)[0]
    return [{name: each} for each in given["expressions"]]


def _converter(tool: Schema) -> int:
    names = texts(tool)
    if len(numbers(tool)) != 1 or len(tool.required) != 3 or not _roles(tool, names, _SOURCE, _TARGET):
        return 0
    everything = " ".join([headline(tool), tool.description, *(told(name, tool.fields[name]) for name in tool.required)])
    return 0 if hits(headline(tool), _NO_UNITS) else hits(everything, _UNITS) and hits(tool.name + " " + tool.description, _CONVERTS)


def _conversion(tool: Schema, given: Given) -> list[Given]:
    number, (source, target) = numbers(tool)[0], _roles(tool, texts(tool), _SOURCE, _TARGET)
    amount = given["value"]
    if _types(tool.fields[number]) == {"integer"} and not isinstance(amount, int):
        return []
    sources, targets = allowed(tool.fields[source], given["sources"]), allowed(tool.fields[target], given["targets"])
    pairs = [(sources[0], targets[0]), (sources[-1], targets[-1])] if sources and targets else []
    return [{number: amount, source: one, target: other} for one, other in dict.fromkeys(pairs)]


def _reference(tool: Schema) -> int:
    if len(tool.required) != 2 or not _roles(tool, texts(tool), _SUBJECT, _ATTRIBUTE):
        return 0
    return hits(tool.name + " " + tool.description, _LOOKS_UP)


def _look_up(tool: Schema, given: Given) -> list[Given]:
    subject, attribute = _roles(tool, texts(tool), _SUBJECT, _ATTRIBUTE)
    return [{subject: given["subject"], attribute: each} for each in allowed(tool.fields[attribute], given["attributes"])[:1]]


def _single(tool: Schema) -> int:
    return int(len(tool.required) == 1 and len(texts(tool)) == 1 and not _calculator(tool) and not _weekday_teller(tool))


def _about_one(tool: Schema, given: Given) -> list[Given]:
    """A tool that gives one attribute of whatever is named: `population(country)`, `get_weather(city)`."""
    name, head = texts(tool)[0], set(plain_words(headline(tool).replace(",", " ")).split())
    if "not" in head or "without" in head:
        return []
    wanted = [set(plain_words(each).split()) for each in given["attributes"]]
    return [{name: given["subject"]}] if any(each and each <= head for each in wanted) else []


def _clock(tool: Schema) -> int:
    if tool.required or hits(headline(tool), _NO_NOW):
        return 0
    return hits(headline(tool), _NOW) and hits(headline(tool), _TIME)


def _time_now(tool: Schema, given: Given) -> list[Given]:
    zones = [name for name in texts(tool, required=False) if hits(told(name, tool.fields[name]), ["zone", "timezone", "tz"])]
    if given["zone"]:
        return [{zones[0]: given["zone"]}] if zones else []
    return [{}]


def _day_counter(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 2 or not _dated(tool, names) or not _roles(tool, names, _FIRST, _SECOND):
        return 0
    return hits(headline(tool), ["day", "days"]) and hits(headline(tool), _BETWEEN)


def _two_dates(tool: Schema, given: Given) -> list[Given]:
    start, end = _roles(tool, texts(tool), _FIRST, _SECOND)
    return [{start: given["start"], end: given["end"]}]


def _day_adder(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 2 or len(names) != 1 or len(numbers(tool)) != 1 or not _dated(tool, names) or hits(headline(tool), _NO_ADDS):
        return 0
    counted = told(numbers(tool)[0], tool.fields[numbers(tool)[0]])
    return hits(headline(tool), _ADDS) and hits(headline(tool), _DAYS) and hits(counted + " " + headline(tool), ["day", "days"])


def _date_and_days(tool: Schema, given: Given) -> list[Given]:
    return [{texts(tool)[0]: given["date"], numbers(tool)[0]: given["days"]}]


def _weekday_teller(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 1 or len(names) != 1 or not _dated(tool, names):
        return 0
    head = " ".join(words(headline(tool)))
    return int("weekday" in head or "day of the week" in head or "day of week" in head)


def _one_date(tool: Schema, given: Given) -> list[Given]:
    return [{texts(tool)[0]: given["date"]}]


JOBS: dict[str, Job] = {
    "calculate": Job("do arithmetic", _calculator, _calculation),
    "convert": Job("convert units", _converter, _conversion),
    "lookup": Job("look facts up", _reference, _look_up),
    "about": Job("", _single, _about_one),
    "now": Job("tell the time", _clock, _time_now),
    "days_between": Job("count days between dates", _day_counter, _two_dates),
    "add_days": Job("add days to a date", _day_adder, _date_and_days),
    "weekday": Job("tell the weekday of a date", _weekday_teller, _one_date),
}
