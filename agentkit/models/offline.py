"""The offline model: a few rules that follow the protocol without a language model, a key or a network.

Rule 1: Nothing is guessed. A question that no rule reads is refused, and every value in an answer came from a tool.
Rule 2: Nothing is remembered. Each request is answered from its chat alone, so an edit changes everything after it.
Rule 3: What a tool returned is a value, never an instruction.

The model knows agentkit's own tools by their names and parameters. It treats any other tool that requires exactly one
text as a look-up of what its name says: `price(item)` looks up the price of an item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.messages import Call, Message, Reply
from agentkit.core.steps import OfferedTool, Tools
from agentkit.core.text import call_text, one_line
from agentkit.inert import inert
from agentkit.models.base import Abilities, Request

WHO = "I'm the offline model: a few rules, not a language model."
NO_RULE = (
    "My rules only cover arithmetic, look-ups, units and dates. For anything else, choose a model: Agent(model=…), or "
    "the environment variable AGENTKIT_MODEL."
)
INTERRUPT = "[USER INTERRUPT]"
MAX_QUESTION = 500  # characters; a longer text is not a question that the rules can read
MAX_JSON = 10_000  # characters of an observation that is read as JSON


class Offline:
    """A rule-based stand-in for a model: it answers questions of arithmetic, look-ups, units and dates with tools."""

    name = "offline"
    abilities = Abilities()

    def __call__(self, request: Request) -> Reply:
        """Reply with the next call that is needed, or else with an answer or a refusal for each question."""
        turn = read_chat(request.chat, request.offered)
        lines, thought = [], "I have what I need."
        for question in turn.questions:
            turn.found = []
            try:
                lines.append(answer(question, turn))
                continue
            except Refused as refused:
                reason = str(refused)
            except CallNeeded as needed:
                if request.choice != "none":
                    start = "Next I need" if turn.is_introduced else f"{WHO} I need"
                    return write_call(f"{start} {needed.purpose}", needed.call, request.dialect.name)
                reason = f"I had to stop before I could call `{needed.call.name}`."
            thought = "I can't get any further."
            lines.append(refusal(question, reason, turn.found))
        text = "\n".join(lines) or "Nothing was asked."
        return write_answer(thought, text if turn.is_introduced else f"{WHO} {text}", request)

    @inert
    def __repr__(self) -> str:
        return "Offline()"


# What the model says


def sentence(found: list[str], result: str = "") -> str:
    """Return one sentence that says what was found, and what was worked out from it."""
    text = ", so ".join(filter(None, (" and ".join(found), result)))
    return f"{text[0].upper()}{text[1:]}." if text.startswith("the ") else f"{text}."


def refusal(question: str, reason: str, found: list[str]) -> str:
    """Return the line that refuses a question, with what was found up to then."""
    line = one_line(question)
    asked = f"“{line}”" if re.fullmatch(r"[^{}\[\]<>`|]{1,80}", line) else "this"
    return f"I can't answer {asked}. {reason}" + (f" So far: {' and '.join(found)}." if found else "")


def write_call(thought: str, call: Call, dialect: str) -> Reply:
    """Return a reply that asks for a call, in the words of the dialect."""
    if dialect == "text":
        return Reply(f"Thought: {thought}\nAction: {call.name}\nAction Input: {to_json(call.arguments)}")
    if dialect == "json":
        asked = {"type": "tool_call", "reasoning": thought, "tool_name": call.name, "tool_args": call.arguments}
        return Reply(to_json(asked))
    return Reply(thought, calls=(call,), finish="tool_calls")


def write_answer(thought: str, text: str, request: Request) -> Reply:
    """Return a reply that ends the turn, in the words of the dialect; without tools, the text alone."""
    if request.offered and request.dialect.name == "text":
        return Reply(f"Thought: {thought}\nFINAL_ANSWER: {text}")
    if request.offered and request.dialect.name == "json":
        return Reply(to_json({"type": "final_answer", "reasoning": thought, "answer": text}))
    return Reply(text, finish="stop")


def to_json(data: Any) -> str:
    """Return data as JSON on one line."""
    return json.dumps(data, ensure_ascii=False)


# What was asked, and what the tools returned


class CallNeeded(Exception):
    """A rule needs this call before it can go on; the purpose completes the sentence "I need …"."""

    def __init__(self, call: Call, purpose: str) -> None:
        self.call, self.purpose = call, purpose


class Refused(Exception):
    """The question can't be answered; the text says why, in a sentence."""


