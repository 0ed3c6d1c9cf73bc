import time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AllowInfNan, BaseModel, field_validator

from agentkit.core.messages import Call
from agentkit.errors import ArgumentsError
from agentkit.tools.tool import Tool, tool


@tool
def f(
    n: int,
    x: float = 1.0,
    flag: bool = False,
    unit: Literal["a", "b"] = "a",
    tags: list[str] | None = None,
    q: str = "",
):
    return n


def bind(made: Tool, **arguments: Any) -> Any:
    return made.bind(Call("f", arguments))


def refusal(made: Tool, **arguments: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        bind(made, **arguments)
    return str(caught.value)


def test_correct_arguments_pass_unchanged_and_without_notes():
    assert bind(f, n=8, x=2, tags=["a"], q="é") == ({"n": 8, "x": 2.0, "tags": ["a"], "q": "é"}, ())


@pytest.mark.parametrize(
    ("arguments", "used", "note"),
    [
        ({"n": "8"}, {"n": 8}, "n: '8' was read as 8"),
        ({"n": 8.0}, {"n": 8}, None),
        ({"n": 1, "flag": "yes"}, {"n": 1, "flag": True}, "flag: 'yes' was read as true"),
        ({"n": True}, {"n": 1}, "n: true was read as 1"),
        ({"n": 1, "q": 8001}, {"n": 1, "q": "8001"}, "q: 8001 was read as '8001'"),
        ({"n": 1, "x": "2.5"}, {"n": 1, "x": 2.5}, "x: '2.5' was read as 2.5"),
        ({"n": 1, "tags": '["a", "b"]'}, {"n": 1, "tags": ["a", "b"]}, "tags: the text was read as JSON"),
        ({"n": 1, "tags": [1]}, {"n": 1, "tags": ["1"]}, "tags[0]: 1 was read as '1'"),
        ({"n": 1, "x": None}, {"n": 1}, "x: null was left out"),
    ],
)
def test_arguments_that_are_nearly_right_are_corrected_with_a_note(arguments, used, note):
    assert bind(f, **arguments) == (used, (note,) if note else ())


def test_each_wrong_field_is_named_with_what_is_expected():
    text = refusal(f, x="much", unit="c", nn=3)
    assert "- n: is missing" in text
    assert "- x: should be a valid number" in text and "'much'" in text
    assert "- unit: should be 'a' or 'b'" in text
    assert "- nn: is not an argument of this tool; did you mean 'n'?" in text
    assert "n (integer), x (number, optional)" in text


def test_a_problem_of_the_call_is_passed_on_as_it_is():
    with pytest.raises(ArgumentsError, match="cut in the middle"):
        f.bind(Call("f", {"n": 1}, problem="the arguments were cut in the middle"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan", "-Infinity"])
def test_numbers_that_are_not_finite_are_refused(value):
    assert "x" in refusal(f, n=1, x=value)


def test_a_parameter_may_allow_infinity():
    @tool
    def g(x: Annotated[float, AllowInfNan()]):
        return x

    assert bind(g, x=float("inf")) == ({"x": float("inf")}, ())


def test_a_nested_nan_is_refused_with_its_path():
    @tool
    def g(data: dict):
        return data

    assert "data.rows[1] is nan" in refusal(g, data={"rows": [1, float("nan")]})


def test_a_tool_cannot_change_the_recorded_call():
    @tool
    def g(data):
        data["rows"].append(2)

    call = Call("g", {"data": {"rows": [1]}})
    g(**g.bind(call)[0])
    assert call.arguments == {"data": {"rows": [1]}}


def test_a_validator_that_raises_any_error_is_a_refusal():
    class Picky(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def odd(cls, n: int) -> int:
            if n < 0:
                raise RuntimeError("no connection")
            if n % 2 == 0:
                raise ValueError("must be odd")
            return n

    @tool
    def g(picky: Picky):
        return picky

    assert "must be odd" in refusal(g, n=2)
    assert "RuntimeError: no connection" in refusal(g, n=-1)
    assert "did you mean 'n'" in refusal(g, n=3, nn=1)


def test_the_text_of_a_refusal_is_bounded():
    @tool
    def g(xs: list[int]):
        return xs

    start = time.process_time()
    text = refusal(g, xs=["no" * 50] * 100_000, **{f"extra{i}": "x" * 1000 for i in range(100)})
    assert len(text) <= 2_000 and "more" in text
    assert time.process_time() - start < 20


def test_arguments_that_are_nested_too_deeply_are_refused():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    @tool
    def g(data: list):
        return data

    assert "nested too deeply" in refusal(g, data=deep)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["n", "x", "flag", "unit", "tags", "q", "z"]), json_values))
def test_any_arguments_are_either_bound_or_refused_with_a_reason(arguments):
    before = repr(arguments)
    try:
        bound, notes = f.bind(Call("f", arguments))
    except ArgumentsError as error:
        assert 0 < len(str(error)) <= 2_000
    else:
        assert isinstance(bound["n"], int) and f(**bound) == bound["n"]
        assert notes or bound == arguments
    assert repr(arguments) == before
