"""Write the transcripts that Tiny is trained on: invented runs of an agent, in the text protocol.

Rule 1: a value that a tool returns is random, so that only the observation can tell the answer.
Rule 2: names are partly real and partly invented, and so are tools and parameters: nothing can be learned by heart.
Rule 3: a mistaken call is there to be read, not to be learned from.
Rule 4: everything follows from one random number generator.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.models.tiny.prompt import MAX_LINE, header, one_line, tool_line
from agentkit.models.tiny.tokenizer import END
from agentkit.models.tiny.words import (
    ACCENTED,
    ADJECTIVES,
    ATTRIBUTES,
    CHAT,
    DEEDS,
    HELD_OUT,
    HELD_OUT_ATTRIBUTES,
    LANGUAGES,
    NAMES,
    UNITS,
    WEEKDAYS,
    Attribute,
    Deed,
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a transcript offers: `parameters` are names and JSON types; `purpose` says what it can find out."""

    name: str
    parameters: dict[str, str]
    description: str = ""
    purpose: str = ""

    @property
    def line(self) -> str:
        """The tool as the model reads it."""
        return tool_line(self.name, self.parameters, self.description)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a transcript: "Question", "Thought", "Action" …; `is_learned` if it bears on the loss."""

    kind: str
    text: str
    is_learned: bool = True

    @property
    def written(self) -> str:
        """The part as it is in a transcript."""
        return f"\n{self.kind}: {self.text}"


@dataclass(slots=True)
class Transcript:
    """A run in the text protocol. `value` is what its answer must contain, if it depends on an observation."""

    family: str
    tools: list[Tool]
    parts: list[Part] = field(default_factory=list)
    value: str = ""

    def pieces(self) -> Iterator[tuple[str, float]]:
        """Yield the text in pieces, and how much each bears on the loss."""
        yield header(tool.line for tool in self.tools), 0.0
        for part in self.parts:
            yield part.written, WEIGHTS.get(part.kind, 1.0) * part.is_learned
            if part.kind == "FINAL_ANSWER":
                yield END, 1.0

    @property
    def text(self) -> str:
        """The whole transcript."""
        return "".join(piece for piece, _ in self.pieces())


class Writer:
    """A writer of transcripts. One that is `held_out` uses names and attributes that are in no training transcript."""

    def __init__(self, rng: random.Random, *, held_out: bool = False) -> None:
        self.rng = rng
        self.held_out = held_out
        self.transcript = Transcript("", [])

    def write(self, family: str = "") -> Transcript:
        """Return a new transcript: of one family, or of a random one."""
        family = family or self.rng.choices([*FAMILIES], [weight for _, weight in FAMILIES.values()])[0]
        self.transcript = Transcript(family, [])
        FAMILIES[family][0](self)
        return self.transcript

    # -- parts

    def offer(self, *needed: Tool, distractors: int = -1) -> None:
        """Offer the tools that are needed, and in any order others, which serve another purpose."""
        tools = {tool.name: tool for tool in needed}
        purposes = {tool.purpose for tool in needed}
        missing = self.rng.choice((0, 0, 1, 1, 2, 3)) if distractors < 0 else distractors
        while missing > 0:
            other = self.any_tool()
            if other.name in tools or other.purpose in purposes or (other.purpose == ANYTHING and purposes):
                continue
            missing -= 1
            tools[other.name] = other
        self.transcript.tools = [*tools.values()]
        self.rng.shuffle(self.transcript.tools)

    def add(self, kind: str, text: str, *, is_learned: bool = True) -> None:
        self.transcript.parts.append(Part(kind, one_line(text) if kind == "Observation" else text, is_learned))

    def ask(self, question: str) -> None:
        """Ask a question, sometimes politely, sometimes without a capital or a question mark."""
        rng = self.rng
        first = question.split(" ")[0]
        if rng.random() < 0.1 and first in (
            "What",
            "Which",
            "How",
            "Tell",
            "Find",
            "Look",
            "Send",
            "Calculate",
            "Convert",
        ):
            question = question[0].lower() + question[1:]
            if rng.random() < 0.6:
                question = f"{rng.choice(('Please', 'Please,', 'Hello,', 'Hi,', 'Now', 'OK,', 'And', 'So'))} {question}"
        if rng.random() < 0.1:
            question = question.rstrip("?.")
        self.add("Question", question[:MAX_LINE])

    def call(self, tool: Tool, arguments: dict[str, Any], purpose: str, *, is_learned: bool = True) -> None:
        """Call a tool, with a thought about its purpose."""
        thoughts = (f"I need {purpose}.", f"I should find {purpose}.", f"The tool {tool.name} can tell me {purpose}.")
        self.act(tool, arguments, self.rng.choices(thoughts, (6, 3, 2))[0], is_learned=is_learned)

    def act(self, tool: Tool, arguments: dict[str, Any], thought: str, *, is_learned: bool = True) -> None:
        self.add("Thought", thought, is_learned=is_learned)
        self.add("Action", tool.name, is_learned=is_learned)
        self.add("Action Input", json.dumps(arguments, ensure_ascii=False), is_learned=is_learned)

    def observe(self, text: str) -> str:
        self.add("Observation", text)
        return text

    def answer(self, text: str, value: str = "", thought: str = "") -> None:
        """Finish with an answer, which contains `value` if it depends on an observation."""
        known = ("Now I know the answer.", "I know the answer now.", "The observation tells me the answer.")
        self.add("Thought", thought or self.rng.choices(known, (6, 2, 2))[0])
        self.add("FINAL_ANSWER", text)
        self.transcript.value = value

    # -- names

    def invent(self) -> str:
        """Return a word that does not exist: letters that follow each other in real words, or any letters at all."""
        rng = self.rng
        if rng.random() < 0.25:
            return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9)))
        length, word = rng.randint(3, 10), rng.choice(_STARTS)
        while len(word) < length and word[-2:] in _FOLLOWING:
            word += rng.choice(_FOLLOWING[word[-2:]])
        return word

    def word(self, kind: str = "thing") -> str:
        """Return one word of a kind, real or invented."""
        return self.rng.choice(NAMES[kind]) if self.rng.random() < 0.35 else self.invent()

    def spelled(self, kind: str) -> str:
        """Return one word of a name, now and then with a letter that English does not have."""
        word = self.word(kind)
        at = self.rng.randrange(len(word))
        return f"{word[:at]}{self.rng.choice(ACCENTED)}{word[at + 1 :]}" if self.rng.random() < 0.05 else word

    def parameters(self, *usual: tuple[str, ...]) -> list[str]:
        """Return the names of the parameters of a tool: each a usual one, or any word."""
        names: list[str] = []
        for choices in usual:
            while (name := self.word() if self.rng.random() < 0.15 else self.rng.choice(choices)) in names:
                pass
            names.append(name)
        return names

    def name(self, kind: str) -> str:
        """Return the name of a thing, a place, a person, a title or an id."""
        rng = self.rng
        if self.held_out and kind in HELD_OUT:
            return rng.choice(HELD_OUT[kind])
        if kind == "id":
            letters = "".join(rng.choices("ABCDEFGHKLMNPRSTXZ", k=rng.randint(0, 3)))
            return f"{letters}{rng.choice(('', '-')) if letters else ''}{rng.randint(1, 10 ** rng.randint(2, 6))}"
        if kind == "title":
            words = [self.spelled(rng.choice(("thing", "place"))).capitalize() for _ in range(rng.randint(1, 3))]
            if len(words) > 1 and rng.random() < 0.3:
                words.insert(-1, rng.choice(("and", "of", "in", "on", "the", "of the", "and the")))
            return " ".join(["The", *words] if rng.random() < 0.2 else words)
        if kind == "thing":
            word = self.spelled(kind)
            if rng.random() < 0.25:
                first = rng.choice(ADJECTIVES) if rng.random() < 0.5 else self.spelled(kind)
                word = f"{first} {word}"
            return word.capitalize() if rng.random() < 0.08 else word
        word = self.spelled(kind)
        word = word if word[:1].isupper() or rng.random() < 0.06 else word.capitalize()
        if kind == "place" and rng.random() < 0.12:
            word = f"{rng.choice(('New', 'San', 'Port', 'North', 'South', 'Saint'))} {word}"
        if kind == "person" and rng.random() < 0.3:
            word = f"{word} {self.spelled(kind).capitalize()}"
        return word

    def value(self, kind: str) -> str:
        """Return what a tool may say: a random number, amount, date, word, or sentence."""
        rng = self.rng
        match kind:
            case "money":
                amount = rng.choice((f"{self.number(3):.2f}", str(self.number(3)), str(rng.randint(1, 999))))
                return rng.choice(
                    (amount, amount, f"{amount} {rng.choice(('euros', 'dollars', 'EUR', 'USD'))}", f"${amount}")
                )
            case "count":
                return rng.choice((str(rng.randint(0, 10 ** rng.randint(1, 8))), f"{rng.randint(1000, 99_999_999):,}"))
            case "weather":
                sky = rng.choice(("sunny", "cloudy", "rain", "snow", "clear", "windy", "fog", self.invent()))
                return rng.choice(
                    (sky, f"{sky}, {rng.randint(-20, 39)} °C", f"{rng.randint(-20, 39)} degrees and {sky}")
                )
            case "date":
                return rng.choice((self.date(), str(rng.randint(1000, 2099))))
            case "person" | "place" | "title" | "thing" | "id":
                return Writer(rng).name(kind)
            case "word":
                return self.word()
        unit = kind.removeprefix("number").strip()
        amount = str(rng.choice((rng.randint(-30, 10 ** rng.randint(1, 5)), self.number(3))))
        return f"{amount} {unit}" if unit and rng.random() < 0.6 else amount

    def number(self, digits: int) -> float:
        """Return a positive number with one or two decimals."""
        return round(self.rng.uniform(0, 10 ** self.rng.randint(1, digits)), self.rng.randint(1, 2))

    def date(self) -> str:
        return f"{self.rng.randint(1900, 2035)}-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"

    def number_text(self) -> str:
        return str(self.rng.choice((self.rng.randint(1, 10 ** self.rng.randint(1, 4)), self.number(3))))

    # -- attributes and their tools

    def attribute(self) -> Attribute:
        """Return something to look up: a known attribute, or an invented one."""
        rng = self.rng
        if self.held_out and rng.random() < 0.5:
            return rng.choice(HELD_OUT_ATTRIBUTES)
        if rng.random() < 0.33:
            name = self.invent() if rng.random() < 0.6 else self.word()
            name = f"{name} {self.invent()}" if rng.random() < 0.15 else name
            kind = rng.choice(("thing", "place", "person", "id"))
            parameter = rng.choice((rng.choice(PARAMETERS[kind]), self.invent(), "name", "x"))
            values = ("number", "word", "count", "money", "person", "place", "date")
            return Attribute(name, kind, rng.choice(values), (parameter,))
        return rng.choice(ATTRIBUTES)

    def tool_of(self, attribute: Attribute) -> Tool:
        """Return a tool that looks up an attribute; its name says what it does, or only its description."""
        rng = self.rng
        slug = attribute.name.replace(" ", "_")
        if rng.random() < 0.55:
            name = slug
        else:
            name = rng.choice(("get_{}", "find_{}", "{}_of", "look_up_{}", "fetch_{}", "{}_lookup", "show_{}")).format(
                slug
            )
        (parameter,) = self.parameters((*attribute.parameters, *attribute.parameters, *PARAMETERS[attribute.kind]))
        described = rng.choice(DESCRIPTIONS).format(a=attribute.name, p=parameter, article=_article(parameter))
        if rng.random() < 0.06:
            name = self.invent()
        elif rng.random() < 0.25:
            described = ""
        return Tool(name, {parameter: "string"}, described, attribute.name)

    def tool_for(self, deed: Deed) -> Tool:
        """Return a tool that does something."""
        rng = self.rng
        types = ("number" if kind == "amount" else "string" for _, kind in deed.parameters)
        names = self.parameters(*(names for names, _ in deed.parameters))
        return Tool(rng.choice(deed.names), dict(zip(names, types, strict=True)), rng.choice(deed.about), deed.names[0])

    def any_tool(self) -> Tool:
        """Return some tool."""
        makers: tuple[Callable[[], Tool], ...] = (
            *[lambda: self.tool_of(self.attribute())] * 6,
            self.calculator,
            self.converter,
            self.searcher,
            self.sender,
            self.facts,
            lambda: self.rng.choice((DAYS_BETWEEN, ADD_DAYS, WEEKDAY)),
            lambda: self.rng.choice((TODAY, NOW)),
            lambda: self.tool_for(self.rng.choice(DEEDS)),
        )
        return self.rng.choice(makers)()

    def calculator(self, symbol: str = "") -> Tool:
        """Return a tool for expressions, or one for a `symbol` and two numbers."""
        rng = self.rng
        if rng.random() < 0.6:
            return CALCULATE
        if rng.random() < 0.5:
            return TWO_NUMBERS[symbol or rng.choice("+-*/")]
        name = rng.choice(("calculate", "calculator", "compute", "math", "evaluate"))
        (parameter,) = self.parameters(("expression", "expr", "formula", "calculation"))
        return Tool(name, {parameter: "string"}, rng.choice(CALCULATIONS), CALCULATE.purpose)

    def converter(self) -> Tool:
        rng = self.rng
        if rng.random() < 0.6:
            return CONVERT
        names = self.parameters(
            ("amount", "value", "number"), ("source", "unit", "old_unit"), ("target", "to", "new_unit")
        )
        name = rng.choice(("convert", "convert_units", "unit_converter"))
        return Tool(
            name,
            dict(zip(names, ("number", "string", "string"), strict=True)),
            "Convert an amount to another unit.",
            CONVERT.purpose,
        )

    def searcher(self) -> Tool:
        rng = self.rng
        name = rng.choice(("search", "search", "web_search", "wikipedia", "find", "google"))
        about = ("Search the web.", "Search for a text and return what was found.", "Look something up.", "")
        (parameter,) = self.parameters(("query", "query", "q", "text", "topic"))
        return Tool(name, {parameter: "string"}, rng.choice(about), ANYTHING)

    def sender(self) -> Tool:
        rng = self.rng
        name = rng.choice(("send", "send_message", "send_email", "notify", "send_mail", "tell", "post_message"))
        to, text = self.parameters(
            ("to", "person", "recipient", "name", "address"), ("text", "message", "body", "content")
        )
        about = rng.choice(("Send a message to a person.", "Send an email.", "Send a text to someone.", ""))
        return Tool(name, {to: "string", text: "string"}, about, "send")

    def facts(self) -> Tool:
        rng = self.rng
        if rng.random() < 0.7:
            return LOOKUP
        parameters = self.parameters(("entity", "thing", "subject"), ("property", "attribute", "field"))
        return Tool(
            rng.choice(("lookup", "fact", "get_fact")), dict.fromkeys(parameters, "string"), "Look up a fact.", ANYTHING
        )

    # -- questions

    def phrase(self, attribute: Attribute, subject: str) -> str:
        """Return the words for an attribute of a subject: `price of cake`."""
        return f"{attribute.name} {attribute.preposition} {subject}"

    def question(self, attribute: Attribute, subject: str) -> str:
        """Return a question about an attribute of a subject."""
        rng = self.rng
        if attribute.questions and rng.random() < 0.4:
            return rng.choice(attribute.questions).format(x=subject)
        written = subject
        if attribute.kind == "thing" and rng.random() < 0.15:
            written = f"{rng.choice(('the', 'a', 'a', 'an' if subject[0] in 'aeiou' else 'the'))} {subject}"
        elif rng.random() < 0.06:
            written = rng.choice(('"{}"', "'{}'")).format(subject)
        return rng.choices(QUESTIONS, QUESTION_WEIGHTS)[0].format(a=attribute.name, x=written, of=attribute.preposition)

    def look_up(self, attribute: Attribute, tool: Tool, subject: str) -> str:
        """Call the tool of an attribute and return what it says."""
        self.call(tool, {next(iter(tool.parameters)): subject}, f"the {self.phrase(attribute, subject)}")
        return self.observe(self.value(attribute.value))


# -- the families ------------------------------------------------------------------------------------------------------


def lookup(w: Writer) -> None:
    """What is the price of cake?"""
    attribute = w.attribute()
    subject, tool = w.name(attribute.kind), w.tool_of(attribute)
    w.offer(tool)
    w.ask(w.question(attribute, subject))
    phrase = w.phrase(attribute, subject)
    w.call(tool, {next(iter(tool.parameters)): subject}, f"the {phrase}")
    value = w.value(attribute.value)
    if w.rng.random() < 0.12:
        sentence = w.rng.choice(("The {} is {}.", "The {} was {} yesterday.", "I found the {}: {}.")).format(
            phrase, value
        )
        w.observe(sentence)
        w.answer(sentence, value)
    elif w.rng.random() < 0.08:
        data = json.dumps({attribute.name: value, w.invent(): w.number_text()}, ensure_ascii=False)
        w.observe(data)
        w.answer(f"The {phrase} is {data}.", value)
    else:
        w.observe(value)
        w.answer(f"The {phrase} is {value}.", value)


def fact(w: Writer) -> None:
    """What is the capital of France? — with a tool for all attributes, or a search."""
    attribute = w.attribute()
    subject = w.name(attribute.kind)
    phrase = w.phrase(attribute, subject)
    searches = w.rng.random() < 0.4
    tool = w.searcher() if searches else w.facts()
    w.offer(tool)
    w.ask(w.question(attribute, subject))
    names, value = [*tool.parameters], w.value(attribute.value)
    w.call(tool, {names[0]: phrase} if searches else {names[0]: subject, names[1]: attribute.name}, f"the {phrase}")
    if searches:
        sentence = w.rng.choice(("The {} is {}.", "The {} was {}.", "{}: {}", "Some say that the {} is {}.")).format(
            phrase, value
        )
        w.observe(sentence)
        w.answer(sentence, value)
        return
    is_number = value.lstrip("-").replace(".", "", 1).isdigit()
    data: dict[str, Any] = {
        "subject": subject,
        "attribute": attribute.name,
        "value": json.loads(value) if is_number and w.rng.random() < 0.8 else value,
    }
    if unit := w.rng.choice(("", "", "km", "kg", "m", "people", "°C", w.invent())) if is_number else "":
        data["unit"] = unit
    if w.rng.random() < 0.5:
        data["as_of"] = w.rng.randint(1990, 2026)
    is_plain = w.rng.random() < 0.3
    w.observe(value if is_plain else json.dumps(data, ensure_ascii=False))
    amount = value if is_plain or not unit else f"{value} {unit}"
    w.answer(f"The {phrase} is {amount}.", amount)


def search(w: Writer) -> None:
    """Search for the blue bird. Who was Ada?"""
    tool, subject = w.searcher(), w.name(w.rng.choice(("thing", "place", "person", "title")))
    w.offer(tool)
    w.ask(
        w.rng.choice(
            ("Search for {}.", "What do you know about {}?", "Look up {}.", "Who is {}?", "What is {}?", "Find {}.")
        ).format(subject)
    )
    w.call(tool, {next(iter(tool.parameters)): subject}, f"something about {subject}")
    found = w.rng.choice(("{} is {}.", "{} was {}.", "{}: {}", "About {}: {}")).format(
        subject, w.value(w.rng.choice(("title", "person", "count", "date")))
    )
    w.answer(w.observe(found), found)


def arithmetic(w: Writer) -> None:
    """What is 17 * 23? How much is 3 plus 4?"""
    rng, (one, two, three), (first, second) = w.rng, [w.number_text() for _ in range(3)], w.rng.choices("+-*/", k=2)
    tool = w.calculator(first)
    w.offer(tool)
    asked = f"{one} {_spoken(first, rng)} {two}"
    arguments = calculation(tool, one, first, two)
    if tool.parameters.keys() != {"a", "b"} and rng.random() < 0.25:
        asked = f"{asked} {_spoken(second, rng)} {three}"
        expression = f"{one} {first} {two} {second} {three}"
        if rng.random() < 0.3:
            asked = expression = f"({one} {first} {two}) {second} {three}"
        arguments = {next(iter(tool.parameters)): expression}
    w.ask(
        rng.choice(
            ("What is {}?", "How much is {}?", "Calculate {}.", "Compute {}.", "{} = ?", "{}", "What's {}?")
        ).format(asked)
    )
    w.call(tool, arguments, asked)
    value = w.observe(w.number_text())
    w.answer(f"{asked} is {value}.", value)


def units(w: Writer) -> None:
    """How many miles are 5 km?"""
    rng, tool, number = w.rng, w.converter(), w.number_text()
    source, target = rng.sample([rng.choice(UNITS), rng.choice(UNITS), w.invent()], 2)
    w.offer(tool)
    asked = rng.choice(
        (
            "How many {t} are {n} {s}?",
            "Convert {n} {s} to {t}.",
            "What is {n} {s} in {t}?",
            "{n} {s} in {t}?",
            "How much is {n} {s} in {t}?",
            "How many {t} are there in {n} {s}?",
            "Convert {n} {s} into {t}",
        )
    )
    w.ask(asked.format(n=number, s=source, t=target))
    arguments = dict(zip(tool.parameters, (json.loads(number), source, target), strict=True))
    w.call(tool, arguments, f"{number} {source} in {target}")
    value = w.observe(w.number_text())
    w.answer(f"{number} {source} is {value} {target}.", value)


def dates(w: Writer) -> None:
    """How many days are there between two dates? Which day of the week was it?"""
    rng, start, end, days = w.rng, w.date(), w.date(), w.rng.randint(1, 999)
    arguments: dict[str, Any]
    match rng.choice(("between", "add", "weekday", "today", "now")):
        case "between":
            tool, arguments, value = DAYS_BETWEEN, {"start": start, "end": end}, str(rng.randint(-9999, 9999))
            purpose = f"the number of days from {start} to {end}"
            question = rng.choice(
                (
                    "How many days are there between {} and {}?",
                    "How many days is it from {} to {}?",
                    "How many days are between {} and {}?",
                    "Count the days from {} to {}.",
                )
            ).format(start, end)
            answer = f"There are {value} days from {start} to {end}."
        case "add":
            tool, arguments, value = ADD_DAYS, {"date": start, "days": days}, w.date()
            purpose = f"the date {days} days after {start}"
            question = rng.choice(
                ("What date is {1} days after {0}?", "Add {1} days to {0}.", "Which date is {1} days after {0}?")
            ).format(start, days)
            answer = f"{days} days after {start} is {value}."
        case "weekday":
            tool, arguments, value = WEEKDAY, {"date": start}, rng.choice((*WEEKDAYS, w.invent().capitalize()))
            purpose = f"the weekday of {start}"
            question = rng.choice(
                (
                    "What weekday was {}?",
                    "Which day of the week is {}?",
                    "What day of the week was {}?",
                    "Which weekday is {}?",
                )
            ).format(start)
            answer = f"{start} is a {value}."
        case "today":
            tool, arguments, value = TODAY, {}, rng.choice((w.date(), *WEEKDAYS))
            purpose = "the date of today"
            question = rng.choice(
                ("What day is it today?", "What is the date today?", "Which date is it?", "What is today's date?")
            )
            answer = f"Today is {value}."
        case _:
            clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
            tool, arguments = NOW, {}
            now = {"date": w.date(), "time": f"{clock}:{rng.randint(0, 59):02}", "weekday": rng.choice(WEEKDAYS)}
            value = rng.choice((clock, json.dumps(now)))
            purpose = "the time"
            question = rng.choice(("What time is it?", "What is the time?", "How late is it now?", "Tell me the time."))
            answer = f"The time is {value}."
    w.offer(tool)
    w.ask(question)
    w.call(tool, arguments, purpose)
    w.observe(value)
    w.answer(answer, value)


def n_times(w: Writer) -> None:
    """What is 3 times the price of cake?"""
    rng, attribute = w.rng, _numeric(w)
    subject, tool, calculator, number = (
        w.name(attribute.kind),
        w.tool_of(attribute),
        w.calculator("*"),
        str(w.rng.randint(2, 99)),
    )
    can_calculate = rng.random() < 0.9
    w.offer(tool, *((calculator,) if can_calculate else ()), distractors=-1 if can_calculate else 0)
    phrase = w.phrase(attribute, subject)
    number = rng.choice((number, number, str(w.number(2))))
    wanted = f"{number} times the {phrase}"
    forms = [
        f"What is {wanted}?",
        f"How much is {wanted}?",
        f"Calculate {wanted}.",
        f"What is the {phrase} times {number}?",
    ]
    if attribute.name == "price":
        forms += [
            f"How much do {number} {subject} cost?",
            f"What do {number} {subject} cost?",
            f"What is the price of {number} {subject}?",
        ]
    w.ask(rng.choice(forms))
    value = w.look_up(attribute, tool, subject)
    if not can_calculate:
        return w.answer(
            f"The {phrase} is {value}, but no tool of mine can calculate {wanted}.",
            value,
            "I have no tool that calculates.",
        )
    w.call(calculator, calculation(calculator, number, "*", _plain(value)), f"{number} * {_plain(value)}")
    result = w.observe(w.number_text())
    w.answer(f"{wanted[0].upper()}{wanted[1:]} is {result}.", result)


def sums(w: Writer) -> None:
    """What is the price of tea and cake together? How much more is cake than tea?"""
    rng, attribute = w.rng, _numeric(w)
    first, second = w.name(attribute.kind), w.name(attribute.kind)
    symbol = rng.choice("++-")
    tool, calculator = w.tool_of(attribute), w.calculator(symbol)
    w.offer(tool, calculator)
    if symbol == "+":
        wanted = f"the {attribute.name} {attribute.preposition} {first} and {second} together"
        form = rng.choice(
            (
                f"What is {wanted}?",
                f"What is the {w.phrase(attribute, first)} plus the {w.phrase(attribute, second)}?",
                f"Add the {w.phrase(attribute, first)} and the {w.phrase(attribute, second)}.",
            )
        )
        if attribute.name == "price" and rng.random() < 0.5:
            form = rng.choice(
                ("How much are {} and {} together?", "What do {} and {} cost together?", "How much do {} and {} cost?")
            ).format(first, second)
    else:
        wanted = f"the difference between the {w.phrase(attribute, first)} and that of {second}"
        form = rng.choice(
            (f"What is {wanted}?", f"What is the {w.phrase(attribute, first)} minus the {w.phrase(attribute, second)}?")
        )
    w.ask(form)
    one, two = w.look_up(attribute, tool, first), w.look_up(attribute, tool, second)
    arguments = calculation(calculator, _plain(one), symbol, _plain(two))
    w.call(calculator, arguments, f"{_plain(one)} {symbol} {_plain(two)}")
    result = w.observe(w.number_text())
    w.answer(f"{wanted[0].upper()}{wanted[1:]} is {result}.", result)


def chain(w: Writer) -> None:
    """What is the population of the capital of France?"""
    outer, inner = w.attribute(), w.attribute()
    while inner.value not in NAMES or inner.name == outer.name:
        inner = w.rng.choice(ATTRIBUTES)
    subject = w.name(inner.kind)
    first, second = w.tool_of(inner), w.tool_of(outer)
    if first.name == second.name:
        return lookup(w)
    w.offer(first, second)
    w.ask(w.question(outer, f"the {w.phrase(inner, subject)}"))
    found = w.look_up(inner, first, subject)
    value = w.look_up(outer, second, found)
    w.answer(f"The {outer.name} {outer.preposition} the {w.phrase(inner, subject)} is {value}.", value)


def two_questions(w: Writer) -> None:
    """What is the price of tea? … And of cake?"""
    attribute, other = w.attribute(), w.attribute()
    if w.rng.random() < 0.4:
        other = attribute
    tool = w.tool_of(attribute)
    second = tool if other is attribute else w.tool_of(other)
    if second is not tool and second.name == tool.name:
        return lookup(w)
    w.offer(tool, *((second,) if second is not tool else ()))
    subject, other_subject = w.name(attribute.kind), w.name(other.kind)
    phrase, other_phrase = w.phrase(attribute, subject), w.phrase(other, other_subject)
    if w.rng.random() < 0.5:
        w.ask(f"What is the {phrase}, and what is the {other_phrase}?")
        value = w.look_up(attribute, tool, subject)
        other_value = w.look_up(other, second, other_subject)
        return w.answer(f"The {phrase} is {value}, and the {other_phrase} is {other_value}.", other_value)
    w.ask(w.question(attribute, subject))
    value = w.look_up(attribute, tool, subject)
    w.answer(f"The {phrase} is {value}.", value)
    w.ask(w.question(other, other_subject))
    value = w.look_up(other, second, other_subject)
    w.answer(f"The {other_phrase} is {value}.", value)


def errors(w: Writer) -> None:
    """A call fails: because of its arguments, its name, its subject, or for no reason."""
    rng, attribute = w.rng, w.attribute()
    subject, tool = w.name(attribute.kind), w.tool_of(attribute)
    parameter, phrase = next(iter(tool.parameters)), w.phrase(attribute, subject)
    w.offer(tool)
    w.ask(w.question(attribute, subject))
    right = {parameter: subject}
    match rng.choice(("argument", "tool", "spelling", "again", "again", "unknown", "unknown", "unknown")):
        case "argument":
            wrong = rng.choice(("name", "text", "query", w.invent()))
            w.call(tool, {wrong: subject}, f"the {phrase}", is_learned=False)
            w.observe(
                f"Error: tool '{tool.name}' was not run. The arguments do not fit '{tool.name}': "
                f"- {parameter}: is missing - {wrong}: is not an argument of this tool Expected: {parameter} (string)."
            )
            thought = f"The argument must be called {parameter}."
        case "tool":
            other = Tool(w.invent(), tool.parameters)
            w.call(other, right, f"the {phrase}", is_learned=False)
            w.observe(f"Error: tool '{other.name}' not found.")
            thought = f"The tool is called {tool.name}."
        case "spelling":
            wrong = _misspelled(subject, rng)
            w.call(tool, {parameter: wrong}, f"the {phrase}", is_learned=False)
            w.observe(
                f"Error: tool '{tool.name}' failed: "
                + rng.choice((f"KeyError: '{wrong}'", f"ValueError: unknown {parameter} '{wrong}'"))
            )
            thought = f"I must write {subject}."
        case "again":
            w.call(tool, right, f"the {phrase}")
            w.observe(
                f"Error: tool '{tool.name}' failed: "
                + rng.choice(
                    (
                        "tool timed out",
                        "tool timed out after 5s",
                        "ConnectionError: try again",
                        "TimeoutError: the server is busy",
                    )
                )
            )
            thought = "I should try again."
        case _:
            w.call(tool, right, f"the {phrase}")
            w.observe(
                f"Error: tool '{tool.name}' failed: "
                + rng.choice(
                    (
                        f"KeyError: '{subject}'",
                        f"ValueError: unknown {parameter} '{subject}'",
                        f"ToolError: there is no '{subject}'",
                    )
                )
            )
            return w.answer(f"I could not find the {phrase}.", "", f"The tool {tool.name} does not know {subject}.")
    w.act(tool, right, thought)
    value = w.observe(w.value(attribute.value))
    w.answer(f"The {phrase} is {value}.", value)


def sending(w: Writer) -> None:
    """Tell Anna that dinner is ready. Send Bob the price of tea."""
    rng, tool, person = w.rng, w.sender(), w.name("person")
    to, body = tool.parameters
    if rng.random() < 0.35:
        attribute = w.attribute()
        subject, source = w.name(attribute.kind), w.tool_of(attribute)
        phrase = w.phrase(attribute, subject)
        w.offer(source, tool)
        w.ask(
            rng.choice(
                ("Send {} the {}.", "Tell {} the {}.", "Send {} a message with the {}.", "Let {} know the {}.")
            ).format(person, phrase)
        )
        value = w.look_up(attribute, source, subject)
        text = f"The {phrase} is {value}."
    else:
        text = " ".join(w.word(rng.choice(("thing", "thing", "place"))) for _ in range(rng.randint(1, 4)))
        text = rng.choice(
            ("{}", "{}", "the {} is ready", "I am in {}", "see you at {}", "buy {}", "{} is late")
        ).format(text)
        w.offer(tool)
        w.ask(
            rng.choice(
                (
                    "Tell {} that {}.",
                    "Send {} the message '{}'.",
                    'Send "{1}" to {0}.',
                    "Write to {}: {}",
                    "Tell {}: {}",
                    "Send {} this: {}",
                )
            ).format(person, text)
        )
    w.act(tool, {to: person, body: text}, f"I should tell {person}.")
    said = w.observe(
        rng.choice(
            (
                "sent",
                "ok",
                "True",
                f"sent to {person}",
                "done",
                "queued",
                f"message {rng.randint(1, 999)} sent",
                "Error: tool '" + tool.name + "' failed: not allowed",
            )
        )
    )
    if said.startswith("Error"):
        return w.answer(f"I could not tell {person}.", "", "That did not work.")
    w.answer(f"I told {person}: {text}", "", "That is done.")


def doing(w: Writer) -> None:
    """Pay Anna 20 euros. Translate cake to French. How far is it from Rome to Oslo?"""
    rng = w.rng
    deed = rng.choice(DEEDS)
    tool = w.tool_for(deed)
    w.offer(tool)
    values: list[str] = []
    for _, kind in deed.parameters:
        if kind == "amount":
            values.append(w.number_text())
        elif kind == "language":
            values.append(rng.choice(LANGUAGES) if rng.random() < 0.7 else w.invent().capitalize())
        else:
            values.append(w.name(kind))
    w.ask(rng.choice(deed.questions).format(*values))
    typed = (
        json.loads(value) if kind == "number" else value
        for kind, value in zip(tool.parameters.values(), values, strict=True)
    )
    w.act(tool, dict(zip(tool.parameters, typed, strict=True)), deed.thought.format(*values))
    if deed.value:
        value = w.observe(w.value(deed.value))
        return w.answer(deed.answer.format(*values, v=value), value)
    said = w.observe(
        rng.choice(
            (
                "ok",
                "done",
                "True",
                "paid",
                f"number {rng.randint(1, 9999)}",
                w.word(),
                f"Error: tool '{tool.name}' failed: not allowed",
            )
        )
    )
    if said.startswith("Error"):
        return w.answer("I could not do that.", "", "That did not work.")
    w.answer(deed.answer.format(*values), "", "That is done.")


def no_tool_needed(w: Writer) -> None:
    """Hello! Who are you?"""
    w.offer(distractors=w.rng.choice((0, 1, 2, 3)))
    questions, answers = w.rng.choice(CHAT)
    w.ask(w.rng.choice(questions))
    w.answer(w.rng.choice(answers), "", "I need no tool for this.")


def no_fitting_tool(w: Writer) -> None:
    """What is the price of cake? — and no tool that knows prices."""
    attribute = w.attribute()
    subject = w.name(attribute.kind)
    others = [
        other
        for other in ATTRIBUTES
        if other.name != attribute.name and not set(other.name.split()) & set(attribute.name.split())
    ]
    tools = [
        w.tool_of(w.rng.choice(others)),
        *w.rng.sample([CALCULATE, CONVERT, WEEKDAY, w.sender()], w.rng.randint(0, 2)),
    ]
    w.offer(*tools, distractors=0)
    w.ask(w.question(attribute, subject))
    w.answer(
        f"I can't find the {w.phrase(attribute, subject)}: I have no tool for it.",
        "",
        f"No tool can tell me the {attribute.name}.",
    )


def no_tools(w: Writer) -> None:
    """A question without any tools: the answer is made up, as a model does that was asked to answer."""
    attribute = w.attribute()
    subject = w.name(attribute.kind)
    w.ask(w.question(attribute, subject))
    w.answer(f"The {w.phrase(attribute, subject)} is {w.value(attribute.value)}.", "", "I know this.")


def two_right_tools(w: Writer) -> None:
    """What is the price of cake? — with a tool for prices, and one that searches."""
    attribute = w.attribute()
    subject, tool, searcher = w.name(attribute.kind), w.tool_of(attribute), w.searcher()
    phrase = w.phrase(attribute, subject)
    w.offer(tool, searcher, distractors=w.rng.choice((0, 0, 1)))
    w.ask(w.question(attribute, subject))
    if w.rng.random() < 0.75:
        value = w.look_up(attribute, tool, subject)
        return w.answer(f"The {phrase} is {value}.", value)
    w.call(searcher, {next(iter(searcher.parameters)): phrase}, f"the {phrase}")
    value = w.value(attribute.value)
    found = w.observe(f"The {phrase} is {value}.")
    w.answer(found, value)


FAMILIES: dict[str, tuple[Callable[[Writer], None], float]] = {
    "lookup": (lookup, 26),
    "fact": (fact, 9),
    "search": (search, 3),
    "arithmetic": (arithmetic, 8),
    "units": (units, 6),
    "dates": (dates, 6),
    "n_times": (n_times, 8),
    "sums": (sums, 5),
    "chain": (chain, 6),
    "two_questions": (two_questions, 5),
    "errors": (errors, 6),
    "sending": (sending, 6),
    "doing": (doing, 10),
    "no_tool_needed": (no_tool_needed, 2),
    "no_fitting_tool": (no_fitting_tool, 3),
    "no_tools": (no_tools, 1),
    "two_right_tools": (two_right_tools, 4),
}
"""How to write each family, and its share."""

WEIGHTS = {"Question": 0.0, "Observation": 0.1}
"""How much a part bears on the loss, if not fully: what is observed is random, so little can be learned from it."""

ONE_HOP = ("lookup", "fact", "search", "arithmetic", "units", "dates", "doing")
"""The families in which one call leads to the answer."""

ANYTHING = "anything"
"""The purpose of a tool that can look up anything."""

CALCULATE = Tool(
    "calculate", {"expression": "string"}, "Evaluate an arithmetic expression and return the number.", "calculate"
)
CONVERT = Tool(
    "convert",
    {"value": "number", "from_unit": "string", "to_unit": "string"},
    "Convert a measured value from one unit to another and return the number in the new unit.",
    "convert",
)
LOOKUP = Tool(
    "lookup",
    {"subject": "string", "attribute": "string"},
    "Look up one fact about a country, a chemical element, a planet or a mountain in a small bundled table.",
    ANYTHING,
)
DAYS_BETWEEN = Tool(
    "days_between",
    {"start": "string", "end": "string"},
    "Count the days from one date to another; the number is negative if the second date comes first.",
    "days between",
)
ADD_DAYS = Tool(
    "add_days",
    {"date": "string", "days": "number"},
    "Add a number of days to a date and return the new date as YYYY-MM-DD.",
    "add days",
)
WEEKDAY = Tool("weekday", {"date": "string"}, 'Return the day of the week of a date, such as "Monday".', "weekday")
NOW = Tool("now", {}, "Return the current date, time and weekday.", "now")
TODAY = Tool("today", {}, "Return the date of today.", "now")
TWO_NUMBERS = {
    symbol: Tool(name, {"a": "number", "b": "number"}, f"{name.capitalize()} two numbers.", "calculate")
    for symbol, name in {"*": "multiply", "+": "add", "-": "subtract", "/": "divide"}.items()
}
"""Tools that agentkit brings, as the model reads them, and some that are often written."""

CALCULATIONS = ("Calculate something.", "Evaluate an expression.", "Do arithmetic.", "Work out a formula.", "")
DESCRIPTIONS = (
    "Return the {a} of {article} {p}.",
    "Return the {a}.",
    "Get the {a} of {article} {p}.",
    "Look up the {a} of {article} {p}.",
    "Find the {a} of {article} {p}.",
    "The {a} of {article} {p}.",
    "Look up the {a} of {article} {p} on the menu.",
    "Fetch the {a} for {article} {p} from the database.",
    "Find out the {a} of {article} {p}.",
    "Tell the {a} for the {p}.",
    "Look up {a}.",
    "Return the current {a} of {article} {p}.",
    "Give the {a} by {p}.",
)
QUESTIONS = (
    "What is the {a} {of} {x}?",
    "Tell me the {a} {of} {x}.",
    "Find the {a} {of} {x}.",
    "What's the {a} {of} {x}?",
    "I need the {a} {of} {x}.",
    "Look up the {a} {of} {x}.",
    "{x}: {a}?",
    "Which {a} does {x} have?",
    "Do you know the {a} {of} {x}?",
    "What {a} does {x} have?",
    "Can you find the {a} {of} {x}?",
    "What was the {a} {of} {x}?",
    "Give me the {a} {of} {x}.",
    "I would like to know the {a} {of} {x}.",
    "the {a} {of} {x}",
    "{a} {of} {x}?",
)
QUESTION_WEIGHTS = (8, 3, 2, 3, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
PARAMETERS = {
    "thing": ("item", "product", "name", "thing", "article", "object"),
    "place": ("city", "country", "place", "location", "town", "name"),
    "person": ("person", "name", "user", "customer", "employee"),
    "title": ("title", "book", "film", "name", "song"),
    "id": ("id", "order", "order_id", "number", "code"),
}

_FOLLOWING: dict[str, str] = {}
_STARTS: list[str] = []


def _learn_letters() -> None:
    """Note which letters follow each pair of letters in the listed words, and which pairs begin them."""
    for word in (word.lower() for words in NAMES.values() for name in words for word in name.split()):
        _STARTS.append(word[:2])
        for at in range(len(word) - 2):
            _FOLLOWING[word[at : at + 2]] = _FOLLOWING.get(word[at : at + 2], "") + word[at + 2]


_learn_letters()


def calculation(tool: Tool, left: str, symbol: str, right: str) -> dict[str, Any]:
    """Return the arguments for a calculation with two numbers."""
    first, *more = tool.parameters
    return {first: json.loads(left), more[0]: json.loads(right)} if more else {first: f"{left} {symbol} {right}"}


def _article(word: str) -> str:
    return "an" if word[0] in "aeio" else "a"


def _spoken(symbol: str, rng: random.Random) -> str:
    spoken = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[symbol]
    return spoken if rng.random() < 0.5 else symbol


def _plain(value: str) -> str:
    """Return the number in a value, as a calculator takes it: 1234 for "$1,234 EUR"."""
    return value.split(" ")[0].strip("$").replace(",", "")


def _numeric(w: Writer) -> Attribute:
    """Return an attribute whose value is a number."""
    while (attribute := w.attribute()).value.split(" ")[0] not in ("money", "count", "number"):
        pass
    return attribute


def _misspelled(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word))
    return word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :]
