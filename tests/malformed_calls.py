"""Calls of tools as models and hosts really send them, when they do not send them as the API or the prompt says.

Each shape says what must happen: the calls that run, or that nothing runs because the call was cut off, could mean two
things or is missing something ("refused": the model is told), or because it is only quoted ("quoted": it is part of the
answer). The shapes are those of chat templates, of tool parsers of inference servers and of their issue trackers.

`way` says how a shape arrives: "message" is a whole message of a completion, "stream" the deltas of one, "native" a text
from a model that has native calls; "json" and "text" are replies in these dialects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from agentkit import tool

RAN: list[tuple[str, dict[str, Any]]] = []
"""The calls that ran, in the order of their names and arguments."""


@tool(effect="pure")
def search(query: str) -> str:
    """Search."""
    RAN.append(("search", {"query": query}))
    return "found"


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    RAN.append(("add", {"a": a, "b": b}))
    return a + b


@tool(effect="pure")
def now() -> str:
    """Return the time."""
    RAN.append(("now", {}))
    return "noon"


@tool(effect="pure")
def look(place: str = "here", depth: int = 1) -> str:
    """Look around."""
    RAN.append(("look", {"place": place, "depth": depth}))
    return "nothing"


@tool(effect="pure")
def note(title: str, done: bool = False, owner: str | None = None, tags: list[str] | None = None) -> str:
    """Write something down."""
    RAN.append(("note", {"title": title, "done": done, "owner": owner, "tags": tags}))
    return "written"


TOOLS = (search, add, now, look, note)

SEARCH = ("search", {"query": "Oslo"})
ADD = ("add", {"a": 1, "b": 2})
NOW = ("now", {})
LOOK = ("look", {"place": "here", "depth": 1})
NOTE = ("note", {"title": "milk", "done": True, "owner": None, "tags": None})


class Shape(NamedTuple):
    """One malformed call: how it arrives, what is sent, and the calls that must run."""

    name: str
    way: str
    sent: Any
    ran: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish: str = ""
    quoted: bool = False


def call(arguments: Any, name: str = "search", id: str | None = "c1", **more: Any) -> dict[str, Any]:
    """Return a call as an API writes it."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def piece(index: Any, arguments: str = "", name: str | None = None, id: str | None = None) -> dict[str, Any]:
    """Return a piece of a call as a stream sends it; fields that are None are left out."""
    function = {"arguments": arguments} | ({} if name is None else {"name": name})
    head = {} if index is None else {"index": index}
    return {**head, **({} if id is None else {"id": id}), "type": "function", "function": function}


OBJECT = '{"query": "Oslo"}'
CUT = '{"query": "Os'
READ = '{"name": "search", "arguments": {"query": "Oslo"}}'
SUM = '{"name": "add", "arguments": {"a": 1, "b": 2}}'

# -- the arguments of a native call ------------------------------------------------------------------------------------

