"""The toolboxes that come with agentkit: arithmetic, units, the clock, and a table of facts."""

from __future__ import annotations

import datetime as dt
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import Agent, Call, Reply, ToolBox
from agentkit.errors import ToolError, Unknown
from agentkit.models import Scripted
from agentkit.tools import builtin
from agentkit.tools.builtin import clock, facts, units
from agentkit.tools.builtin import math as arithmetic

calculate, convert, lookup = arithmetic.calculate, units.convert, facts.lookup


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2**64", 18446744073709551616),
        ("7/2", 3.5),
        ("6/2", 3),
        ("-7 // 2", -4),
        ("-2 ** 2", -4),
        ("17 % 5", 2),
        ("sqrt(16)", 4),
        ("sqrt(10**60)", 10**30),
        ("sqrt(2)", 2**0.5),
        ("2 ** -2", 0.25),
        ("round(2.567, 2)", 2.57),
        ("max(1, 2, 3) - min(4)", -1),
        ("floor(2.5) + ceil(2.5)", 5),
        ("gcd(12, 18) + lcm(4, 6)", 18),
        ("factorial(20)", 2432902008176640000),
        ("log(e) + log10(100) + log2(8)", 6.0),
        ("cos(pi)", -1.0),
        ("+".join(map(str, range(200))), 19900),
        ("10 - 3 - 2 * 2 ** 3 ** 0", 3),
    ],
)
def test_arithmetic_is_right_and_integers_stay_integers(expression: str, value: Any) -> None:
    result = calculate(expression)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("9**9**9", "too large"),
        ("9**9**9 % 7", "too large"),
        ("factorial(10**9)", "factorial takes"),
        ("factorial(1000) ** 9", "too large"),
        ("lcm(0.5)", "lcm takes integers"),
        ("lcm(10**4000, 10**4000 - 1)", "too large"),
        ("9" * 990 + "*1.0", "too large"),
        ("1e308 * 10", "finite"),
        ("exp(1000)", "too large"),
        ("1+" * 5_000_000 + "1", "longer than"),
        ("(" * 400 + "1" + ")" * 400, "is not an arithmetic"),
        ("-" * 900 + "1", "nested"),
        ("1/0", "division by zero"),
        ("(-8) ** 0.5", "not a real number"),
        ("log(0)", "cannot be calculated"),
        ("2 ^ 3", "write **"),
        ("x + 1", "'x' is not a number"),
        ("__import__('os').system('id')", "only numbers"),
        ("(1).__class__", "only numbers"),
        ("[1][0]", "only numbers"),
        ("'a' * 9", "only numbers"),
        ("True + 1", "only numbers"),
        ("lambda: 1", "only numbers"),
        ("max(*[1, 2])", "only numbers"),
        ("round(1.5, ndigits=1)", "only numbers"),
        ("sqrt()", "needs a number"),
        ("round(1, 2, 3)", "cannot be calculated"),
        ("", "is not an arithmetic"),
        ("1 +", "is not an arithmetic"),
        ("\0", "is not an arithmetic"),
    ],
    ids=lambda text: text[:30],
)
def test_anything_but_bounded_arithmetic_is_refused_at_once(expression: str, error: str) -> None:
    with pytest.raises(ToolError, match=error.replace("*", r"\*")):
        calculate(expression)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (1, "km", "m", 1000),
        (5, "miles", "kilometers", 8.04672),
        (0.1, "metre", "mm", 100),
        (100, "fahrenheit", "°C", 37.77777777777778),
        (-40, "C", "F", -40),
        (0, "celsius", "kelvin", 273.15),
        (1, "MiB", "kB", 1048.576),
        (36, "km/h", "m/s", 10),
        (2, "square feet", "ft²", 2),
        (1, "US gallon", "ml", 3785.411784),
    ],
)
def test_units_are_converted_exactly(value: float, source: str, target: str, result: float) -> None:
    assert convert(value, source, target) == result


@pytest.mark.parametrize(
    ("value", "source", "target", "error"),
    [
        (1, "gallon", "l", "US gallon or imperial"),
        (1, "mb", "kB", "ambiguous"),
        (1, "year", "days", "ambiguous"),
        (1, "kg", "m", "mass.*length"),
        (1, "parsnips", "m", "unknown unit"),
        (-1, "K", "C", "absolute zero"),
        (float("nan"), "km", "m", "cannot be converted"),
        (float("inf"), "km", "m", "cannot be converted"),
    ],
)
def test_a_conversion_without_one_meaning_is_refused(value: float, source: str, target: str, error: str) -> None:
    with pytest.raises(ToolError, match=error):
        convert(value, source, target)


