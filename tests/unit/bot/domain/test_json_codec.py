"""Tests of the JSON codec of the record."""

from __future__ import annotations

import json
import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Route, Source, Trace
from bot.domain.json_codec import Codec, storable, without_surrogates
from bot.domain.messages import FoundPassage, Intent, Message, SearchFilters
from rag.parts import CitedText, Code, Item, ItemList, Omission, Quotation, Table
from rag.types import ModelCall
from tests.fakes.builders import message

OUTCOMES = Codec(Outcome)
MESSAGES = Codec(Message)


NUMBERS = st.floats(allow_nan=False) | st.none()
SIGNALS = st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False), max_size=3)
SOURCES = st.builds(Source, relevance=st.floats(0, 1), document_page=st.none() | st.integers())
CALLS = st.builds(ModelCall, duration_ms=st.floats(0, 1e9))
FEW_SOURCES = st.lists(SOURCES, max_size=2).map(tuple)
FEW_CALLS = st.lists(CALLS, max_size=2).map(tuple)
RESPONSES = st.one_of(
    st.builds(Reply, sources=FEW_SOURCES, confidence=NUMBERS),
    st.builds(Clarification, suggestions=FEW_SOURCES, confidence=NUMBERS),
    st.builds(Escalation, suggestions=FEW_SOURCES, confidence=NUMBERS),
)
TRACES = st.builds(
    Trace,
    route=st.builds(Route, score=st.floats(0, 1), calls=FEW_CALLS),
    passages=st.lists(st.builds(FoundPassage, signals=SIGNALS), max_size=2).map(tuple),
    features=SIGNALS | SIGNALS.map(MappingProxyType),
    threshold=NUMBERS,
    calls=FEW_CALLS,
    timings_ms=SIGNALS,
)


@given(st.builds(Outcome, response=RESPONSES, trace=TRACES))
def test_every_outcome_comes_back_as_it_was(outcome: Outcome) -> None:
    assert OUTCOMES.decode(OUTCOMES.encode(outcome)) == outcome


def test_a_number_of_another_library_is_kept_as_a_number() -> None:
    route = Route(Intent.DOMAIN, 1.0, "rule", "?")
    trace = Trace(route, features=ChainMap({"a": np.float64(0.5)}))
    outcome = Outcome(Reply("ok", "generic"), trace)

    assert OUTCOMES.decode(OUTCOMES.encode(outcome)).trace.features == {"a": 0.5}


@pytest.mark.parametrize("mapping", [dict, MappingProxyType, ChainMap])
@pytest.mark.parametrize("number", [math.inf, -math.inf, np.float64(math.inf)])
def test_infinity_stays_a_number_in_any_mapping(
    mapping: Callable[[dict[str, float]], Mapping[str, float]], number: float
) -> None:
    trace = Trace(Route(Intent.DOMAIN, 1.0, "rule", "?"), features=mapping({"a": number}))
    outcome = Outcome(Reply("ok", "generic"), trace)

    assert OUTCOMES.decode(OUTCOMES.encode(outcome)).trace.features == {"a": number}


@given(st.builds(Message, received_at=st.datetimes(timezones=st.just(UTC))))
def test_every_message_comes_back_as_it_was(value: Message) -> None:
    back = MESSAGES.decode(MESSAGES.encode(value))

    assert back == value
    assert back.interaction_id == value.interaction_id


def test_the_number_of_the_format_is_kept_with_the_value() -> None:
    assert json.loads(MESSAGES.encode(message("hello")))["format"] == 1


def test_another_format_is_refused_with_the_cure() -> None:
    stored = MESSAGES.encode(message("hello")).replace('"format": 1', '"format": 2')

    with pytest.raises(StoreUnavailable, match=r"format 2.*Start the version"):
        MESSAGES.decode(stored)


def test_half_a_surrogate_becomes_a_replacement_character() -> None:
    assert (
        MESSAGES.decode(MESSAGES.encode(message("a\ud83db"))).text == "a\N{REPLACEMENT CHARACTER}b"
    )


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_storable_can_be_encoded_and_has_no_nul(text: str) -> None:
    kept = storable(text)

    assert "\x00" not in kept
    assert kept.encode().decode() == kept
    assert without_surrogates(kept) == kept


def test_a_message_that_was_kept_before_filters_has_none() -> None:
    filtered = replace(message("VPN?"), search_filters=SearchFilters(frozenset({"IT"}), "upload"))
    kept = json.loads(MESSAGES.encode(filtered))
    assert MESSAGES.decode(json.dumps(kept)) == filtered

    del kept["value"]["search_filters"]

    assert MESSAGES.decode(json.dumps(kept)) == replace(filtered, search_filters=SearchFilters())


def test_a_source_that_was_kept_before_space_and_age_were_is_read_all_the_same() -> None:
    source = Source("c1", "vpn.md", "VPN", "", "", "Call IT.", None, 1.0, "folder", "vpn.md")
    kept = json.loads(Codec(Source).encode(source))
    del kept["value"]["space"], kept["value"]["updated_at"]

    assert Codec(Source).decode(json.dumps(kept)) == source


def test_a_message_that_was_kept_before_requests_named_models_is_read() -> None:
    kept = json.loads(MESSAGES.encode(message("vpn?")))
    del kept["value"]["model"]

    assert MESSAGES.decode(json.dumps(kept)) == message("vpn?")


def test_the_parts_of_a_reply_are_kept_and_a_record_without_them_is_read() -> None:
    item = Item(CitedText("Run:", (1,)), (Code("ls", "sh"), ItemList((Item(CitedText("a")),))))
    table = Table((), (("1", ""),))
    parts = (Quotation((ItemList((item,), ordered=True, start=3), table), (1,)), Omission("rows"))
    reply = Reply("ok", "found", parts=parts)
    codec = Codec(Reply)

    assert codec.decode(codec.encode(reply)) == reply
    old = codec.encode(reply).replace('"parts"', '"unknown"')
    assert codec.decode(old) == Reply("ok", "found")
