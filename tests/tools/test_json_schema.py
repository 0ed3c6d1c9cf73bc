"""Tools that bring a JSON schema of their own, which may be malformed or hostile."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.core.messages import Call
from agentkit.errors import ArgumentsError
from agentkit.tools.json_schema import describe_parameters
from agentkit.tools.tool import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "x": {"type": "number"},
        "kind": {"enum": ["a", "b"]},
        "tree": {"$ref": "#/$defs/Tree"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "more": {"type": "object", "properties": {"k": {"type": "boolean"}}, "required": ["k"]},
    },
    "required": ["n"],
    "additionalProperties": False,
    "$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
}


def tool_of(schema: dict[str, Any]) -> Tool:
    return Tool("f", "", schema, lambda **arguments: arguments)


def bind(made: Tool, **arguments: Any) -> Any:
    return made.bind(Call("f", arguments))


def test_arguments_are_validated_and_corrected_by_a_json_schema_too():
    made = tool_of(SCHEMA)
    right = {"n": 2, "x": 3, "kind": "a", "tree": [[], [[]]], "either": None, "more": {"k": True, "other": 1}}
    assert bind(made, **right) == (right, ())
    assert isinstance(bind(made, n=1, x=3)[0]["x"], int)
    assert bind(made, n="2")[1] == ("n: '2' was read as 2",)
    with pytest.raises(ArgumentsError) as caught:
        bind(made, x=[], kind="c", tree=[3], more={}, extra=1)
    for fault in ("n: is missing", "x: ", "kind: ", "tree[0]: ", "more.k: is missing", "extra: is not"):
        assert f"- {fault}" in str(caught.value)


def test_the_parameters_are_described_in_one_line():
    assert describe_parameters(SCHEMA) == (
        "n (integer), x (number, optional), kind (one of 'a', 'b', optional), tree (object, optional), "
        "either (string or null, optional), more (object, optional)"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "array"},
        {"properties": []},
        {"properties": {"a": {"type": "array", "maxItems": "x"}}},
        {"properties": {"a": {"type": "nonsense"}}},
        {"properties": {"a": {"enum": [[1]]}}},
        {"properties": {"a": {"enum": 5}}},
        {"properties": {"a": {"anyOf": 5}}},
        {"properties": {"a": {"$ref": "#/$defs/None"}}},
        {"properties": {"a": {"type": "array", "items": 3}}, "required": None},
        {"properties": {"a": {"type": "array"}, "c": {"type": "number", "minimum": 10**400}}},
    ],
)
def test_a_schema_that_cannot_be_read_accepts_any_arguments(schema):
    assert bind(tool_of(schema), a=[1], b="x")[0] == {"a": [1], "b": "x"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=4), v, max_size=4),
    max_leaves=8,
)
KEYWORDS = [
    *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs"),
    *("definitions", "additionalProperties", "minimum", "maxLength", "minItems", "default", "description"),
]
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
schemas = st.recursive(
    json_values
    | st.sampled_from([{"type": name} for name in TYPES])
    | st.sampled_from([{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, {"type": TYPES}, {"type": "array", "items": {}}]),
    lambda v: (
        st.dictionaries(st.sampled_from(KEYWORDS), v | st.lists(v, max_size=3), max_size=5)
        | st.dictionaries(st.sampled_from("ab"), v, max_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("object") | schemas,
            "properties": st.dictionaries(st.sampled_from("abc"), schemas, max_size=3) | schemas,
            "required": st.lists(st.sampled_from("abc") | json_values, max_size=2) | schemas,
            "$defs": st.dictionaries(st.sampled_from("ab"), schemas, max_size=2) | schemas,
            "additionalProperties": schemas,
            "anyOf": schemas,
        },
    ),
    st.dictionaries(st.sampled_from("abc"), json_values, max_size=3),
)
def test_any_schema_makes_a_tool_that_can_be_described_and_binds_or_refuses(schema, arguments):
    made = tool_of(schema)
    assert repr(made) and json.dumps([made.schema, made.native, made.digest])
    assert made.sole_text is None or isinstance(made.sole_text, str)
    try:
        bind(made, **arguments)
    except ArgumentsError as error:
        assert 0 < len(str(error)) <= 2_000


def test_a_schema_that_is_nested_deeply_does_not_end_the_process():
    code = """
import sys
from agentkit.core.messages import Call
from agentkit.tools.tool import Tool

sys.setrecursionlimit(50_000)
field = {}
for _ in range(8_000):
    field = {"type": "array", "items": field}
made = Tool("f", "", {"properties": {"a": field}}, print)
assert made.bind(Call("f", {"a": [[[]]]}))[0] == {"a": [[[]]]}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