ARGUMENTS = [
    Shape("empty text for a tool without arguments", "message", [call("", "now")], (NOW,)),
    Shape("empty text where all arguments are optional", "message", [call("", "look")], (LOOK,)),
    Shape("null where all arguments are optional", "message", [call(None, "look")], (LOOK,)),
    Shape("the text null", "message", [call("null", "look")], (LOOK,)),
    Shape("an empty list", "message", [call([], "look")], (LOOK,)),
    Shape("the text of an empty list", "message", [call("[]", "look")], (LOOK,)),
    Shape("empty text where an argument is required", "message", [call("")]),
    Shape("an object instead of its text", "message", [call({"query": "Oslo"})], (SEARCH,)),
    Shape("encoded twice", "message", [call(r'"{\"query\": \"Oslo\"}"')], (SEARCH,)),
    Shape("in a code fence", "message", [call(f"```json\n{OBJECT}\n```")], (SEARCH,)),
    Shape("single quotes", "message", [call("{'query': 'Oslo'}")]),
    Shape("a trailing comma", "message", [call('{"query": "Oslo",}')]),
    Shape("Python literals", "message", [call('{"title": "milk", "done": True, "owner": None}', "note")]),
    Shape("a comment", "message", [call('{"query": "Oslo" /* the city */}')]),
    Shape("keys without quotes", "message", [call('{query: "Oslo"}')]),
    Shape("a raw line break in a text", "message", [call('{"title": "mi\nlk"}', "note")], (("note", {"title": "mi\nlk", "done": False, "owner": None, "tags": None}),)),
    Shape("a closing brace too many", "message", [call(OBJECT + "}")], (SEARCH,)),
    Shape("a closing tag after the object", "message", [call(OBJECT + "</tool_call>")], (SEARCH,)),
    Shape("a special token after the object", "message", [call(OBJECT + "<|im_end|>")], (SEARCH,)),
    Shape("an empty object before the object", "message", [call("{}" + OBJECT)], (SEARCH,)),
    Shape("the object twice", "message", [call(OBJECT + OBJECT)], (SEARCH,)),
    Shape("two objects that differ", "message", [call(OBJECT + '{"query": "Rome"}')]),
    Shape("a bare text", "message", [call("Oslo")]),
    Shape("a list in the place of the object", "message", [call('["Oslo"]')]),
    Shape("a tag in the middle", "message", [call('{"query": "Oslo"</parameter>\n<parameter name="limit": 8}')]),
    Shape("cut off in a text", "message", [call(CUT)]),
    Shape("cut off at the length limit", "message", [call(CUT)], finish="length"),
    Shape("cut off after a key", "message", [call('{"a": 1, "b"', "add")]),
    Shape("empty at the length limit, where all arguments are optional", "message", [call("", "look")], finish="length"),
    Shape("numbers as texts", "message", [call('{"a": "1", "b": "2"}', "add")], (ADD,)),
    Shape("a list as text inside the object", "message", [call('{"title": "milk", "done": "true", "tags": "[\\"a\\"]"}', "note")], (("note", {**NOTE[1], "tags": ["a"]}),)),
    Shape("null for an optional argument", "message", [call('{"place": null, "depth": null}', "look")], (LOOK,)),
]  # fmt: skip

# -- native calls: names, ids, indices, frames ---------------------------------------------------------------------------

