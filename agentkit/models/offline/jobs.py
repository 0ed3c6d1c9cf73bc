"""Choose a tool for a job by its schema: what its arguments are, and what its description says that it does.

Rule 1: a tool fits when every argument that it requires has a part to play in the job, and none had to be guessed.
Rule 2: names count as words beside the others; a tool called `zork` is as good as one called `calculate`.
Rule 3: a tool whose first sentence speaks of sending, deleting, paying and the like is for none of these jobs.
Rule 4: a tool whose first sentence uses a word that the job has no use for is about something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentkit.models.offline.schemas import (
    allowed,
    dated,
    explained,
    harmless,
    headline,
    hits,
    in_order,
    numbers,
    plain_words,
    stems,
    texts,
    told,
    types,
    words,
)
from agentkit.models.offline.wire import Schema

_CALCULATES = stems(
    "calculat comput evaluat solv reckon work determin figur perform do arithmetic math find result crunch value"
)
_EXPRESSIONS = stems("arithmetic expression formula math calculation calculator sum sums numbers")
_STRANGE = stems(
    "regular regex xpath sql javascript facial sentiment emotion genes genetic cron currenc money loan mortgage tax "
    "chemical molecul compound boolean logical spreadsheet "
)
_UNITS = stems("unit measur dimension quantit")
_NO_UNITS = stems("currenc money exchang encod file document image zone calendar")
_SOURCE = stems("in from source origin original given giv current old start initial input present existing")
_TARGET = stems("out to into target want desir destination goal new output result end requested")
_SUBJECT = stems(
    "what who subject entit topic about thing whose whom country element planet which_thing item object name"
)
_ATTRIBUTE = stems("attribut propert field fact characteristic detail aspect featur trait kind quality wanted")
_LOOKS_UP = stems(
    "trivia database look fact table know retriev fetch find get tell giv return reference encyclop information"
)
_CAVEATS = stems("business working weekend holiday exclud")
_LEADS_TO = stems(
    "the a an of get fetch give tell return find look up lookup show current official number total country city"
)
_FOLLOWS = stems("of in for at by from on about a the country city")
_DAYS = stems("day days date dates calendar")
_BETWEEN = stems("between difference differ elapsed interval gap apart span separat count from")
_FIRST = stems("start first from begin earlier since origin initial one_date left")
_SECOND = stems("end second to until other later last final up_to right till")
_ADDS = stems("moves moves add shift mov advanc later after forward plus offset increment")
_WEEKDAY = stems("weekday")
_NOW = stems("todays timestamp now current present today clock moment")
_TIME = stems("timestamp today time date clock day moment weekday")
_OPERATORS = {
    "+": stems("add addition sum plus"),
    "-": stems("subtract subtraction minus difference"),
    "*": stems("multipl product times"),
    "/": stems("divid division quotient ratio"),
}
_LEFT = stems("first minuend numerator dividend left a x")
_RIGHT = stems("second subtrahend denominator divisor right b y by")

Given = dict[str, Any]
Fill = Callable[[Schema, Given], list[Given]]


@dataclass(slots=True, frozen=True)
class Job:
    """A kind of work: its name for people, which tools can do it, how well, and with which arguments.

    `words` are the stems that a description may use; one that uses others is about something else (Rule 4).
    """

    said: str
    fits: Callable[[Schema], int]
    fill: Fill
    words: tuple[str, ...] = ()

    def suits(self, tool: Schema) -> int:
        """Say how well a tool suits this job; 0 when it does not."""
        known = (
            harmless(tool) and (not self.words or explained(tool, self.words)) and not hits(tool.description, _CAVEATS)
        )
        return self.fits(tool) if known else 0


def choose(job: str, tools: Iterable[Schema], given: Given) -> list[tuple[Schema, Given]]:
    """Give the calls that could do a job, the best first; several for one tool where it may want another spelling."""
    kind, found = JOBS[job], []
    for tool in tools:
        if score := kind.suits(tool):
            found += [(score, tool, arguments) for arguments in kind.fill(tool, given)]
    found.sort(key=lambda each: -each[0])
    return [(tool, arguments) for _, tool, arguments in found]


def able(tools: Iterable[Schema]) -> list[str]:
    """Say what can be done with these tools."""
    return [job.said for job in JOBS.values() if any(job.suits(tool) for tool in tools)]


# One pair of functions per job: whether a tool is for it (0: no), and the arguments that it takes then


def _calculator(tool: Schema) -> int:
    names = texts(tool)
    if len(names) != 1 or len(tool.required) != 1 or "enum" in tool.fields[names[0]]:
        return 0
    all_told = f"{tool.name} {tool.description} {told(names[0], tool.fields[names[0]])}"
    return 0 if hits(all_told, _STRANGE) else hits(all_told, _CALCULATES) and hits(all_told, _EXPRESSIONS)


def _calculation(tool: Schema, given: Given) -> list[Given]:
    name = texts(tool)[0]
    return [{name: each} for each in given["expressions"]]


def _two_numbers(tool: Schema) -> int:
    """A tool for one operation: `add(a, b)`."""
    names = numbers(tool)
    if len(names) != 2 or len(tool.required) != 2:
        return 0
    plain = hits(headline(tool), ["number", "numeric", "integer", "value"]) or {*names} <= {*_LEFT, *_RIGHT}
    return int(bool(plain) and sum(bool(hits(headline(tool), each)) for each in _OPERATORS.values()) == 1)


def _operation(tool: Schema, given: Given) -> list[Given]:
    operator, names = given["operator"], numbers(tool)
    if not hits(headline(tool), _OPERATORS.get(operator, ())):
        return []
    if operator in ("-", "/"):
        names = in_order(tool, names, _LEFT, _RIGHT)
    whole = [types(tool.fields[name]) == {"integer"} for name in names]
    pair = list(zip(names, (given["left"], given["right"]), strict=False))
    fits = all(isinstance(value, int) or not only for only, (_, value) in zip(whole, pair, strict=True))
    return [dict(pair)] if pair and fits else []


def _converter(tool: Schema) -> int:
    names = texts(tool)
    if len(numbers(tool)) != 1 or len(tool.required) != 3 or not in_order(tool, names, _SOURCE, _TARGET):
        return 0
    about = " ".join([tool.name, tool.description, *(told(name, tool.fields[name]) for name in tool.required)])
    return 0 if hits(about, _NO_UNITS) else hits(about, _UNITS)


def _conversion(tool: Schema, given: Given) -> list[Given]:
    number, (source, target) = numbers(tool)[0], in_order(tool, texts(tool), _SOURCE, _TARGET)
    amount = given["value"]
    if types(tool.fields[number]) == {"integer"} and not isinstance(amount, int):
        return []
    sources, targets = allowed(tool.fields[source], given["sources"]), allowed(tool.fields[target], given["targets"])
    pairs = [(sources[0], targets[0]), (sources[-1], targets[-1])] if sources and targets else []
    return [{number: amount, source: one, target: other} for one, other in dict.fromkeys(pairs)]


def _reference(tool: Schema) -> int:
    if len(tool.required) != 2 or not in_order(tool, texts(tool), _SUBJECT, _ATTRIBUTE):
        return 0
    return hits(tool.name + " " + tool.description, _LOOKS_UP)


def _look_up(tool: Schema, given: Given) -> list[Given]:
    subject, attribute = in_order(tool, texts(tool), _SUBJECT, _ATTRIBUTE)
    return [
        {subject: given["subject"], attribute: each}
        for each in allowed(tool.fields[attribute], given["attributes"])[:1]
    ]


def _single(tool: Schema) -> int:
    return int(
        len(tool.required) == 1 and len(texts(tool)) == 1 and not _calculator(tool) and not _weekday_teller(tool)
    )


def _about_one(tool: Schema, given: Given) -> list[Given]:
    """A tool that gives one attribute of whatever is named: `population(country)`, `get_weather(city)`."""
    said = [plain_words(tool.name).split(), words(headline(tool).removeprefix(tool.name))]
    wanted = [plain_words(each).split() for each in given["attributes"]]
    found = any(
        _speaks_of([plain_words(word.strip(".,;:")) or word for word in each], one) for each in said for one in wanted
    )
    return [{texts(tool)[0]: given["subject"]}] if found else []


def _speaks_of(said: list[str], wanted: list[str]) -> bool:
    """Tell whether these words stand there and mean themselves: "population", but not "population density"."""
    for at in range(len(said) - len(wanted) + 1) if wanted and "not" not in said else ():
        before, after = said[at - 1] if at else "the", (said[at + len(wanted) :] or ["of"])[0]
        if said[at : at + len(wanted)] == wanted and before in _LEADS_TO and after in _FOLLOWS:
            return True
    return False


def _clock(tool: Schema) -> int:
    if tool.required:
        return 0
    return hits(headline(tool), _NOW) and hits(headline(tool), _TIME)


def _time_now(tool: Schema, given: Given) -> list[Given]:
    zones = [
        name for name in texts(tool, required=False) if hits(told(name, tool.fields[name]), ["zone", "timezone", "tz"])
    ]
    if given["zone"]:
        return [{zones[0]: given["zone"]}] if zones else []
    return [{}]


def _day_counter(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 2 or not dated(tool, names) or not in_order(tool, names, _FIRST, _SECOND):
        return 0
    return hits(headline(tool), ["day", "days"]) and hits(headline(tool), _BETWEEN)


def _two_dates(tool: Schema, given: Given) -> list[Given]:
    start, end = in_order(tool, texts(tool), _FIRST, _SECOND)
    return [{start: given["start"], end: given["end"]}]


def _day_adder(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 2 or len(names) != 1 or len(numbers(tool)) != 1 or not dated(tool, names):
        return 0
    counted = told(numbers(tool)[0], tool.fields[numbers(tool)[0]])
    return (
        hits(headline(tool), _ADDS)
        and hits(headline(tool), _DAYS)
        and hits(counted + " " + headline(tool), ["day", "days"])
    )


def _date_and_days(tool: Schema, given: Given) -> list[Given]:
    return [{texts(tool)[0]: given["date"], numbers(tool)[0]: given["days"]}]


def _weekday_teller(tool: Schema) -> int:
    names = texts(tool)
    if len(tool.required) != 1 or len(names) != 1 or not dated(tool, names):
        return 0
    head = " ".join(words(headline(tool)))
    return int("weekday" in head or "day of the week" in head or "day of week" in head)


def _one_date(tool: Schema, given: Given) -> list[Given]:
    return [{texts(tool)[0]: given["date"]}]


_ARITHMETIC_WORDS = stems(
    "arithmetic math expression formula calculat comput evaluat solv work sum sums plus minus times divid power bracket "
    "parenthes  numeric operation problem crunch add subtract multipl algebra scientific figur process perform notation "
    "infix reckon equal "
)
_UNIT_WORDS = stems(
    "perform conver unit measur quantit dimension length distance weight mass temperature time volume speed area data "
    "metric imperial transform  translat change express turn switch differ original amount physical common size sizes units "
)
_FACT_WORDS = stems(
    "what which look lookup fact table reference country countries chemical element planet mountain place thing substance "
    "entit world database  encyclop trivia fetch retriev propert attribut detail information know well subject topic item "
    "about small bundled general query "
)
_NOW_WORDS = stems(
    "current present today todays now date time day clock moment weekday timestamp hour read timezone zone local utc iso "
)
_BETWEEN_WORDS = stems(
    "day days date difference differ elapsed interval gap apart span count lie start end first second begin calendar later "
    "earlier pass  passed calculat comput separat "
)
_ADD_WORDS = stems(
    "forward add adds day days date shift move moves advanc offset plus calendar later after comes forward increment calculat "
    "comput amount  future come lies "
)
_WEEKDAY_WORDS = stems(
    "weekday day days week date calendar fall monday tuesday wednesday thursday friday saturday sunday"
)
_OPERATION_WORDS = stems(
    "add adds addition sum plus subtract minus difference multipl product times divid division quotient ratio integer "
    "together first  second numeric calculat comput another "
)
JOBS: dict[str, Job] = {
    "calculate": Job("do arithmetic", _calculator, _calculation, _ARITHMETIC_WORDS),
    "operate": Job("do sums", _two_numbers, _operation, _OPERATION_WORDS),
    "convert": Job("convert units", _converter, _conversion, _UNIT_WORDS),
    "lookup": Job("look facts up", _reference, _look_up, _FACT_WORDS),
    "about": Job("", _single, _about_one),
    "now": Job("tell the time", _clock, _time_now, _NOW_WORDS),
    "days_between": Job("count days between dates", _day_counter, _two_dates, _BETWEEN_WORDS),
    "add_days": Job("add days to a date", _day_adder, _date_and_days, _ADD_WORDS),
    "weekday": Job("tell the weekday of a date", _weekday_teller, _one_date, _WEEKDAY_WORDS),
}
