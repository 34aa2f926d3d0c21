"""Tests of shadow mode: what becomes a draft, who gets it once, who judges it, what is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from bot.answering.admission import with_admission_results
from bot.answering.visibility import ReadableInIndex
from bot.chat.messages import ListeningPolicy, is_told_of_practice
from bot.domain.errors import ActRefused, DeliveryFailed, InteractionUnknown
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef, Response
from bot.domain.messages import Audience, Inquiry, InteractionId, Message, Policy
from bot.domain.outcomes import as_given, is_draft
from bot.learning.label_review import LabelCollector
from bot.learning.shadow_mode import DraftCounts, DraftSender, report_lines
from bot.store.database import Store
from bot.store.learning_tables import ShadowDraftRow
from rag.types import EVERYONE
from tests.fakes.board_app import CLOSED, OPEN, SURE, TRACE, UNSURE, TwoPageIndex, passage, source
from tests.fakes.builders import message
from tests.fakes.chat_context import draft_review
from tests.fakes.escalations import Clock
from tests.fakes.http_server import BEARER, TOKEN, serving, settings_for
from tests.fakes.record_rows import count

CHANNEL = "slack:C1"
SHADOW = Policy(answers="shadow", reviewers=frozenset({"U1", "U2"}))
PARTIAL = replace(SURE, confidence_level="partial")
CERTAIN = replace(SURE, confidence_level="sure", sources=(replace(source(OPEN), space="IT"),))


@dataclass
class Reviewers:
    """Implements ReviewsDrafts: a channel's members; ``away``: the platform can't be asked.

    ``held`` stops a sending after it succeeded, until it is cancelled.
    """

    members: set[str] = field(default_factory=lambda: {"U1", "U2"})
    away: bool = False
    held: bool = False
    away_after: int = 99
    meanwhile: Callable[[], Awaitable[object]] | None = None
    sent: list[tuple[str, str]] = field(default_factory=list)
    looked_up: int = 0
    withdrawn: list[InteractionId] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def platform(self) -> Literal["slack"]:
        return "slack"

    async def is_reviewer(self, message: Message, person_id: str) -> bool:
        if self.away or len(self.sent) >= self.away_after:
            if self.meanwhile is not None:
                await self.meanwhile()
            raise DeliveryFailed("away")
        return person_id in self.members

    async def send_draft(self, draft: Delivery, reviewer: str, *, again: bool) -> PostedRef:
        assert not draft.outcome.silent
        assert draft.outcome.private is None
        there = (draft.id, reviewer) in self.sent
        if again:
            self.looked_up += 1
        if not (again and there):
            self.sent.append((draft.id, reviewer))
        if self.held:
            self.reached.set()
            await asyncio.Event().wait()
        return PostedRef(f"D{reviewer}", "1.0")

    async def withdraw_drafts(self, message: Message) -> None:
        self.withdrawn.append(message.interaction_id)


class Practice:
    """A channel in shadow mode, over a real record."""

    def __init__(self, store: Store, index: TwoPageIndex | None = None) -> None:
        self.store = store
        self.clock = Clock(datetime.now(UTC) + timedelta(seconds=1))
        self.reviewers = Reviewers()
        self.sender = DraftSender(
            "default",
            drafts=store.shadow_drafts,
            interactions=store.interactions,
            policies=store.policies,
            notes=store.notes,
            readable=ReadableInIndex(index or TwoPageIndex()),  # type: ignore[arg-type]  # only what it reads
            platforms={"slack": self.reviewers},
            now=self.clock,
        )
        self.review = draft_review(store)

    async def ask(
        self, name: str = "m1", response: Response = CERTAIN, *, overheard: bool = False
    ) -> Interaction:
        """Record a question asked there as the desk answers it."""
        asked = message("vpn 809?", message_id=name, platform="slack", channel="C1", private=False)
        asked = replace(asked, shadow=True, overheard=overheard)
        audience = Audience("channel", frozenset({EVERYONE}))
        trace = replace(TRACE, passages=(passage(OPEN),))
        inquiry = Inquiry(asked, (), audience, SHADOW)
        outcome = with_admission_results(inquiry, Outcome(response, trace, private=SURE))
        opened = await self.store.work.open(asked, "me")
        await self.store.work.close(opened, outcome, last=True)
        kept = await self.store.interactions.get(opened.id)
        assert kept is not None
        return kept


@pytest.fixture
async def practice(store: Store) -> Practice:
    await store.policies.set("default", CHANNEL, SHADOW, actor="cli:ada")
    return Practice(store)


async def test_nothing_is_given_where_the_bot_practises(practice: Practice, store: Store) -> None:
    kept = await practice.ask()

    assert kept.outcome is not None
    assert kept.outcome.silent
    assert kept.outcome.private is None
    assert is_draft(kept.outcome)
    assert not as_given(kept.outcome).silent
    handed_over = await practice.ask("m2", UNSURE)
    assert await store.escalations.get("default", handed_over.id) is None


@pytest.mark.parametrize(
    ("response", "overheard", "drafted"),
    [
        (CERTAIN, False, True),
        (CERTAIN, True, True),
        (PARTIAL, False, True),
        (PARTIAL, True, False),
        (UNSURE, False, False),
        (replace(SURE, sources=()), False, False),
    ],
)
async def test_a_draft_is_what_would_have_been_answered_from_pages(
    practice: Practice, store: Store, *, response: Response, overheard: bool, drafted: bool
) -> None:
    asked = await practice.ask(response=response, overheard=overheard)

    assert (await store.shadow_drafts.get("default", asked.id) is not None) == drafted
    await practice.sender.run()
    assert bool(practice.reviewers.sent) == drafted


async def test_each_reviewer_gets_a_draft_once(practice: Practice) -> None:
    await practice.ask()

    await practice.sender.run()
    await practice.sender.run()

    assert [who for _, who in practice.reviewers.sent] == ["U1", "U2"]


async def test_a_sender_that_is_killed_is_followed_by_one_that_looks(practice: Practice) -> None:
    await practice.ask()
    practice.reviewers.held = True
    for reached in range(2):
        practice.reviewers.reached.clear()
        dying = asyncio.create_task(practice.sender.run())
        await practice.reviewers.reached.wait()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        assert practice.reviewers.looked_up == reached

    practice.reviewers.held = False
    await practice.sender.run()

    assert [who for _, who in practice.reviewers.sent] == ["U1", "U2"]


async def test_who_has_left_the_channel_gets_no_draft(practice: Practice, store: Store) -> None:
    asked = await practice.ask()
    practice.reviewers.members = {"U2"}

    await practice.sender.run()

    assert [who for _, who in practice.reviewers.sent] == ["U2"]
    practice.reviewers.members = set()
    with pytest.raises(ActRefused):
        await practice.review.judge(asked.id, "agree", "U2", practice.reviewers)
    assert (await practice.review.report(CHANNEL)).all.judged == 0


async def test_while_the_platform_is_away_nothing_is_sent_or_taken(practice: Practice) -> None:
    asked = await practice.ask()
    practice.reviewers.away = True

    await practice.sender.run()
    with pytest.raises(DeliveryFailed):
        await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)
    assert practice.reviewers.sent == []

    practice.reviewers.away = False
    practice.clock.pass_by(hours=1)
    await practice.sender.run()
    assert len(practice.reviewers.sent) == 2


async def test_a_draft_that_reaches_nobody_for_a_day_is_given_up(practice: Practice) -> None:
    await practice.ask()
    practice.reviewers.away = True
    await practice.sender.run()
    practice.clock.pass_by(hours=25)
    await practice.sender.run()

    practice.reviewers.away = False
    practice.clock.pass_by(hours=1)
    await practice.sender.run()
    assert practice.reviewers.sent == []


async def test_a_page_closed_meanwhile_is_not_sent(store: Store, practice: Practice) -> None:
    """The draft is for the channel: what a reviewer may read more does not count."""
    await practice.ask(response=replace(CERTAIN, sources=(source(OPEN), source(CLOSED))))

    await practice.sender.run()

    assert practice.reviewers.sent == []


async def test_without_the_index_a_draft_waits(store: Store, practice: Practice) -> None:
    index = TwoPageIndex(away=True)
    waiting = Practice(store, index)
    await waiting.ask()
    await waiting.sender.run()
    assert waiting.reviewers.sent == []

    index.away = False
    waiting.clock.pass_by(hours=1)
    await waiting.sender.run()
    assert len(waiting.reviewers.sent) == 2


async def test_a_withdrawn_question_leaves_no_draft(practice: Practice, store: Store) -> None:
    asked = await practice.ask()
    await store.work.cancel(asked.id)

    await practice.sender.run()

    assert practice.reviewers.sent == []
    assert await count(store, ShadowDraftRow) == 0
    with pytest.raises(InteractionUnknown):
        await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)


async def test_what_some_have_of_a_question_withdrawn_meanwhile_is_removed(
    practice: Practice, store: Store
) -> None:
    asked = await practice.ask()
    practice.reviewers.away_after = 1
    practice.reviewers.meanwhile = partial(store.work.cancel, asked.id)

    await practice.sender.run()

    assert len(practice.reviewers.sent) == 1
    assert practice.reviewers.withdrawn == [asked.id]


async def test_one_reviewer_judges_and_may_change_it(practice: Practice, store: Store) -> None:
    asked = await practice.ask()
    await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)
    with pytest.raises(ActRefused):
        await practice.review.judge(asked.id, "disagree", "U2", practice.reviewers)
    with pytest.raises(ActRefused):
        await practice.review.judge(asked.id, "disagree", "U3", practice.reviewers)
    assert (await practice.review.report(CHANNEL)).all.right == 1

    await practice.review.judge(asked.id, "disagree", "U1", practice.reviewers)

    counts = (await practice.review.report(CHANNEL)).all
    assert (counts.right, counts.wrong) == (0, 1)
    acts = [(each.act, each.actor) for each in await store.audits.newest("default", 2)]
    assert acts == [("shadow.disagree", "slack:U1"), ("shadow.agree", "slack:U1")]


async def test_a_verdict_becomes_a_label(practice: Practice, store: Store) -> None:
    asked = await practice.ask()
    await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)
    collector = LabelCollector(
        "default",
        labels=store.labels,
        interactions=store.interactions,
        marks=store.jobs,
        channels={},
        now=lambda: datetime.now(UTC) + timedelta(minutes=1),
    )

    await collector.run()

    found = await store.labels.find("default", "candidate", limit=10)
    (label,) = [each for each in found if each.key.origin == "shadow"]
    assert (label.key.interaction_id, label.truth) == (asked.id, "right")
    assert label.pages == (OPEN.page_id,)


async def test_the_report_counts_by_space_and_has_no_words(practice: Practice) -> None:
    for name in ("m1", "m2", "m3"):
        asked = await practice.ask(name)
        await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)
    await practice.ask("m4", UNSURE)

    report = await practice.review.report(CHANNEL)

    assert report.all == DraftCounts(questions=4, drafts=3, right=3)
    assert report.spaces == {"IT": DraftCounts(questions=3, drafts=3, right=3)}
    low, high = report.all.interval
    assert low == pytest.approx(0.292, abs=0.001)
    assert high == 1.0
    assert "809" not in " ".join(report_lines(report))


async def test_one_act_makes_a_channel_live(practice: Practice, store: Store) -> None:
    assert await practice.review.go_live(CHANNEL, "mentions", actor="board:ada")
    assert not await practice.review.go_live(CHANNEL, "questions", actor="board:ada")

    policy = await store.policies.of("default", CHANNEL)
    assert policy == replace(SHADOW, answers="mentions")
    (act, *_) = await store.audits.newest("default", 1)
    assert (act.act, act.actor) == ("set policy", "board:ada")


async def test_questions_are_marked_where_the_bot_practises(
    practice: Practice, store: Store
) -> None:
    listening = ListeningPolicy(store.policies, store.interactions)
    there = message("vpn 809?", platform="slack", channel="C1", private=False)
    elsewhere = replace(there, thread=replace(there.thread, channel="C2"))

    assert (await listening.marked(there)).shadow
    assert not (await listening.marked(elsewhere)).shadow
    assert not (await listening.marked(replace(there, private=True))).shadow
    assert await listening.hears(replace(there, overheard=True), begins=True)


async def test_an_asker_is_told_once_that_the_bot_practises(store: Store) -> None:
    asked = message("vpn?", platform="slack", channel="C1", private=False)
    asked = replace(asked, shadow=True)

    told: Mapping[str, bool] = {
        "overheard": await is_told_of_practice(store.notes, replace(asked, overheard=True)),
        "first": await is_told_of_practice(store.notes, asked),
        "again": await is_told_of_practice(store.notes, asked),
    }

    assert told == {"overheard": False, "first": True, "again": False}


async def test_the_report_is_read_through_the_api(
    practice: Practice, store: Store, tmp_path: Path
) -> None:
    asked = await practice.ask()
    await practice.review.judge(asked.id, "agree", "U1", practice.reviewers)
    async with serving(store, settings_for(tmp_path, admin_token=TOKEN)) as client:
        read = await client.get("/api/v2/shadow", params={"channel": CHANNEL}, headers=BEARER)
        told = await read.json()
        missing = await client.get("/api/v2/shadow", headers=BEARER)

    assert missing.status == 422
    assert (told["channel"], told["questions"], told["right"]) == (CHANNEL, 1, 1)
    assert told["spaces"]["IT"]["share_right"] == 1.0
    assert told["at_least"] < 0.1