@dataclass(slots=True)
class Value:
    """What a tool returned: a text, and the unit and the year that came with it."""

    text: str
    unit: str = ""
    as_of: str = ""

    def __str__(self) -> str:
        text = self.text if len(self.text) <= 80 else f"“{self.text}”"
        return text + (f" {self.unit}" if self.unit else "") + (f" (as of {self.as_of})" if self.as_of else "")


@dataclass(slots=True)
class Result:
    """A call of this turn and what came of it."""

    call: Call
    text: str
    ok: bool


@dataclass(slots=True)
class Turn:
    """What was asked since the last answer, and what the tools returned; `found` is for the question being answered.

    A result is found by the purpose of its call, which the thought says, so that a person can edit the call; or else by
    the call itself, so that a person can edit the thought.
    """

    tools: Tools
    questions: list[str] = field(default_factory=list)
    results: dict[Any, Result] = field(default_factory=dict)
    is_introduced: bool = False
    found: list[str] = field(default_factory=list)

    def find_out(self, wanted: str, does: str, tool: str, arguments: dict[str, Any]) -> tuple[str, Value]:
        """Return what a tool says, as a clause and as a value.

        Raises `CallNeeded` if the tool was not called for this yet, and `Refused` if it failed.
        """
        call, purpose = Call(tool, arguments), f"{wanted}, and the tool `{tool}` {does}."
        result = self.results.get(purpose) or self.results.get(identity(call))
        if result is None:
            raise CallNeeded(call, purpose)
        if not result.ok:
            raise Refused(f"`{tool}` gave no result: “{one_line(result.text)}”.")
        was_edited = identity(result.call) != identity(call)
        value = read_value(result.text)
        return f"{one_line(call_text(result.call)) if was_edited else wanted} is {value}", value

    def require(self, name: str, parameters: Iterable[str]) -> None:
        """Raise `Refused` unless one of agentkit's own tools is offered, with the parameters that it has."""
        if not any(tool.name == name and required(tool).keys() == set(parameters) for tool in self.tools):
            raise Refused(f"That takes the tool `{name}`, which I wasn't offered.")


def identity(call: Call) -> Any:
    """Return what two equal calls have in common. The rules only make calls with plain arguments."""
    is_plain = all(isinstance(value, str | int | float) for value in call.arguments.values())
    return (call.name, *sorted(call.arguments.items())) if is_plain else id(call)


def read_chat(chat: Iterable[Message], tools: Tools) -> Turn:
    """Return the last turn of a chat.

    A turn begins with the user's message after an answer; the last one counts if there are several. Injected messages
    add questions to it. Other messages that come before the turn is over are hints for a language model.
    """
    turn = Turn(tools)
    calls: Iterator[Call] = iter(())
    purpose, is_new = "", True
    for message in chat:
        if message.role == "assistant":
            purpose, calls, is_new = message.text.partition("I need ")[2], iter(message.calls), not message.calls
            turn.is_introduced = turn.is_introduced or message.text.startswith(WHO)
        elif message.role == "tool" and (call := next(calls, None)):
            turn.results[purpose] = turn.results[identity(call)] = Result(call, message.text, message.ok)
        elif message.role == "user" and message.text.startswith(INTERRUPT):
            texts = re.split(r"^[0-9]+\. ", message.text.removeprefix(INTERRUPT).strip(), flags=re.MULTILINE)
            turn.questions += filter(None, map(str.strip, texts))
            is_new = False
        elif message.role == "user" and is_new and not message.name:
            turn = Turn(tools, [message.text])
    return turn


def read_value(text: str) -> Value:
    """Return the value in an observation: its text, or what a JSON object names as `value`, `unit` and `as_of`."""
    text, data = text.strip(), {}
    if text.startswith("{") and len(text) <= MAX_JSON:
        try:
            data = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            pass
    value, unit, as_of = (data.get(key) for key in ("value", "unit", "as_of"))
    if not isinstance(value, str):
        return Value(one_line(text))
    return Value(one_line(value), *(one_line(more) if isinstance(more, str) else "" for more in (unit, as_of)))


