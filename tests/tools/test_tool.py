from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentkit.core.messages import Call
from agentkit.errors import UsageError
from agentkit.journal.reader import RecordedTool
from agentkit.tools.tool import Tool, tool


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Query(BaseModel):
    text: str = Field(description="what to look for")
    limit: int = 5


@dataclass
class Point:
    x: float
    y: float = 0.0


@tool
def weather(city: str, days: int = 3, unit: Literal["C", "F"] = "C", tags: list[str] | None = None) -> dict[str, float]:
    """Return the weather.

    It is a forecast.

    Args:
        city: where
        days (int): how many days,
            from today
    """
    return {city: days}


def test_schema_has_the_types_defaults_and_descriptions_of_the_function():
    schema = weather.schema
    assert list(schema) == ["name", "description", "argument_schema", "output_schema"]
    assert (schema["name"], schema["description"]) == ("weather", "Return the weather.\n\nIt is a forecast.")
    fields = schema["argument_schema"]["properties"]
    assert fields["city"] == {"type": "string", "description": "where"}
    assert fields["days"] == {"type": "integer", "default": 3, "description": "how many days, from today"}
    assert fields["unit"]["enum"] == ["C", "F"]
    assert {"type": "null"} in fields["tags"]["anyOf"]
    assert schema["argument_schema"]["required"] == ["city"]
    assert schema["output_schema"] == {"type": "object", "additionalProperties": {"type": "number"}}


def test_the_native_schema_is_that_of_tool_calling_apis():
    assert weather.native == {
        "type": "function",
        "function": {"name": "weather", "description": weather.description, "parameters": weather.parameters},
    }


def test_a_name_that_an_api_would_refuse_is_written_with_underscores():
    assert tool(name="skill.discover it")(lambda: 1).native["function"]["name"] == "skill_discover_it"


def test_a_tool_is_called_like_its_function():
    assert weather("Bern") == {"Bern": 3}
    assert weather("Bern", days=2) == {"Bern": 2}


def test_an_argument_may_be_called_self():
    assert tool(name="f")(lambda a, self: (a, self))(a=1, self=2) == (1, 2)


def test_options_are_kept_and_by_default_the_effect_is_undeclared():
    @tool(name="send", description="Send it.", effect="pure", timeout=None, ends_turn=True)
    async def anything(x): ...

    assert (anything.name, anything.description, anything.effect) == ("send", "Send it.", "pure")
    assert (anything.timeout, anything.ends_turn, anything.is_async) == (None, True, True)
    assert (weather.effect, weather.timeout, weather.ends_turn, weather.is_async) == (
        "undeclared",
        120.0,
        False,
        False,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"effect": "harmless"},
        {"timeout": 0},
        {"timeout": "9"},
        {"timeout": True},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"name": " "},
        {"name": 3},
        {"description": 3},
    ],
)
def test_an_invalid_option_is_refused(options):
    with pytest.raises(UsageError):
        tool(**options)(len)


def test_star_args_are_refused_when_the_tool_is_made():
    with pytest.raises(UsageError, match=r"\*args"):

        @tool
        def many(*args): ...


def test_a_lambda_without_a_name_is_refused():
    with pytest.raises(UsageError, match="name="):
        tool(lambda x: x)


def test_keyword_args_let_any_argument_through():
    @tool
    def log(level: str, **details: Any):
        return details

    arguments, _ = log.bind(Call("log", {"level": "info", "user": "x"}))
    assert log(**arguments) == {"user": "x"}


def test_positional_only_parameters_can_be_passed_by_name():
    atan2 = tool(math.atan2)
    arguments, _ = atan2.bind(Call("atan2", {"x": 1, "y": 0}))
    assert atan2.function(**arguments) == 0.0

    @tool
    def after(a=1, b=2, /):
        return a, b

    assert after.function(b=5) == (1, 5)


def test_an_untyped_parameter_takes_anything():
    @tool
    def echo(value):
        return value

    assert echo.parameters["properties"] == {"value": {}}
    assert echo.bind(Call("echo", {"value": [1, {"a": None}]})) == ({"value": [1, {"a": None}]}, ())


