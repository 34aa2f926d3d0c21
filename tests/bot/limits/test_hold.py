"""The rates hold whatever arrives, in whatever order, by whatever clocks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answering.limit_notices import RefusalLog
from bot.answering.limits import WINDOW, LimitedAdmission
from bot.domain.messages import Inquiry, Message, Refusal
from bot.domain.usage import UsageLimits
from tests.bot.ledger import Door, Ledger

Arrivals = Sequence[tuple[float, str, str, str]]

arrivals = st.lists(
    st.tuples(
        st.floats(0, 200).map(lambda seconds: round(seconds, 1)),
        st.sampled_from(["anna", "ben", "cleo"]),
        st.sampled_from(["C1", "C2"]),
        st.sampled_from(["default", "other"]),
    ),
    max_size=60,
)
rates = st.builds(UsageLimits, per_user=st.integers(0, 4), per_channel=st.integers(0, 6))


def recorded(ledger: Ledger, arrived: Arrivals) -> list[Message]:
    return [
        ledger.arrive(at, person=person, channel=channel, tenant=tenant)
        for at, person, channel, tenant in arrived
    ]


def decided(
    ledger: Ledger, limits: UsageLimits, asked: Sequence[Message]
) -> list[Inquiry | Refusal]:
    door = LimitedAdmission(Door(), use=ledger, pauses=ledger, limits=limits, notices=RefusalLog())

    async def admit() -> list[Inquiry | Refusal]:
        return [await door.admit(message) for message in asked]

    return asyncio.run(admit())


def most_in_a_window(moments: Sequence[datetime]) -> int:
    return max(
        (sum(start <= at < start + WINDOW for at in moments) for start in moments), default=0
    )


def by(key: Callable[[Message], object], messages: Sequence[Message]) -> list[int]:
    """Return the most messages of one key within any 60 seconds, for each key."""
    groups: dict[object, list[datetime]] = {}
    for message in messages:
        groups.setdefault(key(message), []).append(message.received_at)
    return [most_in_a_window(moments) for moments in groups.values()]


@settings(max_examples=200, deadline=None)
@given(arrived=arrivals, limits=rates)
def test_no_window_holds_more_than_is_allowed(arrived: Arrivals, limits: UsageLimits) -> None:
    ledger = Ledger()
    asked = recorded(ledger, arrived)
    let_in = [
        message
        for message, decision in zip(asked, decided(ledger, limits, asked), strict=True)
        if isinstance(decision, Inquiry)
    ]

    if limits.per_user:
        people = by(lambda message: (message.thread.tenant, message.author.id), let_in)
        assert max(people, default=0) <= limits.per_user
    if limits.per_channel:
        channels = by(lambda message: (message.thread.tenant, message.thread.channel), let_in)
        assert max(channels, default=0) <= limits.per_channel


@settings(max_examples=100, deadline=None)
@given(arrived=arrivals, limits=rates)
def test_the_same_message_is_decided_the_same_whenever_it_is_asked(
    arrived: Arrivals, limits: UsageLimits
) -> None:
    ledger = Ledger()
    at_once = [decided(ledger, limits, recorded(ledger, [arrival]))[0] for arrival in arrived]
    again = Ledger()
    asked = recorded(again, arrived)

    assert decided(again, limits, asked[::-1])[::-1] == at_once


@settings(max_examples=100, deadline=None)
@given(arrived=arrivals, limits=rates)
def test_what_others_ask_elsewhere_does_not_count(arrived: Arrivals, limits: UsageLimits) -> None:
    own = ("anna", "C1", "default")
    ledger, quiet = Ledger(), Ledger()
    among_others = [
        message
        for arrival in arrived
        if _elsewhere(arrival) or arrival[1:] == own
        for message in recorded(ledger, [arrival])
        if arrival[1:] == own
    ]
    alone = recorded(quiet, [arrival for arrival in arrived if arrival[1:] == own])

    noisy = [type(each) for each in decided(ledger, limits, among_others)]
    assert noisy == [type(each) for each in decided(quiet, limits, alone)]


def _elsewhere(arrival: tuple[float, str, str, str]) -> bool:
    _, person, channel, tenant = arrival
    return tenant == "other" or (person != "anna" and channel == "C2")


@settings(max_examples=100, deadline=None)
@given(arrived=st.lists(st.floats(0, 59.9), min_size=1, max_size=40), most=st.integers(1, 5))
def test_a_calm_asker_is_always_heard(arrived: list[float], most: int) -> None:
    ledger = Ledger()
    asked = recorded(ledger, [(at, "anna", "C1", "default") for at in sorted(arrived)])
    kinds = Counter(type(each) for each in decided(ledger, UsageLimits(per_user=most), asked))

    assert kinds[Inquiry] == min(most, len(arrived))
    later = ledger.arrive(max(arrived) + timedelta(seconds=60).total_seconds())
    assert isinstance(decided(ledger, UsageLimits(per_user=most), [later])[0], Inquiry)
