"""Read tool calls that a model wrote into its text instead of making them, whatever it was asked for.

Rule 1: a call is announced by one of the `FORMS`, at the start of a line, or it is the whole text: a JSON object or
list, or a Python list. What is not announced must name a registered tool and contain nothing but a call.
Rule 2: a call without its end was cut off, and is not run.
Rule 3: every call says in which form it was written.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

from agentkit.core.messages import Call
from agentkit.core.steps import Tools
from agentkit.models.dialects.reading import Reading
from agentkit.models.dialects.text_protocol import prose
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import (
    call_from_text,
    call_id,
    calls_from_data,
    find_tool,
    is_only_a_call,
    make_call,
)

UNREADABLE = "a tool call in the text could not be read"
MAY_BE_EXAMPLE = "a tool call in the text may be an example, because prose follows it"
WRITTEN = "the call was written into the text, as {form}"

_MAX_TRIES = 64
_MAX_PYTHON = 20_000  # characters


class Form(NamedTuple):
    """A way to announce a call: its name for the trace, and what comes before the arguments.

    A group `name` is the name of the tool; without it the name follows, with the arguments or inside them.
    """

    label: str
    opening: str


_NAME = r"(?:print\()?(?P<name>[\w.-]{1,200}+)(?:\[CALL_ID\]\w{1,64}+)?(?:\[ARGS\])?+\s{0,80}+(?=[{(]|<arg_key>)"
_START = r"(?=\s{0,80}+(?:```\w*+\s{0,80}+)?+(?:\{|\[\s{0,80}+\{"
_JSON = rf"{_START}))"
_DATA = rf"{_START}|\[?{_NAME.replace('P<name>', ':')}))"
"""What comes after an opening without a name: an object, a list, or a name and its arguments."""

_TOOL = r"(?P<name>[^<\n]{1,200}+)"
_SEPARATOR = "(?:<｜tool▁sep｜>)"

FORMS = (
    Form("[TOOL_CALL: name](…)", r"\[TOOL_CALL:[ \t]*+(?P<name>[^\]\n]{1,200}+)\]\s{0,8}+(?=\(\s{0,80}+[{)])"),
    Form("<tool_call>", r"<(?:[a-z]{1,20}:)?(?:tool_?calls?|function_?calls?|tools?)>" + _DATA),
    Form("[TOOL_CALLS]", r"\[TOOL_CALLS\]" + _DATA),
    Form("functools[…]", r"functools(?=\[\s{0,80}+\{)"),
    Form("<|python_tag|>", r"<\|python_tag\|>" + _DATA),
    Form("<|tool_call|>", r"<\|(?:tool_call|plugin|START_ACTION)\|>" + _DATA),
    Form("<function=name>", r"<function=(?P<name>[^>\n]{1,200}+)>"),
    Form("<invoke>", r"""<invoke name=["'](?P<name>[^"'\n]{1,200}+)["']>"""),
    Form("<｜tool▁call▁begin｜>", rf"<｜tool▁call▁begin｜>(?:function{_SEPARATOR})?+{_TOOL}{_SEPARATOR}?+"),
    Form("<|tool_call_begin|>", rf"<\|tool_call_begin\|>\s*+{_TOOL}<\|tool_call_argument_begin\|>"),
    Form("<|channel|>", r"<\|channel\|>commentary[ ]to=(?P<name>[^<\s]{1,200}+)[^{\n]{0,100}?<\|message\|>"),
    Form(">>>name", r">>>(?P<name>[\w.-]{1,200}+)\s{0,8}+(?=\{)"),
    Form("Action: {…}", r"[*_\#]{0,4}+[ \t]*+Action(?:[ ]\d{1,3}+)?+[*_]{0,3}+[ \t]*+[:：][*_]{0,3}+" + _JSON),
    Form("a code fence", r"```(?:json|tool_call|tool_code)?+[ \t]*+\r?\n" + _DATA),
)  # fmt: skip
"""All announced forms, each with the chat templates that write it in mind: Hermes, Qwen, GLM, Mistral, Phi, Llama,
Granite, InternLM, Command, MiniMax, DeepSeek, Kimi, gpt-oss, Functionary.
"""

_FENCE = FORMS[-1]
_ANY_FORM = "|".join(f"(?P<form{n}>{re.sub('<name>', f'<name{n}>', form.opening)})" for n, form in enumerate(FORMS))
_FRAME = r"(?:<(?:[a-z]{1,20}:)?(?:tool|function)_calls?>|<[|｜][\w▁]{1,40}[|｜]>)"
_OPENING = re.compile(rf"^[ \t]*+(?:{_FRAME}\s*+){{0,2}}?(?:{_ANY_FORM})", re.MULTILINE | re.IGNORECASE)
_NEXT_OPENING = re.compile(rf"\s*+[;,]?+\s*+(?:{_FRAME}\s*+){{0,2}}?(?:{_ANY_FORM})", re.IGNORECASE)
_NEXT_BODY = re.compile(r"\s*+[;,]\s*+(?=\{)")
_CLOSING = re.compile(
    r"\s*+(?:[)\]]|```|</[\w:=]{1,40}+>|<[|｜]/?+[\w▁]{1,40}+[|｜]>|\[/?TOOL_CALLS?\])", re.IGNORECASE
)
_BEFORE_BODY = re.compile(r"\s*+(?:```\w*+\s*+)?+")
_NAMED = re.compile(_NAME)
_PARAMETER = re.compile(
    r"""\s*+(?:<parameter(?:=|[ ]name=["'])(?P<key>[^>"'\n]{1,200}+)["']?[^>\n]{0,80}>(?P<value>.*?)</parameter>
        |<arg_key>(?P<glm_key>[^<\n]{1,200}+)</arg_key>\s*+<arg_value>(?P<glm_value>.*?)</arg_value>)""",
    re.VERBOSE | re.DOTALL,
)
_END_OF_PARAMETERS = re.compile(r"\s*+</(?:function|invoke|tool_call)>")
_IN_PYTHON = re.compile(r"""\"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[()]|["']""", re.DOTALL)
_END_OF_FENCE = re.compile(r"\s*+(?:```|\Z)")
_LINE_OF_FENCE = re.compile(r"^[ \t]*+```\w*+", re.MULTILINE)


def read(text: str, tools: Tools, *, shows_examples: bool = False) -> Reading:
    """Return all calls that are written out in a text, in order; the thought is the text without them.

    `shows_examples`: the model can make real calls, so a call in a code fence is an example unless the fence is the
    whole text, and one before prose may be an example.
    """
    if text.lstrip().startswith(("{", "[")) and (only := _only_calls(text.strip(), tools)).problems + only.calls:
        return only
    reader = _Reader(text, tools)
    reader.read()
    if shows_examples and _LINE_OF_FENCE.sub("", reader.thought).strip():
        reader = _Reader(text, tools)
        reader.read(skips_fences=True)
        if reader.calls and reader.rest.strip():
            return Reading(problems=(MAY_BE_EXAMPLE,))
    return Reading(prose(reader.thought), tuple(reader.calls), None, tuple(reader.problems[:1]))


class _Reader:
    """What has been read of one text: the calls, the text between them, the text after the last, and the problems.

    Only the first data are mended, so that the work stays linear.
    """

    def __init__(self, text: str, tools: Tools) -> None:
        self.text = text
        self.tools = tools
        self.calls: list[Call] = []
        self.thoughts: list[str] = []
        self.problems: list[str] = []
        self.rest = text
        self._mends = True

    @property
    def thought(self) -> str:
        """The text without the calls."""
        return "".join(self.thoughts)

    def read(self, *, skips_fences: bool = False) -> None:
        """Read the whole text."""
        at = checked = fences = 0
        opening = _OPENING.search(self.text)
        for _ in range(_MAX_TRIES):
            if opening is None:
                break
            fences += len(_LINE_OF_FENCE.findall(self.text, checked, opening.start()))
            checked = opening.start()
            is_fence = FORMS[_number(opening)] is _FENCE
            is_example = skips_fences and (is_fence or fences % 2)
            calls, end = ([], opening.end()) if is_example else self._calls_at(opening)
            if not calls:
                if not (is_fence or is_example):
                    self.problems.append(UNREADABLE)
                opening = _OPENING.search(self.text, max(end, opening.start() + 1))
                continue
            self.calls += calls
            self.thoughts.append(self.text[at : opening.start()])
            at, opening = self._after(end)
            opening = opening or _OPENING.search(self.text, at)
        self.rest = self.text[at:]
        self.thoughts.append(self.rest)

    def _calls_at(self, opening: re.Match[str]) -> tuple[list[Call], int]:
        """Return the calls whose opening was found, and their end in the text."""
        number = _number(opening)
        form, name = FORMS[number], opening.groupdict().get(f"name{number}")
        is_registered_only = form is _FENCE
        calls, end = self._body(opening.end(), name, is_registered_only)
        while calls and (following := _NEXT_BODY.match(self.text, end)):
            more, end_of_more = self._body(following.end(), None, is_registered_only)
            if not more:
                return [], opening.end()
            calls, end = calls + more, end_of_more
        return [*_noted(calls, form.label, len(self.calls))], end or opening.end()

    def _body(self, at: int, name: str | None, is_registered_only: bool) -> tuple[list[Call], int]:
        """Return the calls in the data at a position, and its end: objects, a list, keywords, or tagged parameters."""
        text, tools = self.text, self.tools
        at = _BEFORE_BODY.match(text, at).end()  # type: ignore[union-attr]
        if name is None and (named := _NAMED.match(text, at)):
            if is_registered_only and find_tool(named["name"], tools)[1] is None:
                return [], at
            name, at = named["name"], named.end()
        if name is None:
            return self._data(at, is_registered_only)
        if text.startswith("(", at):
            end = _end_of_parentheses(text, at)
            inner = text[at + 1 : end - 1].strip()
            return ([call_from_text(name, inner or "{}", tools)], end) if end else ([], at)
        if text.startswith("{", at):
            parsed = self._parsed(at)
            if not isinstance(parsed.value, dict):
                return [], at
            call = make_call(find_tool(name, tools)[0], parsed.value, coerced=(parsed.mended,) if parsed.mended else ())
            return [call], parsed.end
        return self._parameters(name, at)

    def _parsed(self, at: int) -> loose_json.Parsed:
        mends, self._mends = self._mends, False
        return loose_json.value_at(self.text, at) if mends else loose_json.strict(self.text, at)

    def _data(self, at: int, is_registered_only: bool) -> tuple[list[Call], int]:
        """Return the calls in the JSON object or the list that begins at a position."""
        parsed = self._parsed(at)
        if parsed.value is None:
            return _python_list(self.text, at, self.tools)
        calls = calls_from_data(parsed.value, self.tools, mended=parsed.mended)
        is_call = is_only_a_call(parsed.value, calls, self.tools) and _END_OF_FENCE.match(self.text, parsed.end)
        return ([], at) if is_registered_only and not is_call else (calls, parsed.end)

    def _parameters(self, name: str, at: int) -> tuple[list[Call], int]:
        """Return the call whose arguments are tags, one for each; without the tag that ends it, it was cut off."""
        arguments: dict[str, Any] = {}
        while (parameter := _PARAMETER.match(self.text, at)) and len(arguments) < _MAX_TRIES:
            key, value = parameter["key"] or parameter["glm_key"], parameter["value"] or parameter["glm_value"] or ""
            arguments[key.strip()] = value.strip("\n") if "\n" in value else value.strip()
            at = parameter.end()
        closing = _END_OF_PARAMETERS.match(self.text, at)
        if not closing:
            return [], at
        return [make_call(find_tool(name, self.tools)[0], arguments)], closing.end()

    def _after(self, end: int) -> tuple[int, re.Match[str] | None]:
        """Return the end of a call with the signs that close it, and the opening that follows directly."""
        while not (opening := _NEXT_OPENING.match(self.text, end)):
            closing = _CLOSING.match(self.text, end)
            if not closing:
                return end, None
            end = closing.end()
        return end, opening


def _number(opening: re.Match[str]) -> int:
    """Return the number of the form that an opening has."""
    return next(n for n in range(len(FORMS)) if opening[f"form{n}"] is not None)


def _only_calls(text: str, tools: Tools) -> Reading:
    """Return the calls in a text that is one JSON object or list, or one Python list, and nothing else.

    If it would be, but has no end, nothing is read, and a problem says so.
    """
    parsed = loose_json.value_at(text)
    calls = calls_from_data(parsed.value, tools, mended=parsed.mended)
    if parsed.end == len(text) and is_only_a_call(parsed.value, calls, tools):
        return Reading(calls=_noted(calls, "JSON"))
    calls, end = _python_list(text, 0, tools)
    if calls and end == len(text):
        return Reading(calls=_noted(calls, "a Python list"))
    begun = loose_json.completed(text).value if parsed.problem == loose_json.CUT_OFF else None
    is_cut = is_only_a_call(begun, calls_from_data(begun, tools), tools) or _begins_python_list(text, tools)
    return Reading(problems=(UNREADABLE,) if is_cut else ())


def _begins_python_list(text: str, tools: Tools) -> bool:
    """Return whether a text begins with a Python list whose first call is one of a registered tool."""
    named = _NAMED.match(text, _skipped(text, 1))
    is_call = named and text.startswith("[") and text.startswith("(", named.end())
    return bool(named and is_call and find_tool(named["name"], tools)[1])


def _noted(calls: list[Call], form: str, position: int = 0) -> tuple[Call, ...]:
    """Return calls with their ids, and with a note that says in which form they were written."""
    note = WRITTEN.format(form=form)
    return tuple(
        replace(call, coerced=(note, *call.coerced), id=call_id(call.name, call.arguments or call.raw, number))
        for number, call in enumerate(calls, position)
    )


def _python_list(text: str, at: int, tools: Tools) -> tuple[list[Call], int]:
    """Return the calls in a Python list of calls of registered tools, `[search(query="Oslo"), now()]`, and its end."""
    calls: list[Call] = []
    end = at + 1 if text.startswith("[", at) else 0
    while end and len(calls) < _MAX_TRIES:
        named = _NAMED.match(text, _skipped(text, end))
        if not named or find_tool(named["name"], tools)[1] is None or not text.startswith("(", named.end()):
            return [], at
        end = _end_of_parentheses(text, named.end())
        inner = text[named.end() + 1 : end - 1].strip()
        calls.append(call_from_text(named["name"], inner or "{}", tools))
        end = _skipped(text, end) if end else 0
        if text.startswith("]", end):
            return calls, end + 1
        end = end + 1 if text.startswith(",", end) else 0
    return [], at


def _skipped(text: str, at: int) -> int:
    return _BEFORE_BODY.match(text, at).end()  # type: ignore[union-attr]


def _end_of_parentheses(text: str, at: int) -> int:
    """Return the end of the parentheses that open at a position; 0 if they do not close."""
    depth = 0
    for sign in _IN_PYTHON.finditer(text, at, at + _MAX_PYTHON):
        if sign[0] in ('"', "'"):
            return 0  # a text without an end
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if not depth:
            return sign.end()
    return 0
