"""Tests of the weekly digest: when it is due, what it says to whom, and that it comes once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.answering.visibility import ReadableInIndex
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.messages import InteractionId, Person
from bot.domain.texts import ENGLISH, Language, load_catalogue, tr
from bot.learning.corrected_pages import CorrectedPages
from bot.learning.corrections import Correction, CorrectionState
from bot.learning.digest import (
    Digest,
    DigestWriter,
    Schedule,
    Sending,
    SendsDigests,
    Subscription,
)
from bot.learning.digest_job import DigestJob
from bot.learning.digest_mail import DigestMail
from bot.store.database import Store
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.board_app import CLOSED, HR, OPEN, TwoPageIndex, source
from tests.fakes.certificates import certificate_for
from tests.fakes.digests import DUE, MONDAY_MORNING, MailServer, SentDigests, sending
from tests.fakes.learning import (
    SURE,
    AnswersNow,
    asked,
    collect_facts,
    gap_job,
    gap_views,
    insight_views,
    run,
)
from tests.fakes.record_rows import add_escalation, add_interaction

LATE = DUE + timedelta(minutes=3)
CHANNEL = Subscription("slack:C1", "Anna", DUE - timedelta(days=30))
INES = replace(CHANNEL, target="slack:U1", person_id="U1", email="ines@acme.example")


class HrDirectory:
    """Ines reads HR's pages; everybody else what everyone reads."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return HR | {EVERYONE} if person.email == "ines@acme.example" else frozenset({EVERYONE})


def writer(
    store: Store, pages: Sequence[Chunk] = (OPEN, CLOSED), language: Language = ENGLISH
) -> DigestWriter:
    index = TwoPageIndex(pages)
    views = gap_views(store, ReadableInIndex(index))  # type: ignore[arg-type]  # what it reads
    return DigestWriter(
        "default",
        store.digests,
        views,
        insight_views(store, index),
        CorrectedPages("default", store.corrections, index),  # type: ignore[arg-type]  # what it reads
        HrDirectory(),
        public_url="https://desk.example.com",
        language=language,
    )


def job(store: Store, sender: SendsDigests, now: datetime = LATE) -> DigestJob:
    return DigestJob(
        "default",
        store.digests,
        writer(store),
        {sender.platform: sender},
        MONDAY_MORNING,
        now=lambda: now,
    )


async def waiting_case(store: Store) -> None:
    await add_interaction(store, "i1", at=DUE - timedelta(days=2))
    await add_escalation(store, "i1", opened_at=DUE - timedelta(days=2))


async def subscribed(store: Store, *wanted: Subscription) -> None:
    await waiting_case(store)
    for each in wanted or (CHANNEL,):
        await store.digests.subscribe("default", each, actor="slack:anna")


async def state(store: Store, target: str = "slack:C1") -> Subscription:
    found = await store.digests.one("default", target)
    assert found is not None
    return found


@given(
    minutes=st.integers(0, 2 * 366 * 24 * 60),
    weekday=st.integers(0, 6),
    hour=st.integers(0, 23),
)
def test_it_is_due_once_in_each_week_of_the_zone(minutes: int, weekday: int, hour: int) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    schedule = Schedule(weekday, hour, ZoneInfo("Europe/Berlin"))

    week, due = schedule.last(at)
    following = schedule.next(at)

    there = due.astimezone(schedule.zone)
    assert due <= at < following.astimezone(UTC)
    assert there.weekday() == weekday
    assert there.hour in {hour, (hour + 1) % 24}, "an hour that is skipped in spring is the next"
    assert schedule.last(following.astimezone(UTC))[0] != week


async def test_it_is_sent_once_when_it_is_due(store: Store) -> None:
    await subscribed(store)
    sender = SentDigests()

    await job(store, sender, DUE - timedelta(minutes=1)).run()
    assert sender.sent == []
    for hours in (0, 1, 20, 40):
        await job(store, sender, LATE + timedelta(hours=hours)).run()

    ((address, sent),) = sender.sent
    assert (address, sent.again) == ("C1", False)
    assert (await state(store)).sent_week == "2026-W48"
    await job(store, sender, LATE + timedelta(days=7)).run()
    assert len(sender.sent) == 2


async def test_a_process_killed_after_posting_sends_no_second_one(store: Store) -> None:
    await subscribed(store)
    sender = SentDigests(dies=True)

    with pytest.raises(asyncio.CancelledError):
        await job(store, sender).run()
    assert (await state(store)).sent_week == ""
    await job(store, sender).run()

    assert len(sender.sent) == 1
    assert (await state(store)).sent_week == "2026-W48"


