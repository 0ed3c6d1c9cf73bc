"""Any annotation makes a tool that works or is refused with a reason."""

import collections
import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, Protocol, TypeVar, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypedDict

from agentkit.core.messages import Call
from agentkit.errors import ArgumentsError, UsageError
from agentkit.tools.tool import tool

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    OBJECT = object()


class Size(enum.IntEnum):
    S = 1


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Aliased(BaseModel):
    from_: str = Field(alias="from")

    @property
    def total(self) -> int:
        raise RuntimeError("not now")


class Numbers(RootModel[list[int]]): ...


class Named(RootModel[dict[str, int]]): ...


class Box(BaseModel, Generic[T]):
    item: T


@dataclasses.dataclass
class Tree:
    left: Optional["Tree"] = None
    n: int = 0


class Movie(TypedDict, total=False):
    title: str


class Pair(NamedTuple):
    a: int
    b: str = ""


class Shape(Protocol):
    side: int


class Meta(type):
    def __repr__(cls):
        raise RuntimeError("no repr")


class Hostile(metaclass=Meta):
    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        raise RuntimeError("no schema")


class Opaque: ...


SIMPLE = [
    *(int, str, float, bool, None, Any, object, bytes, complex, list, dict, set, tuple, frozenset, type, Callable),
    *(datetime.date, datetime.datetime, datetime.timedelta, decimal.Decimal, uuid.UUID, pathlib.Path, re.Pattern),
    *(Color, Size, Node, Aliased, Numbers, Named, Box, Box[int], Tree, Movie, Pair, Shape, Hostile, Opaque, T),
    *(Literal["a", 1, None], Literal[Color.RED], NewType("UserId", int), collections.deque, Iterable, AsyncIterator),
    *("Node", "Unknown", "list[Node]", "][", 5, "how many", Ellipsis, int | str, Annotated[int, "a number"]),
    *(Annotated[int, Field(ge=3, description="x")], Annotated[float, "]["], Mapping, Sequence, collections.Counter),
]
annotations = st.recursive(
    st.integers(0, len(SIMPLE) - 1).map(lambda n: SIMPLE[n]),
    lambda a: st.one_of(
        a.map(lambda x: _try(lambda: list[x])),
        a.map(lambda x: _try(lambda: dict[str, x])),
        a.map(lambda x: _try(lambda: Optional[x])),  # noqa: UP045
        a.map(lambda x: _try(lambda: tuple[x, ...])),
        a.map(lambda x: _try(lambda: Annotated[x, "words"])),
        st.tuples(a, a).map(lambda pair: _try(lambda: Union[pair])),  # noqa: UP007
        st.tuples(a, a).map(lambda pair: _try(lambda: Mapping[pair])),
    ),
    max_leaves=4,
)
DEFAULTS = [
    ...,
    None,
    0,
    "x",
    [],
    {},
    object(),
    float("nan"),
    Color.OBJECT,
    10**5000,
    Field(3),
    Field(),
    Opaque,
    Hostile,
]
defaults = st.integers(0, len(DEFAULTS) - 1).map(lambda n: DEFAULTS[n])
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just(5000).map(lambda digits: 10**digits),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "name", "from"]), v, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["a", "b", "name", "schema", "json", "copy", "model_config", "__x", "class_", "self", "é"])


def _try(make):
    """Return an annotation, or one that is never used, if Python itself refuses it."""
    try:
        return make()
    except Exception:
        return int


@settings(max_examples=600, deadline=None)
@given(
    st.dictionaries(names, st.tuples(annotations, defaults), max_size=3),
    annotations,
    st.dictionaries(names | st.text(max_size=3), json_values, max_size=3),
)
def test_any_signature_makes_a_tool_that_binds_or_refuses(parameters, returns, arguments):
    def f(**arguments): ...

    f.__signature__ = inspect.Signature(
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if d is ... else d)
        for name, (_, d) in parameters.items()
    )
    f.__annotations__ = {name: hint for name, (hint, _) in parameters.items()} | {"return": returns}
    made = tool(f)
    try:
        assert json.dumps([made.schema, made.native], allow_nan=False) and repr(made) and made.digest
    except UsageError as error:
        assert "'f'" in str(error)
        return
    assert made.parameters["type"] == "object" and isinstance(made.parameters["properties"], dict)
    try:
        bound, _ = made.bind(Call("f", arguments))
    except ArgumentsError as error:
        assert 0 < len(str(error)) <= 2_000
    else:
        made(**bound)


def test_a_model_that_refers_to_itself_has_its_fields_on_top():
    @tool
    def f(node: Node): ...

    assert f.parameters["type"] == "object" and list(f.parameters["properties"]) == ["name", "children"]
    child = {"name": "b", "children": []}
    assert f.bind(Call("f", {"name": "a", "children": [child]}))[0]["node"].children == [Node(name="b")]


@pytest.mark.parametrize(("model", "value"), [(Numbers, [1, 2]), (Named, {"a": 1})])
def test_a_model_that_is_not_an_object_with_fields_is_one_argument(model, value):
    @tool
    def f(items: model): ...

    assert list(f.parameters["properties"]) == ["items"]
    assert f.bind(Call("f", {"items": value}))[0]["items"] == model(value)


def test_an_alias_is_the_name_of_the_argument():
    @tool
    def f(a: Aliased, n: int): ...

    assert f.bind(Call("f", {"a": {"from": "x"}, "n": "1"})) == (
        {"a": Aliased(**{"from": "x"}), "n": 1},
        ("n: '1' was read as 1",),
    )


def test_a_property_that_raises_does_not_disturb_the_notes():
    class Total(BaseModel, extra="allow"):
        n: int

        def __getattr__(self, name):
            raise RuntimeError(name)

    @tool
    def f(a: Total): ...

    assert f.bind(Call("f", {"n": "1", "extra": {"x": 1}}))[1] == ("n: '1' was read as 1",)


def test_an_error_whose_text_raises_is_a_refusal():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    class Picky(str):
        @classmethod
        def __get_pydantic_core_schema__(cls, source, handler):
            from pydantic_core import core_schema

            def check(value):
                raise Mute

            return core_schema.no_info_plain_validator_function(
                check, json_schema_input_schema=core_schema.str_schema(), serialization=None
            )

    @tool
    def f(a: Picky): ...

    with pytest.raises(ArgumentsError, match="refused: Mute"):
        f.bind(Call("f", {"a": "x"}))
