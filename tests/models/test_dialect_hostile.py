"""Whatever a model writes, no dialect raises, invents arguments, or takes long to read it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.core.messages import Chat, Reply, canonical, message_to_json
from agentkit.models import dialects
from agentkit.models.dialects import thinking_tags
from agentkit.tools import loose_json
from agentkit.tools.tool import Tool, tool

pytestmark = pytest.mark.slow


@tool
def search(query: str) -> str:
    """Find pages."""
    return query


TOOLS: tuple[Tool, ...] = (search,)
NAMES = tuple(dialects.DIALECTS)
PIECES = [
    *("Thought:", "Action: search", "Action:", "Action Input:", "Observation:", "FINAL_ANSWER:", "Final Answer:"),
    *(
        "\n",
        " ",
        "**",
        "`",
        "```",
        "```json\n",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ",",
        ":",
        "\\",
        "/*",
        "*/",
        "//",
        "#",
        "\r\n",
        "\x00",
    ),
    *(
        "<think>",
        "</think>",
        "<thinking>",
        "<tool_call>",
        "</tool_call>",
        "[TOOL_CALL: search](",
        ")",
        '{"query": "x"}',
        "\ud800",
    ),
    *(
        '{"type": "tool_call", "tool_name": "search", "tool_args": ',
        '{"name": "search", "arguments": ',
        "None",
        "1e999",
        "9" * 5000,
    ),
]
WRITTEN = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@pytest.mark.parametrize("name", NAMES)
@given(text=WRITTEN, finish=st.sampled_from(["", "stop", "length"]), offered=st.booleans())
@settings(max_examples=300)
def test_any_text_can_be_read_rendered_and_stored(name: str, text: str, finish: str, offered: bool) -> None:
    dialect = dialects.get(name)
    reply = dialect.read(Reply(text, finish=finish), TOOLS if offered else ())
    assert reply == dialect.read(Reply(text, finish=finish), TOOLS if offered else ())
    assert (reply.answer is None) is bool(reply.calls)
    assert all(call.id and call.name and (not call.problem or call.arguments == {}) for call in reply.calls)
    if offered and not reply.reasoning and "think" not in text:
        assert reply.raw + reply.cut == text
    for other in NAMES:
        assert list(dialects.get(other).render(Chat.of("q") + reply, TOOLS))
    assert canonical([message_to_json(message) for message in reply.messages])


@given(text=WRITTEN)
@settings(max_examples=300)
def test_no_thought_is_lost_or_shown_as_text(text: str) -> None:
    said, thought = thinking_tags.split(text)
    assert len(said) + len(thought) <= len(text)
    assert thought or said == text or "think" in text.lower()


@given(text=WRITTEN)
@settings(max_examples=300)
def test_a_found_object_is_a_part_of_the_text(text: str) -> None:
    for start, parsed in loose_json.objects(text):
        assert isinstance(parsed.value, dict) and text[start] == "{" and start < parsed.end <= len(text)


MARKERS = [
    *(
        "Action:\n",
        "Thought:\n",
        "FINAL_ANSWER:\n",
        "FINAL_ANSWER:\nObservation 1:\n",
        "Action: search\nAction Input: {\n",
    ),
    *(
        'Action: search\nAction Input: {"query": "\n',
        'Action Input: {"a":[\n',
        "{",
        '{"',
        '{"a":',
        '{"a":1}',
        "{'a':1}",
        "[",
        "}",
    ),
    *(
        "`",
        "```\n",
        "```json\n{\n",
        '```json\n{"name":"search","arguments":{\n',
        "<think>",
        "</think>",
        "<think>\n<thinking>",
    ),
    *(
        "<tool_call>{\n",
        '\n<tool_call>{"name":"search","arguments":{"a":"',
        "\n[TOOL_CALL: a]({'a':'",
        "[TOOL_CALL: ",
        "\n```\nAction: search\nAction Input: a\n",
        "\n<function=search>\n<parameter=a>",
        "Action: search Action Input: ",
        "[search(a=",
        "[TOOL_CALLS][{",
        "<|x|>",
        " ",
        "\n",
        "\t",
    ),
    *("*", "> ", '"', "'", "\\", '\\"', "/*", "//", "Action: " + "*" * 40),
]
OPENINGS = ["", "Action: search\nAction Input: {'", '<tool_call>{"a":"']


@pytest.mark.timeout(60)  # all cases together take a few seconds; a single quadratic one takes minutes
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("marker", MARKERS)
def test_a_megabyte_of_markers_is_read_in_linear_time(name: str, marker: str) -> None:
    for opening in OPENINGS:
        text = opening + marker * (1_000_000 // len(marker))
        reply = dialects.get(name).read(Reply(text), TOOLS)
        assert all(call.problem or call.arguments.keys() <= {"query", "a"} for call in reply.calls)
