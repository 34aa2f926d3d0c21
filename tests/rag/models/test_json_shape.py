from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from rag.models.chat.openai_compatible import read_shape, wanted_shape


class Part(BaseModel):
    title: str = Field(min_length=1, max_length=10)
    format: int = 3


class Whole(BaseModel):
    parts: list[Part] = Field(default_factory=list, max_length=4)
    mood: Literal["high", "low"] | None = None


def test_every_object_is_closed_and_every_property_required() -> None:
    schema = wanted_shape(Whole).schema
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    part = definitions["Part"]
    for one in (schema, part):
        assert one["additionalProperties"] is False
    assert schema["required"] == ["parts", "mood"]
    assert part["required"] == ["title", "format"]


def test_limits_that_strict_mode_rejects_are_left_out_but_properties_of_that_name_stay() -> None:
    schema = wanted_shape(Whole).schema
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    assert definitions["Part"]["properties"] == {
        "title": {"type": "string"},
        "format": {"type": "integer"},
    }
    assert "default" not in str(schema)
    assert "maxItems" not in str(schema)


def test_the_left_out_limits_are_checked_on_what_comes_back() -> None:
    value, problem = read_shape('{"parts": [{"title": ""}]}', Whole)
    assert value is None
    assert problem.startswith("parts.0.title: ")


def test_what_is_wrong_is_said_without_the_values() -> None:
    _, problem = read_shape('{"mood": "my password"}', Whole)
    assert "mood" in problem
    assert "password" not in problem
