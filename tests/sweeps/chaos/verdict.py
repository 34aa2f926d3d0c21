"""Watch what askers see, and hold it and the record against what was asked."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sqlalchemy import create_engine, text

from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.chaos.event_delivery import Receipt
from tests.sweeps.chaos.questions import PEOPLE, Question
from tests.sweeps.chaos.server_processes import Timeline

LONGEST_SECONDS = 30.0
"""All must be answered so long after the last fault."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot as it stands in a channel; ``at`` is when it appeared.

    ``only_for`` is set when one person alone sees it. ``names`` is the interaction that its
    metadata names; no person sees that.
    """

    at: float
    channel: str
    thread: str | None
    text: str
    only_for: str | None = None
    names: str = ""


@dataclass(slots=True)
class Verdict:
    """Who was not answered, or not as promised; question numbers, and pairs of them.

    not_accepted: no delivery was acknowledged, so the platform shows a failure; no loss.
    lost: acknowledged and never answered. twice: more than one reply is visible.
    unexpected: one reply, but not the answer. disorder: acknowledged before the next question of
    the thread was sent, and answered after it. strays: seen where nobody asked.
    seconds: from the last fault to the last first reply, None without faults.
    """

    asked: int
    not_accepted: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    twice: list[int] = field(default_factory=list)
    unexpected: list[int] = field(default_factory=list)
    disorder: list[tuple[int, int]] = field(default_factory=list)
    cards_lost: list[int] = field(default_factory=list)
    cards_twice: list[int] = field(default_factory=list)
    strays: list[Seen] = field(default_factory=list)
    pairs_in_order: int = 0
    waits: list[float] = field(default_factory=list)
    seconds: float | None = None

    @property
    def kept(self) -> bool:
        """Whether everything that is promised was kept."""
        broken = (
            self.lost,
            self.twice,
            self.unexpected,
            self.disorder,
            self.cards_lost,
            self.cards_twice,
            self.strays,
        )
        return not any(broken) and (self.seconds or 0.0) <= LONGEST_SECONDS

    @property
    def suspects(self) -> tuple[int, ...]:
        """Return the questions about which the record should be asked."""
        pairs = [number for pair in self.disorder for number in pair]
        alone = (self.lost, self.twice, self.unexpected, self.cards_lost, self.cards_twice)
        return tuple(sorted({*pairs, *(number for group in alone for number in group)}))

    @property
    def noteworthy(self) -> tuple[int, ...]:
        """Return the same and what was never accepted."""
        return (*self.suspects, *self.not_accepted)


Replies = Mapping[int, Sequence[Seen]]


def judge(
    questions: Sequence[Question],
    receipts: Mapping[int, Receipt],
    seen: Sequence[Seen],
    last_fault: float | None,
) -> Verdict:
    """Return what became of every question that was asked."""
    asked = [question for question in questions if question.number in receipts]
    public = [post for post in seen if post.only_for is None]
    replies, strays = attribute(asked, [post for post in public if post.channel != PEOPLE])
    cards = [post for post in public if post.channel == PEOPLE]
    verdict = Verdict(len(asked), strays=strays)
    for question in asked:
        _judge_replies(verdict, question, receipts[question.number], replies[question.number])
    _judge_cards(verdict, asked, replies, cards)
    _judge_order(verdict, asked, receipts, replies)
    first = [min(post.at for post in posts) for posts in replies.values() if posts]
    if last_fault is not None:
        verdict.seconds = max(0.0, max(first, default=0.0) - last_fault)
    return verdict


def attribute(
    questions: Iterable[Question], posts: Iterable[Seen]
) -> tuple[dict[int, list[Seen]], list[Seen]]:
    """Tell which question each visible reply answers, and which replies answer none.

    A person reads it from thread and text; only where these do not tell, its metadata is asked.
    """
    threads: dict[tuple[str, str], list[Question]] = defaultdict(list)
    replies: dict[int, list[Seen]] = {}
    strays: list[Seen] = []
    for question in questions:
        threads[question.channel, question.thread].append(question)
        replies[question.number] = []
    for post in posts:
        answered = _answered(threads.get((post.channel, post.thread or ""), []), post)
        if answered is None:
            strays.append(post)
        else:
            replies[answered.number].append(post)
    return replies, strays


def _answered(asked: Sequence[Question], post: Seen) -> Question | None:
    if len(asked) == 1:
        return asked[0]
    found = [question for question in asked if question.mark and question.mark in post.text]
    if len(found) == 1:
        return found[0]
    return next((question for question in asked if question.interaction_id == post.names), None)


def _judge_replies(
    verdict: Verdict, question: Question, receipt: Receipt, replies: Sequence[Seen]
) -> None:
    if receipt.acknowledged_at is None:
        verdict.not_accepted.append(question.number)
    elif not replies:
        verdict.lost.append(question.number)
    if len(replies) > 1:
        verdict.twice.append(question.number)
    if replies and question.mark not in replies[0].text:
        verdict.unexpected.append(question.number)
    if replies:
        verdict.waits.append(replies[0].at - receipt.sent_at)


def _judge_cards(
    verdict: Verdict, asked: Sequence[Question], replies: Replies, cards: Sequence[Seen]
) -> None:
    """People must be asked once where an asker was told so, and nowhere else."""
    for_people = [question for question in asked if question.card]
    for question in for_people:
        shown = sum(question.card in card.text for card in cards)
        told = any(question.mark in reply.text for reply in replies[question.number])
        if told and shown == 0:
            verdict.cards_lost.append(question.number)
        if shown > 1:
            verdict.cards_twice.append(question.number)
    known = [question.card for question in for_people]
    verdict.strays += [card for card in cards if not any(each in card.text for each in known)]


def _judge_order(
    verdict: Verdict,
    asked: Sequence[Question],
    receipts: Mapping[int, Receipt],
    replies: Replies,
) -> None:
    threads: dict[tuple[str, str], list[int]] = defaultdict(list)
    for question in asked:
        threads[question.channel, question.thread].append(question.number)
    for numbers in threads.values():
        for earlier, later in pairwise(numbers):
            acknowledged = receipts[earlier].acknowledged_at
            if acknowledged is None or acknowledged > receipts[later].sent_at:
                continue
            if not (replies[earlier] and replies[later]):
                continue
            if replies[earlier][0].at <= replies[later][0].at:
                verdict.pairs_in_order += 1
            else:
                verdict.disorder.append((earlier, later))


_COLUMNS = (
    "status",
    "owner",
    "epoch",
    "attempts",
    "posting",
    "posted_id",
    "failure",
    "created_at",
    "finished_at",
)
_SELECT = text("SELECT * FROM interactions WHERE id = :id")


def evidence_of(
    url: str,
    questions: Sequence[Question],
    receipts: Mapping[int, Receipt],
    seen: Sequence[Seen],
) -> list[str]:
    """Return lines about each question: its deliveries, its replies, its row in the record.

    ``url`` is the record's, as SQLAlchemy takes it.
    """
    if not questions:
        return []
    replies, _ = attribute(questions, seen)
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            rows = {
                question.number: connection.execute(_SELECT, {"id": question.interaction_id})
                .mappings()
                .first()
                for question in questions
            }
    finally:
        engine.dispose()
    lines: list[str] = []
    for question in questions:
        lines += _about(question, receipts[question.number], replies[question.number])
        row = rows[question.number]
        kept = {name: row[name] for name in _COLUMNS if name in row} if row else "nothing"
        lines.append(f"    record: {kept}")
    return lines


def sqlite_record(data_dir: Path) -> str:
    """Return the address of the record in a data directory."""
    return f"sqlite:///{data_dir / 'frontdesk.sqlite'}"


def _about(question: Question, receipt: Receipt, replies: Sequence[Seen]) -> list[str]:
    where = f"{question.channel} {question.thread}"
    acknowledged = receipt.acknowledged_at
    when = "never" if acknowledged is None else f"{acknowledged:.2f}"
    tried = f"{receipt.deliveries} deliveries, refused {receipt.refusals}"
    return [
        f"question {question.number} ({question.interaction_id}) in {where}: {question.text!r}",
        f"    sent {receipt.sent_at:.2f}, acknowledged {when}, {tried}",
        *(f"    reply {post.at:.2f} for {post.names}: {post.text[:80]!r}" for post in replies),
    ]


GLANCE_SECONDS = 0.02
"""How exactly the moment is known at which a post appeared."""


class Observer:
    """Sees every message that the bot leaves in a workspace, and when."""

    def __init__(self, slack: FakeSlack, timeline: Timeline) -> None:
        self._slack = slack
        self._timeline = timeline
        self._times: dict[int, float] = {}

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self._glance()
            await asyncio.sleep(GLANCE_SECONDS)

    def seen(self) -> list[Seen]:
        """Return what stands in the channels now, in the order in which it appeared."""
        self._glance()
        return [_seen(post, self._times[id(post)]) for post in self._slack.posts]

    def _glance(self) -> None:
        for post in self._slack.posts[len(self._times) :]:
            self._times[id(post)] = self._timeline.now()


def _seen(post: Post, at: float) -> Seen:
    metadata = post.payload.get("metadata") or {}
    names = str(metadata.get("event_payload", {}).get("interaction_id", ""))
    return Seen(at, post.channel, post.thread_ts, post.shown, post.only_for, names)
