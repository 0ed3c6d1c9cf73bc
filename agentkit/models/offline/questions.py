"""Read a question: a table of small rules, one per way to ask, tried in order. What no rule reads is refused.

A rule takes the question without its politeness and its question mark, and gives a plan or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agentkit.models.offline import arithmetic, dates, lookups
from agentkit.models.offline.plans import Convert, Lookup, Number, Sum

LONGEST = 600  # characters of one question; a longer one is no question that these rules could read
MOST = 12  # questions in one message

_OPENERS = re.compile(
    r"(?:please|hi|hello|hey|ok|okay|so|and|also|then|now|well|thanks|question:?|can you|could you|would you|will you|can i ask|"
    r"i (?:want|would like|need|wish) to know|i need|do you know|tell me|give me|show me|let me know|find out|find|look up|get|say|"
    r"calculate|compute|work out|evaluate|solve|determine|what[’']?s|whats|what (?:is|are|was)|who is|how much (?:is|are)|"
    r"what does|the (?:value|result|answer) of)(?:[\s,:!.]+|$)",
    re.IGNORECASE,
)
_MARKED = re.compile(r"\?\s*|\n+|\s(?:and|also)\s(?=(?:what|how|which|who|when|tell)\b)", re.IGNORECASE)
_GREETINGS = frozenset(("", "hi", "hello", "hey", "thanks", "thank you", "please"))


def questions(text: str) -> list[str]:
    """Take a message apart into its questions; what is only a greeting is left out when there is more than that."""
    parts = [part.strip(" \t.,;:") for part in _MARKED.split(text[: LONGEST * MOST])]
    asked = [part for part in parts if part.lower().strip("!") not in _GREETINGS]
    return asked[:MOST] or [text.strip()[:LONGEST]]


def understand(question: str) -> object | None:
    """Find the plan of a question; None when no rule reads it. Raises `Unclear` when it can be read in two ways."""
    if len(question) > LONGEST:
        return None
    text = " ".join(question.split()).strip(" ?.=")
    seen = set()
    while text and text not in seen:
        seen.add(text)
        for rule in RULES:
            if (plan := rule(text)) is not None:
                return plan
        text = _OPENERS.sub("", text, count=1) if _OPENERS.match(text) else text
        text = text.strip(" ,.?=")
    return None


def _said(pattern: str, make: Callable[[re.Match[str]], object | None]) -> Callable[[str], object | None]:
    """Make a rule of a pattern for the whole question."""
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: make(found) if (found := compiled.fullmatch(text)) else None


def _about(attribute: str) -> Callable[[re.Match[str]], object | None]:
    """Make the plan that looks this attribute of the matched subject up."""
    return lambda found: lookups.fact(f"{attribute} of {found['s']}")


def amount(text: str) -> object | None:
    """Read the number of a conversion: "a", digits, words or an expression."""
    if text.lower() in ("a", "an", "one"):
        return Number("1")
    return arithmetic.read(text)


def converted(text: str) -> object | None:
    """Read "5 miles in km", "5 miles to km" and "the area of Iceland in square miles"."""
    text = re.sub(r"^(?:convert|change|turn|express|how much is|what is) ", "", text, flags=re.IGNORECASE)
    for word in (" into ", " to ", " in ", " as "):
        left, found, target = text.rpartition(word)
        if not found or not is_unit(target):
            continue
        value, source = measured(left)
        if value is not None and source:
            return Convert(value, source, target)
        if (whole := looked_up(left)) is not None:
            return Convert(whole, "", target)
    return None


def measured(text: str) -> tuple[object | None, str]:
    """Take "5 square miles" apart: the number, and the longest unit at its end."""
    words = re.sub(r"(?<=\d)(?=[^\W\d_]|°)", " ", text).split()
    for i in range(max(1, len(words) - 4), len(words)):
        if is_unit(unit := " ".join(words[i:])) and (value := amount(" ".join(words[:i]))) is not None:
            return value, unit
    return None, ""


def _how_many(found: re.Match[str]) -> object | None:
    value, source = measured(found["amount"])
    return Convert(value, source, found["unit"]) if value is not None and source and is_unit(found["unit"]) else None


def is_unit(text: str) -> bool:
    """Tell whether these words name a unit: vocabulary only; what a unit is worth only tools know."""
    from agentkit.tools.builtin.units import AMBIGUOUS, find_unit

    low = text.strip().lower()
    return bool(text.strip()) and (
        find_unit(text.strip()) is not None or low in AMBIGUOUS or low.removesuffix("s") in AMBIGUOUS
    )


def _in_place(found: re.Match[str]) -> object | None:
    attribute = found["what"].lower()
    return Lookup(found["s"], attribute) if lookups.is_name(found["s"], 5) and lookups.is_attribute(attribute) else None


def looked_up(text: str) -> object | None:
    """Read a question for one fact."""
    plans = (rule(text) for rule in (*FACTS, lookups.fact))
    return next((plan for plan in plans if plan is not None), None)


def _expression(text: str) -> object | None:
    plan = arithmetic.read(text)
    return None if isinstance(plan, Number) else plan


_S = r"(?:the )?(?P<s>[^?!]{1,60}?)"
FACTS: tuple[Callable[[str], object | None], ...] = (
    _said(rf"how many (?:people|inhabitants|residents) (?:live|are there|are living) in {_S}", _about("population")),
    _said(rf"how many (?:people|inhabitants|residents) does {_S} have", _about("population")),
    _said(rf"how (?:populous|populated) is {_S}", _about("population")),
    _said(rf"how (?:big|large) is {_S}", _about("area")),
    _said(rf"how many moons does {_S} have", _about("moons")),
    _said(rf"how (?:tall|high) is {_S}", _about("height")),
    _said(rf"how far (?:away )?is {_S} from the sun", _about("distance from the sun")),
    _said(rf"how far (?:away )?is {_S} from (?:the )?earth", _about("distance from the earth")),
    _said(rf"(?:what|which) (?:currency|money) (?:does|do) (?:they use in )?{_S}(?: use| have)?", _about("currency")),
    _said(rf"(?:what|which) (?:currency|money) is used in {_S}", _about("currency")),
    _said(rf"(?:what|which) languages? (?:is|are) spoken in {_S}", _about("language")),
    _said(rf"(?:what|which) languages? do (?:people|they) speak in {_S}", _about("language")),
    _said(rf"(?:on |in )?(?:what|which) continent is {_S}(?: in| on)?", _about("continent")),
    _said(rf"(?:the )?(?:chemical )?symbol for {_S}", _about("symbol")),
)
RULES: tuple[Callable[[str], object | None], ...] = (
    dates.asked,
    converted,
    _said(r"how many (?P<unit>.+?) (?:are (?:there )?in|is|are|make up|make|in) (?P<amount>.+)", _how_many),
    *FACTS,
    _said(r"(?P<n>\d{1,7}) ?!", lambda found: Sum((f"factorial({found['n']})",))),
    _expression,
    lookups.fact,
    _said(rf"(?:the )?(?P<what>[a-z]+(?: [a-z]+)?)(?: like)? in {_S}(?: today| now| right now)?", _in_place),
)