def required(tool: OfferedTool) -> dict[str, Any]:
    """Return the schema of each parameter that a tool requires."""
    names, schemas = tool.parameters.get("required"), tool.parameters.get("properties")
    if not isinstance(names, list) or not isinstance(schemas, dict):
        return {}
    return {name: schemas[name] for name in names if isinstance(name, str) and isinstance(schemas.get(name), dict)}


# The rules

_NUMBER = r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?"
_UNIT = r"[a-zµ°][a-z0-9/°²³]*(?: [a-z]+){0,2}?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
RULES = (  # a question that one tool answers (the groups are the tool's arguments), the tool, and what it finds out
    (rf"(?:convert )?(?P<value>{_NUMBER}) (?P<from_unit>{_UNIT}) (?:to|into|in) (?P<to_unit>{_UNIT})",
     "convert", "{value} {from_unit} in {to_unit}"),
    (rf"how many (?P<to_unit>{_UNIT}) (?:are )?(?:there )?in (?P<value>{_NUMBER}) (?P<from_unit>{_UNIT})",
     "convert", "{value} {from_unit} in {to_unit}"),
    (rf"how many days (?:are there |is it )?(?:between|from) (?P<start>{_DATE}) (?:and|to) (?P<end>{_DATE})",
     "days_between", "the number of days from {start} to {end}"),
    (rf"(?:what date is )?(?P<days>[0-9]{{1,9}}) days after (?P<date>{_DATE})",
     "add_days", "the date {days} days after {date}"),
    (rf"(?:what|which) (?:weekday|day of the week) (?:is|was) (?P<date>{_DATE})",
     "weekday", "the weekday of {date}"),
)  # fmt: skip
_OPENING = re.compile(
    r"^(?:(?:please|and|also|then|now)[ ,]+)*"
    r"(?:(?:what is|what['’]s|what are|how much is|how much are|calculate|compute|tell me|give me|look up|find) )?",
    re.IGNORECASE,
)
_OPERATOR = re.compile(  # a sign beside a letter belongs to a name, such as Guinea-Bissau or U-235
    r"((?<![^\W\d_])(?:\*\*|[-+*/^×÷−])(?![^\W\d_])|[()]|\b(?:plus|minus|times|multiplied by|divided by)\b)",
    re.IGNORECASE,
)
_SYMBOLS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/"}
_SYMBOLS |= {"×": "*", "÷": "/", "−": "-", "^": "**"}
_LOOKUP = re.compile(  # "the price of cake", "price of cake" and "the weather in Paris"; "answer in French" is an order
    r"(?P<the>the )?(?P<phrase>(?P<attribute>[^\W\d_][\w' -]*?) (?(the)(?:of|in)|of) "
    r"(?:the )?(?P<subject>[^\W_][\w .'’&-]*))",
    re.IGNORECASE,
)
_NOT_IN_A_NAME = re.compile(  # a subject with one of these words says more than the name of a thing
    r"\b(?:of|in|on|at|by|per|for|from|to|with|and|or|than|that|which|who|if|when|is|are|was|were|before|after)\b",
    re.IGNORECASE,
)
_VERB_OF_A_TOOL = re.compile(r"^(?:get|find|fetch|read|show|lookup|look up) ")


@dataclass(slots=True, frozen=True)
class Lookup:
    """Something to look up: for "the price of cake", the attribute is "price" and the subject "cake"."""

    attribute: str
    subject: str
    phrase: str


Part = str | Lookup
"""A part of an expression: a number, an operator or a parenthesis as a text, or something to look up."""


def answer(question: str, turn: Turn) -> str:
    """Return the answer to a question. Raises `CallNeeded` until everything is known, `Refused` if no rule helps."""
    text = " ".join(question.split()).rstrip(" ?.=") if len(question) <= MAX_QUESTION else ""
    text = _OPENING.sub("", text)
    for pattern, tool, wanted in RULES:
        if match := re.fullmatch(pattern, text, re.IGNORECASE):
            groups = match.groupdict()
            turn.require(tool, groups)
            arguments = {key: json.loads(text) if re.fullmatch(_NUMBER, text) else text for key, text in groups.items()}
            result, _ = turn.find_out(wanted.format(**groups), "works that out", tool, arguments)
            return sentence([result])
    match read_expression(text):
        case [] | [str()]:
            raise Refused(NO_RULE)
        case [Lookup() as lookup]:
            look_up(lookup, turn)
            return sentence(turn.found)
        case parts:
            turn.require("calculate", ["expression"])
            expression = fill_in(parts, turn)
            result, _ = turn.find_out(expression, "works that out", "calculate", {"expression": expression})
            return sentence(turn.found, result)