def test_annotated_field_and_plain_text_describe_a_parameter():
    @tool
    def f(
        a: Annotated[int, Field(ge=1, description="from field")],
        b: Annotated[str, "from text"],
        c: int = Field(7, le=9),
    ):
        return c

    fields = f.parameters["properties"]
    assert fields["a"] == {"type": "integer", "minimum": 1, "description": "from field"}
    assert fields["b"] == {"type": "string", "description": "from text"}
    assert fields["c"] == {"type": "integer", "default": 7, "maximum": 9}
    assert f(**f.bind(Call("f", {"a": 1, "b": "x"}))[0]) == 7


def test_the_function_receives_models_dataclasses_and_enums():
    @tool
    def f(query: Query, point: Point, color: Color) -> Query:
        return query

    data = {"query": {"text": "x"}, "point": {"x": 1.5}, "color": "blue"}
    arguments, notes = f.bind(Call("f", data))
    assert arguments == {"query": Query(text="x"), "point": Point(1.5), "color": Color.BLUE}
    assert notes == ()
    assert f.returns["properties"]["text"]["type"] == "string"


@pytest.mark.parametrize("given", [{"text": "x", "limit": 2}, {"query": {"text": "x", "limit": 2}}])
def test_a_single_model_parameter_takes_its_fields_as_the_arguments(given):
    @tool
    def search(query: Query) -> str:
        return f"{query.text}{query.limit}"

    assert set(search.parameters["properties"]) == {"text", "limit"}
    assert search(**search.bind(Call("search", given))[0]) == "x2"


def test_types_that_are_local_to_the_enclosing_function_are_found():
    class Local(BaseModel):
        n: int

    @tool
    def f(a: Local, b: int) -> Local:
        return a

    assert f.bind(Call("f", {"a": {"n": 1}, "b": 2}))[0]["a"] == Local(n=1)


def test_a_type_that_a_model_cannot_fill_in_is_refused_with_the_name_of_the_tool():
    class Opaque: ...

    @tool
    def f(a: Opaque, b: int): ...

    with pytest.raises(UsageError, match="'f'"):
        f.schema  # noqa: B018


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda query: 0, "query"),
        (weather.function, "city"),
        (lambda q="", n=0: 0, None),
    ],
)
def test_the_sole_text_is_the_argument_that_a_bare_text_goes_to(function, expected):
    assert tool(name="f")(function).sole_text == expected


def test_the_sole_text_is_none_unless_there_is_exactly_one_text():
    def two(a: str, b: str): ...
    def number(a: int): ...
    def none(): ...
    def optional(n: int = 1, q: str | None = None): ...

    assert [tool(f).sole_text for f in (two, number, none, optional)] == [None, None, None, "q"]


def test_the_digest_depends_on_the_schema():
    def f(a: int): ...

    def g(a: str): ...

    assert tool(f).digest == tool(f).digest
    assert tool(f).digest != tool(name="f")(g).digest


def test_a_recorded_tool_has_the_attributes_of_the_tool_itself():
    recorded = RecordedTool(weather.name, weather.digest, weather.description, weather.parameters, weather.returns)
    for name in ("name", "description", "parameters", "returns", "schema", "native", "digest", "effect"):
        assert getattr(recorded, name) == getattr(weather, name), name


def test_the_repr_shows_the_arguments_and_the_effect():
    assert repr(weather) == (
        "<Tool weather: city (string), days (integer, optional), unit (one of 'C', 'F', optional), "
        "tags (array or null, optional), undeclared>"
    )


def test_a_tool_with_a_json_schema_needs_no_signature():
    made = Tool(
        "f",
        "d",
        {"type": "object", "properties": {"n": {"type": "integer"}}},
        lambda **arguments: arguments,
        effect="pure",
    )
    assert made.bind(Call("f", {"n": "3"})) == ({"n": 3}, ("n: '3' was read as 3",))
    assert made.function(n=3) == {"n": 3}


def test_making_a_tool_does_not_load_pydantic():
    code = """
import sys
from agentkit.tools.tool import tool

@tool
def f(a: int = 1):
    "F"

assert f() is None
assert "pydantic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
