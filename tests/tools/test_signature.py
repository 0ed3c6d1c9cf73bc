"""Annotations as texts, which are resolved when the tool is made or, if need be, later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from agentkit.core.messages import Call
from agentkit.errors import UsageError
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTheTypeChecker


def test_types_that_are_local_to_the_enclosing_functions_are_found():
    class Local(BaseModel):
        n: int

    def inner():
        @tool
        def f(a: Local, b: int) -> Local:
            return a

        return f

    f = inner()
    assert f.bind(Call("f", {"a": {"n": 1}, "b": 2}))[0]["a"] == Local(n=1)


def test_types_that_are_local_to_the_function_around_a_toolbox_are_found():
    class Local(BaseModel):
        n: int

    class Box(ToolBox):
        @tool
        def f(self, a: Local, b: Later): ...

    class Later(BaseModel):
        m: int

    bound = Box().get_tool("f").bind(Call("f", {"a": {"n": 1}, "b": {"m": 2}}))[0]
    assert bound == {"a": Local(n=1), "b": Later(m=2)}


def test_a_name_of_a_function_that_only_calls_is_not_taken_for_a_type():
    def make():
        @tool
        def f(a: Item, b: int): ...

        return f

    Item = int
    f = make()
    assert f.parameters["properties"]["a"] == {"type": "integer"}

    def elsewhere(Other):
        return made_at_module_level.parameters

    with pytest.raises(UsageError, match="Other"):
        elsewhere(int)


@tool
def made_at_module_level(a: Other): ...  # noqa: F821


def test_a_return_type_that_is_not_defined_at_run_time_does_not_matter():
    @tool
    def f(n: int) -> OnlyForTheTypeChecker: ...

    assert f.parameters["properties"] == {"n": {"type": "integer"}}
    assert f.returns == {}
    assert f.bind(Call("f", {"n": 1})) == ({"n": 1}, ())


@pytest.mark.parametrize("annotation", ["OnlyForTheTypeChecker", "how many", "math.nothing", "1 / 0", "]["])
def test_an_annotation_that_cannot_be_resolved_is_named_when_it_is_needed(annotation):
    def f(n, other: int = 0): ...

    f.__annotations__["n"] = annotation
    made = tool(f)
    assert made(1) is None
    with pytest.raises(UsageError, match="parameter 'n' of tool 'f'"):
        made.schema  # noqa: B018