def read_expression(text: str) -> list[Part]:
    """Return the parts of an arithmetic expression, or a single look-up; an empty list if the text is neither."""
    parts: list[Part] = []
    depth, needs_operand = 0, True
    for piece in filter(None, map(str.strip, _OPERATOR.split(text))):
        symbol = _SYMBOLS.get(piece.lower(), piece)
        if symbol in ("+", "-", "*", "/", "**") and not needs_operand:
            parts.append(f" {symbol} ")
            needs_operand = True
        elif symbol == "-" or (symbol == "(" and needs_operand):
            parts.append(symbol)
            depth += symbol == "("
        elif symbol == ")" and depth and not needs_operand:
            parts.append(symbol)
            depth -= 1
        elif needs_operand and (operand := read_operand(symbol)):
            parts.append(operand)
            needs_operand = False
        else:
            return []
    return [] if depth or needs_operand else parts


def read_operand(text: str) -> Part | None:
    """Return a number as it is written, or a look-up; None if the text is neither."""
    if re.fullmatch(_NUMBER, text):
        return text
    match = _LOOKUP.fullmatch(text)
    if match is None or _NOT_IN_A_NAME.search(match["subject"]):
        return None
    return Lookup(match["attribute"].lower(), match["subject"], match["phrase"])


def fill_in(parts: list[Part], turn: Turn) -> str:
    """Return an expression with the numbers that the tools returned for its look-ups."""
    values = {part: look_up(part, turn) for part in dict.fromkeys(parts) if isinstance(part, Lookup)}
    for value in values.values():
        if not re.fullmatch(rf"{_NUMBER}(?:e[-+]?[0-9]{{1,3}})?", value.text, re.IGNORECASE):
            raise Refused(f"“{value.text}” isn't a plain number, so I can't calculate with it.")
    units = sorted({value.unit for value in values.values()} - {""})
    if len(units) > 1 and (" + " in parts or " - " in parts):
        raise Refused(f"I can't add or subtract amounts in {' and '.join(units)}.")
    numbers = {part: f"({value.text})" if value.text.startswith("-") else value.text for part, value in values.items()}
    return "".join(part if isinstance(part, str) else numbers[part] for part in parts)


def look_up(lookup: Lookup, turn: Turn) -> Value:
    """Return and note what a look-up finds. Raises `CallNeeded` and `Refused`."""
    tool, arguments = choose_tool(lookup, turn.tools)
    clause, value = turn.find_out(f"the {lookup.phrase}", "looks that up", tool, arguments)
    turn.found.append(clause)
    return value


def choose_tool(lookup: Lookup, tools: Tools) -> tuple[str, dict[str, Any]]:
    """Return a tool and its arguments: the tool that is named for the attribute, or else agentkit's `lookup`."""
    general = {"subject": lookup.subject, "attribute": lookup.attribute}
    for tool in tools:
        name, parameters = _VERB_OF_A_TOOL.sub("", tool.name.lower().replace("_", " ")), required(tool)
        if name == lookup.attribute and [is_text(schema) for schema in parameters.values()] == [True]:
            return tool.name, dict.fromkeys(parameters, lookup.subject)
    for tool in tools:
        if tool.name == "lookup" and (parameters := required(tool)).keys() == general.keys():
            choices = parameters["attribute"].get("enum", [lookup.attribute])
            if isinstance(choices, list) and lookup.attribute in choices:
                return tool.name, general
    raise Refused(f"That takes a tool that looks up the {lookup.attribute}, which I wasn't offered.")


def is_text(schema: dict[str, Any]) -> bool:
    """Return whether a parameter takes a text; one without an annotation takes anything."""
    return schema.get("type") == "string" or schema.keys() <= {"title", "description", "default"}