FRAMES = [
    Shape("no id", "message", [call(OBJECT, id=None)], (SEARCH,)),
    Shape("the same id twice", "message", [call(OBJECT), call('{"a": 1, "b": 2}', "add")], (SEARCH, ADD)),
    Shape("tool_calls is one call", "message", call(OBJECT), (SEARCH,)),
    Shape("tool_calls is calls by their index", "message", {"0": call(OBJECT), "1": call("{}", "now", "c2")}, (SEARCH, NOW)),
    Shape("a call without function", "message", [{"id": "c1", "name": "search", "arguments": OBJECT}], (SEARCH,)),
    Shape("a name with the namespace of a host", "message", [call(OBJECT, "functions.search")], (SEARCH,)),
    Shape("a name with a number after it", "message", [call(OBJECT, "functions.search:0")], (SEARCH,)),
    Shape("a name in other letters", "message", [call(OBJECT, "Search")], (SEARCH,)),
    Shape("a name with a special token after it", "message", [call(OBJECT, "search<|channel|>commentary")], (SEARCH,)),
    Shape("a name with spaces around it", "message", [call(OBJECT, " search ")], (SEARCH,)),
    Shape("no name", "message", [call(OBJECT, "")]),
    Shape("arguments named parameters", "message", [{"id": "c1", "function": {"name": "search", "parameters": {"query": "Oslo"}}}], (SEARCH,)),
    Shape("arguments named input", "message", [{"id": "c1", "type": "function", "name": "search", "input": {"query": "Oslo"}}], (SEARCH,)),
    Shape("function_call of the old API", "legacy", {"name": "search", "arguments": OBJECT}, (SEARCH,)),
    Shape("function_call of the old API, cut off", "legacy", {"name": "search", "arguments": CUT}, finish="length"),
    Shape("pieces without an index", "stream", [[piece(None, "", "search", "c1")], [piece(None, OBJECT)]], (SEARCH,)),
    Shape("name and id repeated in every piece", "stream", [[piece(0, p, "search", "c1")] for p in ('{"query": ', '"Oslo"}')], (SEARCH,)),
    Shape("a new id in every piece", "stream", [[piece(0, '{"query": ', "search", "c1")], [piece(0, '"Oslo"}', "", "c2")]], (SEARCH,)),
    Shape("an empty id in the later pieces", "stream", [[piece(0, '{"query": ', "search", "c1")], [piece(0, '"Oslo"}', id="")]], (SEARCH,)),
    Shape("a name in pieces", "stream", [[piece(0, "", "sea", "c1")], [piece(0, "", "rch")], [piece(0, OBJECT)]], (SEARCH,)),
    Shape("two calls under one index with different ids", "stream", [[piece(0, OBJECT, "search", "c1")], [piece(0, '{"a": 1, "b": 2}', "add", "c2")]], (SEARCH, ADD)),
    Shape("two calls under one index without ids", "stream", [[piece(0, OBJECT, "search")], [piece(0, '{"a": 1, "b": 2}', "add")]], (SEARCH, ADD)),
    Shape("one tool twice under one index without ids", "stream", [[piece(0, OBJECT, "search")], [piece(0, '{"query": "Rome"}', "search")]], (SEARCH, ("search", {"query": "Rome"}))),
    Shape("the arguments under another index than the name", "stream", [[piece(0, "", "search", "c1")], [piece(1, OBJECT)]], (SEARCH,)),
    Shape("the second call begins under the first index and goes on under its own", "stream", [[piece(0, OBJECT, "search", "c1")], [piece(0, "", "add", "c2")], [piece(1, '{"a": 1, "b": 2}')]], (SEARCH, ADD)),
    Shape("an index for every piece, with the id of the call", "stream", [[piece(0, '{"query": ', "search", "c1")], [piece(1, '"Oslo"}', id="c1")]], (SEARCH,)),
    Shape("pieces of two calls in turns", "stream", [[piece(0, '{"query": ', "search", "c1"), piece(1, '{"a": 1, ', "add", "c2")], [piece(0, '"Oslo"}'), piece(1, '"b": 2}')]], (SEARCH, ADD)),
    Shape("the first index is 1", "stream", [[piece(1, "", "search", "c1")], [piece(1, OBJECT)]], (SEARCH,)),
    Shape("an index that is a text", "stream", [[{**piece(None, "", "search", "c1"), "index": "0"}], [{**piece(None, OBJECT), "index": "0"}]], (SEARCH,)),
    Shape("an index that is null", "stream", [[{**piece(None, OBJECT, "search", "c1"), "index": None}]], (SEARCH,)),
    Shape("the whole call again in the last piece", "stream", [[piece(0, OBJECT, "search", "c1")], [piece(0, OBJECT, "search", "c1")]], (SEARCH,)),
    Shape("arguments before the name", "stream", [[piece(0, '{"query": ', id="c1")], [piece(0, '"Oslo"}', "search")]], (SEARCH,)),
    Shape("the second call cut off", "stream", [[piece(0, OBJECT, "search", "c1")], [piece(1, '{"a": 1, ', "add", "c2")]], (SEARCH,), "length"),
    Shape("finish reason stop", "stream", [[piece(0, OBJECT, "search", "c1")]], (SEARCH,), "stop"),
]  # fmt: skip

# -- calls that a model with native calls writes into its text -----------------------------------------------------------

