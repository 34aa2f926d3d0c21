"""Spans: their names, nesting, attributes and errors."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes, server_attributes
from opentelemetry.trace import SpanKind, StatusCode

from bot.observability.tracing import trace_continued_from
from rag import telemetry
from rag.errors import ModelUnavailable
from rag.telemetry import describe, span
from tests.fakes.spans import Spans

SECRET = "key sk-4711 of anna@example.org"


def test_names_are_the_conventions_own_where_there_is_one() -> None:
    known = {
        value
        for module in (gen_ai_attributes, error_attributes, server_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    constants = [value for name, value in vars(telemetry).items() if name.isupper()]
    attributes = {value for value in constants if isinstance(value, str) and "." in value}

    assert len(attributes) > 30
    foreign = {name for name in attributes if not name.startswith("frontdesk.")}
    assert foreign - known == set()


def test_spans_lie_inside_each_other_across_waiting(spans: Spans) -> None:
    async def inner() -> None:
        with span(telemetry.GENERATION):
            await asyncio.sleep(0)

    async def outer() -> None:
        with span(telemetry.INTERACTION):
            await asyncio.gather(inner(), asyncio.sleep(0))

    asyncio.run(outer())

    assert spans.names == ["generation", "interaction"]
    assert spans.parent_of("generation") == "interaction"
    assert spans.parent_of("interaction") == ""


def test_what_is_not_known_is_left_out(spans: Spans) -> None:
    with span(telemetry.GATE, {"a": 1, "b": None}, kind="client") as current:
        describe(current, {"c": ("x",), "d": None})

    assert spans.told("gate") == {"a": 1, "c": ("x",)}
    assert spans.one("gate").kind is SpanKind.CLIENT


@pytest.mark.parametrize("error", [ModelUnavailable(SECRET), asyncio.CancelledError(SECRET)])
def test_an_error_is_told_by_its_type_and_nothing_it_says(
    spans: Spans, error: BaseException
) -> None:
    with pytest.raises(type(error)), span(telemetry.GENERATION):
        raise error

    recorded = spans.one("generation")
    assert recorded.status.status_code is StatusCode.ERROR
    assert recorded.status.description is None
    assert spans.told("generation") == {"error.type": type(error).__name__}
    assert recorded.events == ()
    assert SECRET not in recorded.to_json()


def test_what_is_inside_a_span_that_is_not_sampled_is_not_either(spans: Spans) -> None:
    from_outside = "00-" + "1" * 32 + "-" + "2" * 16 + "-00"
    with (
        trace_continued_from(from_outside),
        span(telemetry.INTERACTION),
        span(telemetry.GATE) as current,
    ):
        describe(current, {"a": 1})

    assert spans.names == []


def test_off_means_that_nothing_is_open_and_errors_pass() -> None:
    with span(telemetry.GATE, {"a": 1}) as current:
        describe(current, {"b": 2})
        assert not current.is_recording()
        assert not current.get_span_context().is_valid

    with pytest.raises(KeyError), span(telemetry.GATE):
        raise KeyError