async def test_a_failure_is_tried_again_for_a_day_and_a_refusal_is_not(store: Store) -> None:
    await subscribed(store)
    sender = SentDigests(failing=DeliveryFailed("Slack is away."))
    await job(store, sender).run()
    assert (await state(store)).failure == "Slack is away."
    await job(store, replace(sender, failing=None), LATE + timedelta(days=1)).run()
    assert (await state(store)).sent_week == ""

    refusing = SentDigests(failing=DeliveryRefused("The channel is archived."))
    await job(store, refusing).run()
    assert (await state(store)).sent_week == "2026-W48"
    assert (await state(store)).failure == "The channel is archived."


async def test_one_that_breaks_keeps_no_other_from_its_digest(store: Store) -> None:
    @dataclass
    class Breaking(SentDigests):
        async def send_digest(self, address: str, sending: Sending) -> None:
            if address == "C0":
                raise AttributeError("local_part")
            await super().send_digest(address, sending)

    sender = Breaking()
    await subscribed(store, replace(CHANNEL, target="slack:C0"), CHANNEL)

    await job(store, sender).run()

    assert [address for address, _ in sender.sent] == ["C1"]


@pytest.mark.parametrize("why", ["off", "new", "empty"])
async def test_what_is_off_new_or_empty_is_not_sent(store: Store, why: str) -> None:
    new = replace(CHANNEL, created_at=LATE)
    if why == "empty":
        await store.digests.subscribe("default", CHANNEL, actor="slack:anna")
    else:
        await subscribed(store, new if why == "new" else CHANNEL)
    if why == "off":
        assert await store.digests.unsubscribe("default", "slack:C1", actor="slack:anna")
        assert not await store.digests.unsubscribe("default", "slack:C1", actor="slack:anna")
    sender = SentDigests()

    await job(store, sender).run()

    assert sender.sent == []


async def written(store: Store, wanted: Subscription) -> Digest:
    await collect_facts(store)
    return await writer(store).write(wanted, datetime.now(UTC) + timedelta(seconds=1))


async def test_words_and_pages_are_those_that_the_readers_may_see(store: Store) -> None:
    for person in ("a", "b", "c"):
        await asked(store, "redundancy severance", person, found=(OPEN, CLOSED))
    await asked(store, "park a bicycle", "mika", found=(OPEN,))
    await run(gap_job(store))

    everyone, ines = await written(store, CHANNEL), await written(store, INES)

    assert "severance" not in everyone.text()
    assert "bicycle" not in everyone.text()
    assert CLOSED.title not in everyone.text()
    assert OPEN.title in everyone.text()
    assert "3 questions from 3 people" in everyone.text()
    assert "redundancy severance" in ines.text()


async def test_old_pages_open_cases_and_what_improved_are_told(store: Store) -> None:
    old = replace(OPEN, updated_at=datetime(2026, 1, 5, tzinfo=UTC), updated_by="Zoe Editor")
    cited = replace(SURE, sources=(replace(source(OPEN), space=OPEN.space),))
    await asked(store, "where is the vpn", response=cited)
    for person in ("a", "b", "c"):
        await asked(store, "park a bicycle", person, found=(OPEN,))
    await run(gap_job(store, night=0, desk=AnswersNow("park a bicycle", page=OPEN)))
    await collect_facts(store)
    now = datetime.now(UTC) + timedelta(seconds=1)

    told = (await writer(store, [old]).write(CHANNEL, now)).text()

    assert "unchanged since 5 January 2026, cited by 1 answer" in told
    assert "last edited by Zoe Editor" in told
    assert "1 gap in the wiki closed: \u201cpark a bicycle\u201d" in told


async def test_it_is_in_the_language_of_the_pages(store: Store) -> None:
    await waiting_case(store)
    german = load_catalogue("de").default

    told = await writer(store, language=german).write(CHANNEL, DUE)

    assert told.subject.endswith("Montag, 23. November")
    assert [heading for heading, _ in told.sections] == [german.text(tr("Open cases:"))]