WRITTEN = [
    Shape("Hermes", "native", f"<tool_call>\n{READ}\n</tool_call>", (SEARCH,)),
    Shape("Hermes, two calls", "native", f"<tool_call>\n{READ}\n</tool_call>\n<tool_call>\n{SUM}\n</tool_call>", (SEARCH, ADD)),
    Shape("Hermes without its end tag", "native", f"I look.\n<tool_call>\n{READ}", (SEARCH,)),
    Shape("Hermes, cut off", "native", '<tool_call>\n{"name": "search", "arguments": {"query": "Os', finish="length"),
    Shape("Hermes, cut off and unsaid", "native", '<tool_call>\n{"name": "search", "arguments": {"query": "Oslo"}'),
    Shape("Hermes with a Python dict", "native", "<tool_call>\n{'name': 'search', 'arguments': {'query': 'Oslo'}}\n</tool_call>", (SEARCH,)),
    Shape("Hermes with a list", "native", f"<tool_call>\n[{READ}]\n</tool_call>", (SEARCH,)),
    Shape("the tag tool_calls with a list", "native", f"<tool_calls>[{READ}, {SUM}]</tool_calls>", (SEARCH, ADD)),
    Shape("the tag TOOLCALL with a list", "native", f"<TOOLCALL>[{READ}]</TOOLCALL>", (SEARCH,)),
    Shape("the tag function_call", "native", f"<function_call> {READ} </function_call>", (SEARCH,)),
    Shape("the tag functioncall with quoted arguments", "native", """<functioncall> {"name": "search", "arguments": '{"query": "Oslo"}'} </functioncall>""", (SEARCH,)),
    Shape("special tokens around an object", "native", f"<|tool_call|>{READ}<|/tool_call|>", (SEARCH,)),
    Shape("a special token before a list", "native", f"<|tool_call|>[{READ}]", (SEARCH,)),
    Shape("Mistral", "native", f"[TOOL_CALLS] [{READ}]", (SEARCH,)),
    Shape("Mistral, two calls", "native", f"[TOOL_CALLS][{READ}, {SUM}]", (SEARCH, ADD)),
    Shape("Mistral, cut off", "native", f'[TOOL_CALLS] [{READ}, {{"name": "ad', finish="length"),
    Shape("Mistral with the name before the arguments", "native", '[TOOL_CALLS]search{"query": "Oslo"}', (SEARCH,)),
    Shape("Mistral with the mark of arguments", "native", '[TOOL_CALLS]search[ARGS]{"query": "Oslo"}', (SEARCH,)),
    Shape("Mistral with an id", "native", '[TOOL_CALLS]search[CALL_ID]a1b2c3d4e[ARGS]{"query": "Oslo"}', (SEARCH,)),
    Shape("Llama with the tag of Python", "native", '<|python_tag|>{"name": "search", "parameters": {"query": "Oslo"}}', (SEARCH,)),
    Shape("Llama, two calls", "native", f"<|python_tag|>{READ}; {SUM}", (SEARCH, ADD)),
    Shape("Llama with Python", "native", '<|python_tag|>search(query="Oslo")', (SEARCH,)),
    Shape("Llama with a tag for the function", "native", '<function=search>{"query": "Oslo"}</function>', (SEARCH,)),
    Shape("a tag for the function, without its end", "native", '<function=search>{"query": "Oslo"}', (SEARCH,)),
    Shape("a tag for the function, cut off", "native", '<function=search>{"query": "Os', finish="length"),
    Shape("a tag for the function, two calls", "native", '<function=search>{"query": "Oslo"}</function>\n<function=now>{}</function>', (SEARCH, NOW)),
    Shape("an object alone", "native", READ, (SEARCH,)),
    Shape("an object alone, cut off", "native", '{"name": "search", "arguments": {"query": "Os', finish="length"),
    Shape("a Python dict alone", "native", "{'name': 'search', 'arguments': {'query': 'Oslo'}}", (SEARCH,)),
    Shape("an object with parameters alone", "native", '{"name": "search", "parameters": {"query": "Oslo"}}', (SEARCH,)),
    Shape("a list alone", "native", f"[{READ}, {SUM}]", (SEARCH, ADD)),
    Shape("an object in the form of the API", "native", '{"type": "function", "function": {"name": "search", "arguments": "{\\"query\\": \\"Oslo\\"}"}}', (SEARCH,)),
    Shape("tool_calls as the whole text", "native", '{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\\"query\\": \\"Oslo\\"}"}}]}', (SEARCH,)),
    Shape("a Python list of calls", "native", '[search(query="Oslo"), add(a=1, b=2)]', (SEARCH, ADD)),
    Shape("a Python list of calls, cut off", "native", '[search(query="Oslo"), add(a=1, b', finish="length"),
    Shape("a Python call in a fence", "native", '```tool_code\nprint(search(query="Oslo"))\n```', (SEARCH,)),
    Shape("Qwen with parameters in tags", "native", "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>", (ADD,)),
    Shape("Qwen with a text in tags", "native", "<tool_call>\n<function=search>\n<parameter=query>\nOslo\n</parameter>\n</function>\n</tool_call>", (SEARCH,)),
    Shape("Qwen without the tag around it", "native", "<function=search>\n<parameter=query>\nOslo\n</parameter>\n</function>\n</tool_call>", (SEARCH,)),
    Shape("Qwen, cut off between parameters", "native", "<tool_call>\n<function=look>\n<parameter=place>\nOslo\n</parameter>\n<parameter=dep", finish="length"),
    Shape("Qwen, cut off in a parameter", "native", "<tool_call>\n<function=search>\n<parameter=query>\nOs", finish="length"),
    Shape("GLM", "native", "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>", (SEARCH,)),
    Shape("invoke with parameters", "native", '<function_calls>\n<invoke name="search">\n<parameter name="query">Oslo</parameter>\n</invoke>\n</function_calls>', (SEARCH,)),
    Shape("invoke in the tag of a host", "native", '<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n<parameter name="b">2</parameter>\n</invoke>\n</minimax:tool_call>', (ADD,)),
    Shape("invoke, cut off", "native", '<function_calls>\n<invoke name="search">\n<parameter name="query">Os', finish="length"),
    Shape("DeepSeek", "native", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"Oslo\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", (SEARCH,)),
    Shape("DeepSeek without a fence", "native", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{\"query\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", (SEARCH,)),
    Shape("Kimi", "native", "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{\"query\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>", (SEARCH,)),
    Shape("gpt-oss", "native", '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "Oslo"}<|call|>', (SEARCH,)),
    Shape("Functionary", "native", '>>>search\n{"query": "Oslo"}', (SEARCH,)),
    Shape("Phi", "native", f"functools[{READ}]", (SEARCH,)),
    Shape("InternLM", "native", '<|action_start|><|plugin|>\n{"name": "search", "parameters": {"query": "Oslo"}}<|action_end|>', (SEARCH,)),
    Shape("Command R", "native", 'Action: ```json\n[\n    {"tool_name": "search", "parameters": {"query": "Oslo"}}\n]\n```', (SEARCH,)),
    Shape("Command A", "native", '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "Oslo"}}]<|END_ACTION|>', (SEARCH,)),
    Shape("an example in a fence", "native", f"You write:\n```json\n{READ}\n```\nThat is all.", quoted=True),
    Shape("a tag in an example in a fence", "native", f"Hermes writes it like this:\n\n```\n<tool_call>\n{READ}\n</tool_call>\n```\n\nDo you see?", quoted=True),
    Shape("a tag in a sentence", "native", f"Hermes writes `<tool_call>{READ}</tool_call>` for a call.", quoted=True),
    Shape("a tag in a quotation", "native", f"It said:\n> <tool_call>{READ}</tool_call>\n\nThat was wrong.", quoted=True),
    Shape("Mistral in an example in a fence", "native", f"Mistral writes:\n```\n[TOOL_CALLS] [{READ}]\n```\nDone.", quoted=True),
    Shape("ReAct in an example in a fence", "native", f"ReAct writes:\n```\nThought: I look.\nAction: search\nAction Input: {OBJECT}\n```\nThen it waits.", quoted=True),
    Shape("ReAct in an example before prose", "native", f"ReAct goes like this:\nAction: search\nAction Input: {OBJECT}\nand so on.", quoted=True),
    Shape("ReAct in an example with an observation", "native", f"ReAct goes like this:\nAction: search\nAction Input: {OBJECT}\nObservation: found\nand so on.", quoted=True),
    Shape("Hermes in an example before prose", "native", f"Hermes goes like this:\n<tool_call>{READ}</tool_call>\nand so on.", quoted=True),
    Shape("Python in an example in a fence", "native", 'You write:\n```python\nsearch(query="Oslo")\n```\nDone.', quoted=True),
    Shape("a list of data", "native", '[{"name": "Ann", "arguments": {}}]', quoted=True),
]  # fmt: skip

# -- the json dialect --------------------------------------------------------------------------------------------------

JSON = [
    Shape("tool and args", "json", '{"tool": "search", "args": {"query": "Oslo"}}', (SEARCH,)),
    Shape("name and arguments", "json", READ, (SEARCH,)),
    Shape("action and action_input", "json", '{"action": "search", "action_input": {"query": "Oslo"}}', (SEARCH,)),
    Shape("action and action_input as text", "json", '{"action": "search", "action_input": "Oslo"}', (SEARCH,)),
    Shape("function and parameters", "json", '{"function": "search", "parameters": {"query": "Oslo"}}', (SEARCH,)),
    Shape("function as an object", "json", '{"function": {"name": "search", "arguments": {"query": "Oslo"}}}', (SEARCH,)),
    Shape("tool_input", "json", '{"tool": "search", "tool_input": {"query": "Oslo"}}', (SEARCH,)),
    Shape("tool_name and parameters", "json", '{"tool_name": "search", "parameters": {"query": "Oslo"}}', (SEARCH,)),
    Shape("function_name and function_args", "json", '{"function_name": "search", "function_args": {"query": "Oslo"}}', (SEARCH,)),
    Shape("toolName and toolArgs", "json", '{"type": "tool_call", "toolName": "search", "toolArgs": {"query": "Oslo"}}', (SEARCH,)),
    Shape("the type is the kind of call", "json", '{"type": "tool_use", "name": "search", "input": {"query": "Oslo"}}', (SEARCH,)),
    Shape("nested under tool_call", "json", '{"tool_call": {"name": "search", "arguments": {"query": "Oslo"}}}', (SEARCH,)),
    Shape("nested under action with a thought", "json", '{"thought": "t", "action": {"name": "search", "args": {"query": "Oslo"}}}', (SEARCH,)),
    Shape("tool_calls with one call", "json", '{"tool_calls": [{"name": "search", "arguments": {"query": "Oslo"}}]}', (SEARCH,)),
    Shape("a list with one call", "json", f"[{READ}]", (SEARCH,)),
    Shape("the arguments beside the name", "json", '{"type": "tool_call", "tool_name": "search", "query": "Oslo"}', (SEARCH,)),
    Shape("arguments as text", "json", '{"type": "tool_call", "tool_name": "search", "tool_args": "{\\"query\\": \\"Oslo\\"}"}', (SEARCH,)),
    Shape("a Python dict", "json", "{'type': 'tool_call', 'tool_name': 'note', 'tool_args': {'title': 'milk', 'done': True, 'owner': None}}", (NOTE,)),
    Shape("a trailing comma and a comment", "json", '{"type": "tool_call", // so\n"tool_name": "search", "tool_args": {"query": "Oslo",},}', (SEARCH,)),
    Shape("a fence and prose", "json", f"I look:\n```json\n{READ}\n```\nWait.", (SEARCH,)),
    Shape("cut off", "json", '{"type": "tool_call", "tool_name": "search", "tool_args": {"query": "Oslo"}', finish="length"),
    Shape("cut off and unsaid", "json", '{"type": "tool_call", "tool_name": "search", "tool_args": {"query": "Os'),
    Shape("whole inside a list that was cut off", "json", f'{{"steps": [{READ}, {{"name": "ad', finish="length"),
    Shape("no name", "json", '{"type": "tool_call", "tool_args": {"query": "Oslo"}}'),
    Shape("arguments as a list", "json", '{"type": "tool_call", "tool_name": "add", "tool_args": [1, 2]}'),
]  # fmt: skip

# -- the text dialect --------------------------------------------------------------------------------------------------

TEXT = [
    Shape("Action with the whole call as JSON", "text", f"Thought: t\nAction: {READ}", (SEARCH,)),
    Shape("Action with the call as JSON over lines", "text", 'Thought: t\nAction:\n```json\n{\n  "action": "search",\n  "action_input": {"query": "Oslo"}\n}\n```', (SEARCH,)),
    Shape("Action with the call as JSON, then Observation", "text", f"Thought: t\nAction: {READ}\nObservation: found\nFINAL_ANSWER: x", (SEARCH,)),
    Shape("Action with the call as JSON, cut off", "text", 'Thought: t\nAction: {"name": "search", "arguments": {"query": "Os', finish="length"),
    Shape("everything on one line", "text", f"Thought: t Action: search Action Input: {OBJECT}", (SEARCH,)),
    Shape("Action and Action Input on one line", "text", f"Thought: t\nAction: search Action Input: {OBJECT}", (SEARCH,)),
    Shape("Action and Action Input on one line with a comma", "text", f"Thought: t\nAction: search, Action Input: {OBJECT}", (SEARCH,)),
    Shape("everything on one line, in bold", "text", f"**Thought:** t **Action:** search **Action Input:** {OBJECT}", (SEARCH,)),
    Shape("everything on one line, cut off", "text", f"Thought: t Action: search Action Input: {CUT}", finish="length"),
    Shape("markers in bold", "text", f"**Thought:** t\n**Action:** search\n**Action Input:** {OBJECT}", (SEARCH,)),
    Shape("markers in bold with the colon outside", "text", f"**Thought**: t\n**Action**: `search`\n**Action Input**: `{OBJECT}`", (SEARCH,)),
    Shape("markers as headings", "text", f"### Thought: t\n### Action: search\n### Action Input: {OBJECT}", (SEARCH,)),
    Shape("markers as bullets", "text", f"- Thought: t\n- Action: search\n- Action Input: {OBJECT}", (SEARCH,)),
    Shape("numbered markers", "text", f"Thought 1: t\nAction 1: search\nAction Input 1: {OBJECT}", (SEARCH,)),
    Shape("markers in other letters", "text", f"THOUGHT: t\nACTION: search\nACTION_INPUT: {OBJECT}", (SEARCH,)),
    Shape("brackets as in the paper", "text", "Thought 1: t\nAction 1: Search[Oslo]", (SEARCH,)),
    Shape("a call as in Python", "text", 'Thought: t\nAction: search(query="Oslo")', (SEARCH,)),
    Shape("a call as in Python, with a position", "text", 'Thought: t\nAction: search("Oslo")', (SEARCH,)),
    Shape("a call as in Python, cut off", "text", 'Thought: t\nAction: search(query="Os', finish="length"),
    Shape("the object after the name", "text", f"Thought: t\nAction: search {OBJECT}", (SEARCH,)),
    Shape("Input instead of Action Input", "text", f"Thought: t\nAction: search\nInput: {OBJECT}", (SEARCH,)),
    Shape("Arguments instead of Action Input", "text", f"Thought: t\nAction: search\nArguments: {OBJECT}", (SEARCH,)),
    Shape("Tool and Tool Input", "text", f"Thought: t\nTool: search\nTool Input: {OBJECT}", (SEARCH,)),
    Shape("Action Input in a fence", "text", f"Thought: t\nAction: search\nAction Input:\n```json\n{OBJECT}\n```", (SEARCH,)),
    Shape("all in a fence", "text", f"```\nThought: t\nAction: search\nAction Input: {OBJECT}\n```", (SEARCH,)),
    Shape("Action Input as keywords", "text", 'Thought: t\nAction: search\nAction Input: query="Oslo"', (SEARCH,)),
    Shape("Action Input as a line of YAML", "text", "Thought: t\nAction: search\nAction Input: query: Oslo", (SEARCH,)),
    Shape("Action Input as lines of YAML", "text", "Thought: t\nAction: add\nAction Input:\na: 1\nb: 2", (ADD,)),
    Shape("Action Input as a bare text", "text", "Thought: t\nAction: search\nAction Input: Oslo", (SEARCH,)),
    Shape("Action Input with single quotes", "text", "Thought: t\nAction: search\nAction Input: {'query': 'Oslo'}", (SEARCH,)),
    Shape("Action Input with Python literals", "text", "Thought: t\nAction: note\nAction Input: {'title': 'milk', 'done': True, 'owner': None}", (NOTE,)),
    Shape("Action Input with a trailing comma and a comment", "text", 'Thought: t\nAction: search\nAction Input: {"query": "Oslo", // city\n}', (SEARCH,)),
    Shape("Action Input with keys without quotes", "text", "Thought: t\nAction: search\nAction Input: {query: 'Oslo'}", (SEARCH,)),
    Shape("Action Input encoded twice", "text", 'Thought: t\nAction: search\nAction Input: "{\\"query\\": \\"Oslo\\"}"', (SEARCH,)),
    Shape("Action Input with prose after it", "text", f"Thought: t\nAction: search\nAction Input: {OBJECT}\nI wait.", (SEARCH,)),
    Shape("Action Input without a value", "text", 'Thought: t\nAction: search\nAction Input: {"query": }'),
    Shape("Action Input as a keyword without a value", "text", "Thought: t\nAction: search\nAction Input: query="),
    Shape("Action Input cut off", "text", f"Thought: t\nAction: search\nAction Input: {CUT}", finish="length"),
    Shape("Action Input cut off and unsaid", "text", f"Thought: t\nAction: search\nAction Input: {CUT}"),
    Shape("Action Input with a bare text, cut off", "text", "Thought: t\nAction: search\nAction Input: Os", finish="length"),
    Shape("the name cut off", "text", "Thought: t\nAction: sea", finish="length"),
    Shape("Action Input with two values for a tool of two", "text", "Thought: t\nAction: add\nAction Input: 1, 2"),
    Shape("Hermes in the text dialect", "text", f"Thought: t\n<tool_call>{READ}</tool_call>", (SEARCH,)),
    Shape("a tag for the function in the text dialect", "text", f"Thought: t\n<function=search>{OBJECT}</function>", (SEARCH,)),
    Shape("Mistral in the text dialect", "text", f"Thought: t\n[TOOL_CALLS] [{READ}]", (SEARCH,)),
    Shape("a special token after the input", "text", f"Thought: t\nAction: search\nAction Input: {OBJECT}<|im_end|>", (SEARCH,)),
    Shape("a full-width colon", "text", f"Thought： t\nAction： search\nAction Input： {OBJECT}", (SEARCH,)),
    Shape("a final answer beside an action", "text", f"Action: search\nAction Input: {OBJECT}\nFINAL_ANSWER: done", quoted=True),
    Shape("an example in the final answer", "text", f"FINAL_ANSWER: write <tool_call>{READ}</tool_call>", quoted=True),
    Shape("a name without an input", "text", "Thought: t\nAction: search"),
]  # fmt: skip

SHAPES: tuple[Shape, ...] = (*ARGUMENTS, *FRAMES, *WRITTEN, *JSON, *TEXT)
