"""The schema of requested data, and how it is sent to a model."""

from __future__ import annotations

from datetime import date

import pydantic
import pytest

from agentkit.core.schema import in_words, shape_of
from agentkit.errors import UsageError


class Stay(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    title: str
    since: date
    next: Stay | None = None


def test_the_schema_of_a_model_has_no_titles_that_repeat_a_name() -> None:
    shape, load = shape_of(Stay)
    assert shape.name == "Stay" and not shape.strict
    assert shape.parameters["properties"]["value"] == {
        "$ref": "#/$defs/Stay"
    }  # the type is recursive, and is sent within an object
    assert set(shape.parameters["$defs"]["Stay"]["properties"]) == {"title", "since", "next"}
    assert "'title': 'Since'" not in str(shape.schema)
    assert load('{"title": "Bern", "since": "2024-02-29"}').since == date(2024, 2, 29)


def test_an_object_is_sent_as_it_is_and_other_data_within_an_object() -> None:
    shape, _ = shape_of({"title": "my city!", "type": "object", "properties": {}})
    assert (shape.name, shape.is_object, shape.unwrapped({"value": 1})) == ("my_city", True, ({"value": 1},))
    shape, load = shape_of(pydantic.TypeAdapter(list[int]), "numbers")
    assert (
        shape.parameters["required"] == ["value"] and shape.unwrapped({"value": [1]})[0] == [1] and load("[1]") == [1]
    )


@pytest.mark.parametrize("wrong", [str, "Stay", None, 3, [Stay]])
def test_anything_that_is_not_a_schema_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="TypeAdapter"):
        shape_of(wrong)


def test_problems_are_reported_field_by_field() -> None:
    with pytest.raises(pydantic.ValidationError) as misfit:
        shape_of(Stay)[1]('{"since": "soon"}')
    assert in_words(misfit.value).startswith("title: Field required; since: ")
    assert in_words(ValueError("no")) == "no" and in_words(KeyError()) == "KeyError"