async def test_an_owner_gets_their_own_pages_alone(store: Store) -> None:
    old = datetime(2026, 1, 5, tzinfo=UTC)
    mine = replace(OPEN, updated_at=old, updated_by="Zoe Editor")
    closed = replace(CLOSED, updated_at=old, updated_by="Zoe Editor")
    theirs = replace(OPEN, page_id="p2", id="p2-0", title="Other", updated_at=old, updated_by="Al")
    held = (mine, closed, theirs)
    cited = tuple(replace(source(each), space=each.space) for each in held)
    await asked(store, "where is the vpn", response=replace(SURE, sources=cited))
    await waiting_case(store)
    await collect_facts(store)
    zoe = replace(INES, target="email:zoe@x.example", email="zoe@x.example", owner="Zoe Editor")
    now = datetime.now(UTC) + timedelta(seconds=1)

    told = await writer(store, held).write(zoe, now)

    assert [heading for heading, _ in told.sections] == ["Your pages to update:"]
    assert mine.title in told.text()
    assert closed.title not in told.text()
    assert "Other" not in told.text()
    assert (await writer(store, held).write(replace(zoe, owner="Bo"), now)).empty


async def test_an_owner_reads_how_many_were_told_because_of_their_pages(store: Store) -> None:
    mine, closed = (replace(each, updated_by="Zoe Editor") for each in (OPEN, CLOSED))
    states: tuple[CorrectionState, ...] = ("told", "told", "noted", "refused", "dropped")
    for number, state in enumerate(states):
        await corrected(store, mine, number, state, DUE - timedelta(days=1))
    await corrected(store, mine, 8, "told", DUE - timedelta(days=9))
    await corrected(store, closed, 9, "told", DUE - timedelta(days=1))
    zoe = replace(INES, target="email:zoe@x.example", email="zoe@x.example", owner="Zoe Editor")

    told = (await writer(store, (mine, closed)).write(zoe, DUE)).text()

    assert f"{mine.title} ({mine.space}, last edited by Zoe Editor): 2 answers edited" in told
    assert "1 asker notified privately" in told
    assert closed.title not in told
    assert (await writer(store, (mine,)).write(replace(zoe, owner="Bo"), DUE)).empty


async def corrected(
    store: Store, page: Chunk, number: int, state: CorrectionState, at: datetime
) -> None:
    name = f"c{number}"
    await add_interaction(store, name, at=at)
    found = Correction(InteractionId(name), page.space, page.page_id, at, state, None)
    await store.corrections.found("default", (), [found])


async def test_cases_that_wait_are_told_by_age(store: Store) -> None:
    for name, days in (("a", 0), ("b", 3), ("c", 30), ("d", 31)):
        opened = DUE - timedelta(days=days, hours=1)
        await add_interaction(store, name, at=opened)
        await add_escalation(store, name, opened_at=opened)
    await add_interaction(store, "e", at=DUE)
    await add_escalation(store, "e", state="resolved")

    told = (await writer(store).write(CHANNEL, DUE)).text()

    assert "4 in all: 1 from the last 24 hours, 1 up to a week old, 2 older" in told
    assert "https://desk.example.com/board/escalations" in told


def mail(server: MailServer, trusts: object) -> DigestMail:
    url = SecretStr(f"smtp://front%40desk:pass@localhost:{server.port}")
    return DigestMail(url, "desk@acme.example", trusts)  # type: ignore[arg-type]  # a context


async def test_a_mail_is_sent_encrypted_and_signed_in(tmp_path: Path) -> None:
    serves, trusts = certificate_for(tmp_path, "localhost")
    async with MailServer(serves).serving() as server:
        await mail(server, trusts).send_digest("zoe@acme.example", sending())
        await mail(server, trusts).send_digest("zoe@acme.example", sending(again=True))

    first, second = server.mails
    assert (first["To"], first["Subject"]) == ("zoe@acme.example", "Frontdesk, the week")
    assert "3 questions" in first.get_content()
    assert first["Message-ID"] == second["Message-ID"]
    assert len(server.logins) == 2


async def test_no_mail_and_no_password_go_unencrypted(tmp_path: Path) -> None:
    _, trusts = certificate_for(tmp_path, "localhost")
    async with MailServer(None).serving() as server:
        with pytest.raises(DeliveryFailed):
            await mail(server, trusts).send_digest("zoe@acme.example", sending())

    assert (server.mails, server.logins) == ([], [])


@pytest.mark.parametrize(
    ("refusal", "kind"), [("550 unknown", DeliveryRefused), ("451 later", DeliveryFailed)]
)
async def test_a_refused_address_is_not_tried_again(
    tmp_path: Path, refusal: str, kind: type[DeliveryFailed]
) -> None:
    serves, trusts = certificate_for(tmp_path, "localhost")
    async with MailServer(serves, refusal=refusal).serving() as server:
        with pytest.raises(DeliveryFailed) as raised:
            await mail(server, trusts).send_digest("zoe@acme.example", sending())

    assert type(raised.value) is kind
    assert "pass" not in str(raised.value)
