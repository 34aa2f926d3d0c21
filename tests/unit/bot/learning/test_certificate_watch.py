"""Tests of certificates that a week's labels bear out, or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from bot.answering.gate import Gate, load_gate_file
from bot.answering.gate_file import CertificateRecord
from bot.domain.errors import DeliveryFailed
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.labels import Label, LabelKey, LabelOrigin, Truth
from bot.store.database import Store
from tests.fakes.board_app import OPEN, SURE, TRACE, ask, passage

NAME = "extractive"
CERTIFICATE = CertificateRecord(
    threshold=0.8,
    target_error=0.05,
    confidence=0.9,
    coverage=0.5,
    questions=400,
    on="ours",
    date=date(2026, 5, 4),
)
MONDAY = datetime(2026, 5, 11, 6, tzinfo=UTC)
LAST_WEEK = MONDAY - timedelta(days=3)


class PeoplesChannel:
    """Implements TellsPeople; ``away``: nothing can be posted."""

    platform = "slack"

    def __init__(self, *, away: bool = False) -> None:
        self.told: list[str] = []
        self.away = away

    async def tell_people(self, text: str) -> None:
        if self.away:
            raise DeliveryFailed("away")
        self.told.append(text)


def certified(certificate: CertificateRecord | None = CERTIFICATE) -> Gate:
    return Gate(load_gate_file().with_certificate(NAME, certificate))


def watch_over(
    store: Store, gate: Gate, *platforms: PeoplesChannel, now: datetime = MONDAY
) -> CertificateWatch:
    return CertificateWatch(
        "default",
        gate=gate,
        labels=store.labels,
        interactions=store.interactions,
        questions=store.statistics,
        suspensions=store.suspensions,
        marks=store.jobs,
        audits=store.audits,
        platforms=platforms,
        now=lambda: now,
    )


async def label(
    store: Store, right: int, wrong: int, origin: LabelOrigin = "sampled", start: int = 0
) -> None:
    """Have sure answers labelled in the last week."""
    trace = replace(TRACE, passages=(passage(OPEN),), calibration=NAME, gate="passed")
    labels: list[Label] = []
    for number in range(start, start + right + wrong):
        reply = replace(SURE, confidence_level="sure")
        asked = await ask(store, f"q{number}", response=reply, trace=trace)
        truth: Truth = "right" if number < start + right else "wrong"
        labels.append(Label(LabelKey(asked.id, origin), truth, "candidate", LAST_WEEK, ("vpn.md",)))
    await accept(store, labels)


async def accept(store: Store, labels: Sequence[Label]) -> None:
    await store.labels.propose("default", labels)
    for each in labels:
        decided = replace(each, state="accepted", question="vpn", decided_at=LAST_WEEK)
        assert await store.labels.decide("default", decided)


async def test_a_bad_week_suspends_the_certificate_and_admins_are_told(store: Store) -> None:
    await label(store, right=17, wrong=5)
    gate, people = certified(), PeoplesChannel()

    await watch_over(store, gate, PeoplesChannel(away=True), people).run()

    assert gate.threshold(NAME) == pytest.approx(0.9)
    assert len(people.told) == 1
    (audited,) = await store.audits.newest("default", 1)
    assert (audited.act, audited.subject) == ("certificate.suspend", NAME)


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [(17, 3, "noise"), (14, 5, "few labels"), (40, 0, "a good week")],
)
async def test_noise_suspends_nothing(store: Store, right: int, wrong: int, why: str) -> None:
    await label(store, right, wrong)
    gate = certified()

    await watch_over(store, gate).run()

    assert gate.threshold(NAME) == CERTIFICATE.threshold, why


async def test_votes_count_only_where_few_answers_were_sampled(store: Store) -> None:
    await label(store, right=20, wrong=0)
    await label(store, right=0, wrong=20, origin="thumb", start=100)
    gate = certified()

    await watch_over(store, gate).run()

    assert not gate.suspended


async def test_a_suspension_reaches_the_gates_of_all_processes(store: Store) -> None:
    await label(store, right=10, wrong=10)
    await watch_over(store, certified()).run()
    other = certified()

    await watch_over(store, other).refresh()

    assert other.suspended == {NAME}


async def test_a_new_certificate_is_not_suspended(store: Store) -> None:
    await label(store, right=10, wrong=10)
    await watch_over(store, certified()).run()
    again = certified(CERTIFICATE.model_copy(update={"threshold": 0.85}))

    await watch_over(store, again).refresh()

    assert not again.suspended


async def test_an_admin_ends_a_suspension_until_the_next_bad_week(store: Store) -> None:
    await label(store, right=10, wrong=10)
    gate = certified()
    await watch_over(store, gate).run()

    assert await watch_over(store, gate).end(NAME, actor="board:ada")
    await watch_over(store, gate).run()

    assert gate.threshold(NAME) == CERTIFICATE.threshold
    assert not await watch_over(store, gate).end(NAME, actor="board:ada")


async def test_without_a_certificate_nothing_is_suspended(store: Store) -> None:
    await label(store, right=0, wrong=30)

    await watch_over(store, certified(None)).run()

    assert not await store.suspensions.current("default")