def test_every_unit_converts_there_and_back() -> None:
    for unit in set(units.UNITS.values()):
        first = next(other for other in units.UNITS.values() if other.dimension == unit.dimension)
        there = convert(500, unit.names[0], first.names[0])
        assert convert(there, first.names[0], unit.names[-1]) == pytest.approx(500)


def test_dates_are_counted_and_have_weekdays() -> None:
    assert clock.days_between("2024-02-28", "2024-03-01") == 2
    assert clock.days_between("2024-03-01", "2024-02-28") == -2
    assert clock.add_days("2023-12-31", 1) == "2024-01-01"
    assert clock.weekday("2000-01-01") == "Saturday"


def test_a_date_that_does_not_exist_is_refused() -> None:
    for call in (
        lambda: clock.weekday("2023-02-29"),
        lambda: clock.add_days("tomorrow", 1),
        lambda: clock.add_days("9999-12-31", 1),
    ):
        with pytest.raises(ToolError):
            call()


def test_now_is_consistent_and_refuses_an_unknown_time_zone() -> None:
    moment = clock.now("UTC")
    assert dt.date.fromisoformat(moment["date"]).strftime("%A") == moment["weekday"]
    with pytest.raises(ToolError, match="unknown time zone"):
        clock.now("../../etc/passwd")


def test_facts_come_with_unit_and_year() -> None:
    assert lookup("the usa", "capital")["value"] == "Washington, D.C."
    assert lookup("Iceland", "area") == {
        "subject": "Iceland",
        "attribute": "area",
        "value": 103000,
        "unit": "km2",
        "as_of": 2023,
    }
    assert (lookup("mercury", "symbol")["value"], lookup("Mercury", "moons")["value"]) == ("Hg", 0)


def test_a_missing_fact_is_refused_with_what_the_table_has() -> None:
    with pytest.raises(ToolError, match="did you mean 'France'"):
        lookup("Frnce", "capital")
    with pytest.raises(ToolError, match="it has: capital, population"):
        lookup("France", "moons")
    with pytest.raises(ToolError, match="has nothing about"):
        lookup("x" * 10**7, "capital")


def test_the_schema_offers_every_attribute_of_the_table() -> None:
    offered = set(lookup.parameters["properties"]["attribute"]["enum"])
    assert offered == {fact["attribute"] for entries in facts.table().values() for fact in entries}


@pytest.mark.parametrize("box", [arithmetic.box, units.box, clock.box, facts.box], ids=lambda box: box.name)
def test_every_built_in_tool_and_each_of_its_arguments_has_a_description(box: Any) -> None:
    for tool in box:
        assert tool.effect == ("idempotent" if tool.name == "now" else "pure")
        assert tool.description and json.dumps(tool.schema)
        assert all(field.get("description") for field in tool.parameters["properties"].values())


def test_what_reaches_out_of_the_process_is_made_only_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(builtin.ON_REQUEST).isdisjoint(builtin.BOXES)
    effects = {tool.name: tool.effect for name in builtin.ON_REQUEST for tool in builtin.box(name)}
    assert effects == {"list_files": "pure", "read_file": "pure", "search_files": "pure", "fetch": "idempotent"}
    assert list(builtin.listed()) == [*builtin.BOXES, *builtin.ON_REQUEST]


def test_a_recording_does_not_bring_back_a_tool_that_reaches_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    model = Scripted([Reply("", (Call("read_file", {"path": "notes.txt"}),)), "done"])
    run = Agent(model, ["files"]).run("Read.").run
    opened = agentkit.look(run.id)
    assert opened.answer == "done"
    assert "tool 'read_file'" in str(Agent(Scripted(["more"])).resume(run.id).read_only)


@pytest.mark.parametrize("name", builtin.BY_CLASS)
def test_the_name_of_a_toolbox_that_is_made_by_its_class_is_answered_with_the_class(name: str) -> None:
    with pytest.raises(Unknown) as error:
        Agent(Scripted(["x"]), [name])
    _, _, line = str(error.value).partition("it is made in a program: ")
    _, module, _, toolbox = line.split()
    assert issubclass(getattr(importlib.import_module(module), toolbox), ToolBox)
