"""Tests of limits and budgets, in whatever order messages arrive."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.answering.admission import Admission
from bot.answering.limit_reports import limits_status
from bot.answering.limits import WINDOW
from bot.chat.response_view import render
from bot.domain.errors import StoreUnavailable
from bot.domain.handoff import HANDOFF_OFFER
from bot.domain.health import ComponentStatus
from bot.domain.interactions import Reply
from bot.domain.messages import NO_MODEL, Inquiry, Limit, Message, Policy, Refusal
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.domain.usage import Pause, UsageLimits
from rag.types import Turn
from tests.fakes.builders import NOON
from tests.fakes.usage_ledger import Door, Ledger, limit_checks

JARGON = re.compile(r"token|budget|quota|rate|limit|model|error|exception", re.IGNORECASE)


def admission(ledger: Ledger, limits: UsageLimits, door: Door | None = None) -> Admission:
    return (door or Door()).within(limit_checks(ledger, limits))


async def refusal(ledger: Ledger, limits: UsageLimits, asked: Message) -> Refusal:
    told = await admission(ledger, limits).admit(asked)
    assert isinstance(told, Refusal)
    return told


async def test_without_limits_everything_is_admitted() -> None:
    ledger = Ledger()
    ledger.spend(10**9, 10.0**6)
    last = [ledger.arrive(n / 10) for n in range(100)][-1]

    assert isinstance(await admission(ledger, UsageLimits()).admit(last), Inquiry)


async def test_one_message_too_many_is_refused_with_the_wait() -> None:
    ledger = Ledger()
    for second in (0, 10):
        ledger.arrive(second)
    told = await refusal(ledger, UsageLimits(per_user=2), ledger.arrive(28.5))

    assert told == Refusal(
        "I can only take 2 messages a minute from one person. "
        "Please ask again in about 45 seconds.",
        "rate_per_user_per_minute",
        limit=Limit("rate", NOON + timedelta(seconds=70)),
        ephemeral=True,
    )


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_there_is_room_again_after_the_wait_and_not_before(most: int) -> None:
    ledger = Ledger()
    for second in range(most):
        ledger.arrive(second)
    told = await refusal(ledger, UsageLimits(per_user=most), ledger.arrive(most))
    named = re.search(r"about (\d+) seconds", told.text)
    assert named is not None
    wait = int(named[1])
    later = Ledger()
    for second in range(most + 1):
        later.arrive(second)

    limits = UsageLimits(per_user=most)
    assert isinstance(await admission(later, limits).admit(later.arrive(most + wait)), Inquiry)
    assert wait > 50


async def test_who_floods_a_channel_is_stopped_and_the_others_are_not() -> None:
    ledger = Ledger()
    limits = UsageLimits(per_user=3, per_channel=10)
    for n in range(50):
        flood = ledger.arrive(n / 10, person="flo")

    assert (await refusal(ledger, limits, flood)).note == "rate_per_user_per_minute"
    assert isinstance(await admission(ledger, limits).admit(ledger.arrive(6)), Inquiry)


@pytest.mark.parametrize(("private", "where"), [(False, "channel"), (True, "conversation")])
async def test_a_busy_channel_is_told_so(*, private: bool, where: str) -> None:
    ledger = Ledger()
    for n in range(4):
        ledger.arrive(n, person=f"p{n}", private=private)
    told = await refusal(
        ledger, UsageLimits(per_user=3, per_channel=4), ledger.arrive(4, private=private)
    )

    assert told.note == "rate_per_channel_per_minute"
    assert told.text.startswith(f"I can only take 4 messages a minute in one {where}.")


async def test_a_request_for_a_person_is_held_by_a_rate() -> None:
    ledger = Ledger()
    ledger.arrive()
    asked = ledger.arrive(1, "Can I talk to a human?")

    assert (
        await refusal(ledger, UsageLimits(per_user=1), asked)
    ).note == "rate_per_user_per_minute"


async def test_whoever_is_refused_for_haste_costs_no_look_into_the_history() -> None:
    ledger, door = Ledger(), Door()
    ledger.arrive()
    await admission(ledger, UsageLimits(per_user=1), door).admit(ledger.arrive(1))

    assert door.asked == 0


@pytest.mark.parametrize(
    ("limits", "note", "whose"),
    [
        (UsageLimits(tokens=1000), "model_tokens_per_day", "all"),
        (UsageLimits(usd=0.5), "model_usd_per_day", "all"),
        (UsageLimits(tokens_per_user=1000), "model_tokens_per_user_per_day", "you all"),
    ],
)
async def test_a_used_up_budget_offers_a_person(limits: UsageLimits, note: str, whose: str) -> None:
    ledger = Ledger()
    ledger.spend(1000, 0.5)
    told = await refusal(ledger, limits, ledger.arrive(private=True))

    assert told == Refusal(
        f"I've given {whose} the answers I may for today. I can answer again after midnight UTC, "
        f"in about 12 hours. {HANDOFF_OFFER}",
        note,
        limit=Limit("budget", NOON + timedelta(hours=12)),
        ephemeral=True,
    )


async def test_in_a_channel_the_offer_says_how_to_call() -> None:
    ledger = Ledger()
    ledger.spend(10)
    told = await refusal(ledger, UsageLimits(tokens=10), ledger.arrive(11 * 3600))

    assert told.text.endswith(
        "in about 60 minutes. Mention me with “human” and I will ask a person."
    )


@pytest.mark.parametrize("limits", [UsageLimits(tokens=1), UsageLimits(tokens_per_user=1)])
async def test_who_asks_for_a_person_passes_a_used_up_budget(limits: UsageLimits) -> None:
    ledger = Ledger()
    ledger.spend(1)
    asked = ledger.arrive(text="Can I talk to a human please?")

    assert isinstance(await admission(ledger, limits).admit(asked), Inquiry)


async def test_a_channel_that_is_answered_without_a_model_passes_a_used_up_budget() -> None:
    ledger, door = Ledger(), Door()
    ledger.spend(1)
    limits = UsageLimits(tokens=1)
    assert isinstance(await admission(ledger, limits, door).admit(ledger.arrive()), Refusal)

    door.policy = Policy(model=NO_MODEL)

    assert isinstance(await admission(ledger, limits, door).admit(ledger.arrive()), Inquiry)


async def test_who_agrees_to_the_offered_person_passes_too() -> None:
    ledger = Ledger()
    ledger.spend(1)
    limits = UsageLimits(tokens=1)
    offer = await refusal(ledger, limits, ledger.arrive(private=True))
    agreed = ledger.arrive(5, "yes", private=True)
    turns = Turn("user", "How do I book leave?"), Turn("assistant", offer.text)

    assert isinstance(await admission(ledger, limits, Door(*turns)).admit(agreed), Inquiry)
    assert (await refusal(ledger, limits, agreed)).note == "model_tokens_per_day"


@pytest.mark.parametrize(
    ("tenant", "person", "hours"),
    [("other", "anna", -1.0), ("default", "ben", -1.0), ("default", "anna", -12.1)],
    ids=["another tenant", "another person", "yesterday"],
)
async def test_what_others_spent_is_not_ones_own(tenant: str, person: str, hours: float) -> None:
    ledger = Ledger()
    ledger.spend(10, tenant=tenant, person=person, hours=hours)

    limits = UsageLimits(tokens_per_user=10)
    assert isinstance(await admission(ledger, limits).admit(ledger.arrive()), Inquiry)


async def test_what_is_spent_after_a_message_came_does_not_change_its_answer() -> None:
    ledger = Ledger()
    asked = ledger.arrive()
    limits = UsageLimits(per_user=1, tokens=10)
    first = await admission(ledger, limits).admit(asked)
    ledger.spend(10, hours=0.1)
    ledger.arrive(1)

    assert isinstance(first, Inquiry)
    assert await admission(ledger, limits).admit(asked) == first


async def test_a_message_that_is_not_recorded_has_nothing_before_it() -> None:
    ledger = Ledger()
    ledger.arrive()
    stranger = Ledger().arrive(5, "another", person="zoe")

    assert isinstance(await admission(ledger, UsageLimits(per_user=1)).admit(stranger), Inquiry)


@pytest.mark.parametrize("text", ["How do I book leave?", "Can I talk to a human?"])
async def test_a_pause_holds_everything_and_says_why_and_whom_to_ask(text: str) -> None:
    ledger = Ledger()
    ledger.pause = Pause("We move\n\nthe wiki", "ops", NOON)
    told = await refusal(ledger, UsageLimits(), ledger.arrive(text=text))

    assert told == Refusal(
        "I'm paused for now: We move the wiki. Your question is not kept for later, so please ask "
        "it again then. If it can't wait, please ask your help desk directly.",
        "pause",
        limit=Limit("pause"),
        ephemeral=True,
    )


async def test_a_pause_that_ends_lets_the_next_one_in() -> None:
    ledger = Ledger()
    door = admission(ledger, UsageLimits())
    ledger.pause = Pause("Maintenance.", "ops", NOON)
    paused = await door.admit(ledger.arrive())
    ledger.pause = None

    assert isinstance(paused, Refusal)
    assert "Maintenance. Your question" in paused.text
    assert isinstance(await door.admit(ledger.arrive(1)), Inquiry)


async def test_nothing_in_a_reason_becomes_live() -> None:
    ledger = Ledger()
    ledger.pause = Pause("see ![x](https://evil.example) or [y](https://evil.example)", "o", NOON)
    told = await refusal(ledger, UsageLimits(), ledger.arrive())
    shown = render(Reply(told.text, "generic", refused=True), private=True).text

    assert shown.startswith("I'm paused for now: see x or y. Your question")


async def test_no_refusal_speaks_of_the_machinery() -> None:
    ledger = Ledger()
    ledger.spend(10, 10)
    for n in range(3):
        ledger.arrive(n)
    texts = [
        (await refusal(ledger, limits, ledger.arrive(5, private=private))).text
        for limits in (
            UsageLimits(per_user=1),
            UsageLimits(per_channel=1),
            UsageLimits(tokens=1),
            UsageLimits(usd=1),
            UsageLimits(tokens_per_user=1),
        )
        for private in (True, False)
    ]

    assert [text for text in texts if JARGON.search(text) or len(text) > 200] == []


async def test_the_operator_gets_the_figures_and_no_text() -> None:
    ledger = Ledger()
    ledger.arrive()
    with capture_logs() as logs:
        told = ledger.arrive(20, "My secret question")
        await refusal(ledger, UsageLimits(per_user=1), told)

    assert logs == [
        {
            "log_level": "warning",
            "event": "limit.refused",
            "limit": "rate_per_user_per_minute",
            "tenant": "default",
            "person": "anna",
            "channel": "slack:C1",
            "interaction_id": told.interaction_id,
            "allowed": 1,
            "window_seconds": 60,
            "wait_seconds": 60.0,
            "not_logged_before": 0,
        }
    ]


async def test_calls_without_a_price_count_as_tokens_and_are_reported_once_a_day() -> None:
    ledger = Ledger()
    ledger.spend(500)
    ledger.spend(300, 0.1)
    door = admission(ledger, UsageLimits(usd=1.0, tokens=801))
    with capture_logs() as logs:
        admitted = [await door.admit(ledger.arrive(second)) for second in range(3)]

    assert all(isinstance(each, Inquiry) for each in admitted)
    assert [(log["event"], log["calls"]) for log in logs] == [("limit.prices_unknown", 1)]
    ledger.spend(1)
    tomorrow = ledger.arrive(timedelta(hours=13).total_seconds())
    ledger.spend(1, hours=12.5)
    with capture_logs() as logs:
        await door.admit(tomorrow)
    assert [log["event"] for log in logs] == ["limit.prices_unknown"]


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
    admitting = admission(ledger, limits)

    async def admit() -> list[Inquiry | Refusal]:
        return [await admitting.admit(message) for message in asked]

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


@given(arrived=arrivals, limits=rates)
def test_the_same_message_is_decided_the_same_whenever_it_is_asked(
    arrived: Arrivals, limits: UsageLimits
) -> None:
    ledger = Ledger()
    at_once = [decided(ledger, limits, recorded(ledger, [arrival]))[0] for arrival in arrived]
    again = Ledger()
    asked = recorded(again, arrived)

    assert decided(again, limits, asked[::-1])[::-1] == at_once


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


@given(arrived=st.lists(st.floats(0, 59.9), min_size=1, max_size=40), most=st.integers(1, 5))
def test_a_calm_asker_is_always_heard(arrived: list[float], most: int) -> None:
    ledger = Ledger()
    asked = recorded(ledger, [(at, "anna", "C1", "default") for at in sorted(arrived)])
    kinds = Counter(type(each) for each in decided(ledger, UsageLimits(per_user=most), asked))

    assert kinds[Inquiry] == min(most, len(arrived))
    later = ledger.arrive(max(arrived) + timedelta(seconds=60).total_seconds())
    assert isinstance(decided(ledger, UsageLimits(per_user=most), [later])[0], Inquiry)


def limit_settings(**limits: object) -> Settings:
    return load_settings(_env_file=None, **{"openai_model": "m", **limits})


async def part(configured: Settings, ledger: Ledger) -> ComponentStatus:
    return await limits_status(configured, ledger, ledger.current, now=lambda: NOON)


async def test_what_is_configured_is_listed() -> None:
    shown = await part(
        limit_settings(
            model_tokens_per_day=2_000_000,
            model_usd_per_day=5,
            model_tokens_per_user_per_day=50_000,
        ),
        Ledger(),
    )

    assert shown.state == "ready"
    assert shown.detail == (
        "10 messages a minute from one person; 60 in one channel; 2,000,000 tokens a day; "
        "5.00 USD a day; 50,000 tokens a day for one person"
    )


async def test_without_limits_it_says_so() -> None:
    shown = await part(
        limit_settings(rate_per_user_per_minute=0, rate_per_channel_per_minute=0), Ledger()
    )

    assert (shown.state, shown.detail) == ("absent", "nothing is limited.")


async def test_budgets_mean_nothing_without_a_model() -> None:
    ledger = Ledger()
    ledger.spend(10, 10.0)
    shown = await part(
        limit_settings(openai_model=None, model_tokens_per_day=1, model_usd_per_day=1), ledger
    )

    assert (shown.state, "day" in shown.detail) == ("ready", False)


async def test_a_used_up_budget_is_shown_with_its_figures() -> None:
    ledger = Ledger()
    ledger.spend(1200, 0.5)
    ledger.spend(10**6, 100.0, hours=-13)
    shown = await part(limit_settings(model_tokens_per_day=1000, model_usd_per_day=0.5), ledger)

    assert shown.state == "limited"
    assert shown.detail == "used up: 1,200 of 1,000 tokens today; 0.50 of 0.50 USD today."
    assert shown.line().startswith("  ~ limits           used up")


async def test_a_pause_is_shown_with_who_when_and_why() -> None:
    ledger = Ledger()
    ledger.pause = Pause("We move\nthe wiki.", "ops", NOON)
    shown = await part(limit_settings(), ledger)

    assert shown.line() == (
        "  = limits           paused by ops since 2026-11-22 12:00 UTC: We move the wiki. "
        "Answer again: python -m bot resume"
    )
    assert shown.state == "paused"


async def test_a_record_that_is_away_is_a_failure() -> None:
    class Away(Ledger):
        async def current(self, tenant: str) -> Pause | None:
            raise StoreUnavailable("The disk is full.")

    assert await part(limit_settings(), Away()) == ComponentStatus(
        "limits", "failed", "The disk is full."
    )
