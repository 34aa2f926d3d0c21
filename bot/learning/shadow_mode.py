"""Shadow mode: send drafts to a channel's reviewers, take their verdicts, and report on them.

In a channel in shadow mode the bot posts nothing. What it would have said is a draft, recorded with
the question in one transaction (bot.store.work), and sent to each reviewer by a direct message: an
ephemeral one is lost when they are away. It is made for the channel's audience, whoever reviews.
Reviewers are members of the channel; the platform is asked when a draft is sent and when a verdict
is given, and without its answer nothing is sent or taken.

Where a draft was posted is in a note for each reviewer, written before and after: a process that
dies in between is followed by one that looks the draft up, where the platform can be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol, runtime_checkable

import structlog

from bot.answering.asker_identity import EVERYONE_PRINCIPALS, Reader
from bot.answering.evaluation.certificate import upper_bound
from bot.answering.visibility import ReadablePassages, visibility_in
from bot.domain.errors import ActRefused, DeliveryFailed, DeliveryRefused, InteractionUnknown
from bot.domain.interactions import Delivery, Interaction, PostedRef
from bot.domain.messages import AnswerMode, InteractionId, Message, Platform, Policy
from bot.domain.outcomes import as_given, is_draft
from bot.domain.ports import Interactions, Notes, Policies
from bot.domain.texts import tr
from bot.domain.urls import with_public_links
from bot.inbox.outbox import pause_before

JOB = "shadow_drafts"
_AT_ONCE = 20
_RETRY_FOR = timedelta(days=1)
_EACH_SIDE = 0.975
"""Confidence of either bound of an interval that holds with 95 %."""

log = structlog.get_logger(__name__)

Verdict = Literal["agree", "disagree"]


@dataclass(frozen=True, slots=True)
class ShadowDraft:
    """A draft in the record; ``reviewer`` (``platform:id``) is who judged it, "" before.

    ``attempts``: how often it could not be sent to all reviewers.
    """

    interaction_id: InteractionId
    channel: str
    at: datetime
    attempts: int = 0
    verdict: str = ""
    reviewer: str = ""


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """What became of a channel's questions, or of the drafts from one space of it.

    ``questions`` counts all that were asked there; of a space, those with a draft.
    """

    questions: int = 0
    drafts: int = 0
    right: int = 0
    wrong: int = 0

    @property
    def judged(self) -> int:
        """How many drafts have a verdict."""
        return self.right + self.wrong

    @property
    def share_right(self) -> float | None:
        """The share of right ones among the judged, None without one."""
        return self.right / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the share of right ones that hold with 95 % (Clopper-Pearson)."""
        return (
            1.0 - upper_bound(self.wrong, self.judged, _EACH_SIDE),
            upper_bound(self.right, self.judged, _EACH_SIDE),
        )

    @property
    def words(self) -> str:
        """The counts in a sentence."""
        judged = f"{self.right} right, {self.wrong} wrong"
        if self.share_right is None:
            return f"would have answered {self.drafts} of {self.questions}; none is judged yet"
        low, high = self.interval
        return (
            f"would have answered {self.drafts} of {self.questions}; {judged}: "
            f"{self.share_right:.0%} right (95 %: {low:.0%} to {high:.0%})"
        )


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """The counts of a channel, as a whole and by the space of the first cited page."""

    channel: str
    all: DraftCounts
    spaces: Mapping[str, DraftCounts]


def report_lines(report: ShadowReport) -> Sequence[str]:
    """Return a report in lines, the whole channel first."""
    spaces = (f"  {name or 'no space'}: {each.words}" for name, each in report.spaces.items())
    return (f"{report.channel}: {report.all.words}", *spaces)


class ShadowDrafts(Protocol):
    """The drafts in the record. Raises StoreUnavailable."""

    async def due(self, tenant: str, now: datetime, limit: int) -> Sequence[ShadowDraft]:
        """Return the drafts that are to be sent, oldest first."""
        ...

    async def settle(self, draft: ShadowDraft, failure: str = "") -> None:
        """Record that a draft was sent to all reviewers, or why it never will be."""
        ...

    async def later(self, draft: ShadowDraft, at: datetime, failure: str) -> None:
        """Record that not all reviewers could be reached, and the time of the next attempt."""
        ...

    async def get(self, tenant: str, interaction_id: InteractionId) -> ShadowDraft | None: ...

    async def judge(
        self, tenant: str, interaction_id: InteractionId, verdict: Verdict, reviewer: str
    ) -> bool:
        """Record a verdict with its audit row; return False if another reviewer's is there."""
        ...

    async def counts(self, tenant: str, channel: str) -> Mapping[str, DraftCounts]:
        """Return the counts by space; "" has the questions without a draft."""
        ...


@runtime_checkable
class ReviewsDrafts(Protocol):
    """Optional capability of a channel: send drafts to reviewers, in a chat with each alone."""

    @property
    def platform(self) -> Platform: ...

    async def is_reviewer(self, message: Message, person_id: str) -> bool:
        """Return whether a person is a colleague and a member of a question's channel, as of now.

        Raises DeliveryFailed.
        """
        ...

    async def send_draft(self, draft: Delivery, reviewer: str, *, again: bool) -> PostedRef:
        """Send a draft with two buttons; ``again``: an earlier attempt may have succeeded.

        Raises DeliveryFailed, DeliveryRefused.
        """
        ...

    async def withdraw_drafts(self, message: Message) -> None:
        """Delete what reviewers have of a question. Raises DeliveryFailed, StoreUnavailable."""
        ...


def draft_note(message: Message, reviewer: str = "") -> str:
    """Return the key of the note on where a reviewer's draft is; without one, their prefix."""
    return f"{message.thread.platform}:draft:{message.interaction_id}:{reviewer}"


class DraftSender:
    """Sends due drafts to their reviewers.

    Args:
        tenant: The company.
        platforms: Those that can send drafts.
        now: Returns the current time.
        public_url: Base URL of our own pages, for links.
    """

    def __init__(
        self,
        tenant: str,
        *,
        drafts: ShadowDrafts,
        interactions: Interactions,
        policies: Policies,
        notes: Notes,
        readable: ReadablePassages,
        platforms: Mapping[Platform, ReviewsDrafts],
        now: Callable[[], datetime],
        public_url: str | None = None,
    ) -> None:
        self._tenant = tenant
        self._drafts = drafts
        self._interactions = interactions
        self._policies = policies
        self._notes = notes
        self._readable = readable
        self._platforms = platforms
        self._now = now
        self._public_url = public_url

    async def run(self) -> bool:
        """Send what is due, a bounded number; return whether there is more."""
        due = await self._drafts.due(self._tenant, self._now(), _AT_ONCE)
        for draft in due:
            await self._send(draft)
        return len(due) == _AT_ONCE

    async def _send(self, draft: ShadowDraft) -> None:
        asked = await self._interactions.get(draft.interaction_id)
        if asked is None or asked.withdrawn or asked.outcome is None:
            return
        platform = self._platforms.get(asked.message.thread.platform)
        policy = await self._policies.of(self._tenant, draft.channel) or Policy()
        if platform is None or not policy.reviewers:
            await self._drafts.settle(draft, "No reviewer is named, or the platform has none.")
            return
        try:
            if not await self._is_open(asked):
                await self._drafts.settle(draft, "Not everyone may read its pages any more.")
                return
            reached = await self._send_to_all(asked, platform, sorted(policy.reviewers))
        except DeliveryFailed as error:
            # Some may have it already: what follows holds for them as well.
            await self._later(draft, error)
        else:
            await self._drafts.settle(draft, "" if reached else "No reviewer is in the channel.")
        now = await self._interactions.get(draft.interaction_id)
        if now is None or now.withdrawn:
            await platform.withdraw_drafts(asked.message)

    async def _is_open(self, asked: Interaction) -> bool:
        """Return whether everyone may read all that a draft cites. Raises DeliveryFailed."""
        reader = Reader(EVERYONE_PRINCIPALS)
        seen = await visibility_in(self._readable, self._tenant, [asked], reader)
        if seen.blind:
            raise DeliveryFailed("The index can't say who may read the pages.")
        return asked.outcome is not None and seen.shows(asked.outcome.response)

    async def _send_to_all(
        self, asked: Interaction, platform: ReviewsDrafts, reviewers: Sequence[str]
    ) -> int:
        """Send a draft to those who do not have it; return how many have it then.

        One who can't be reached does not keep it from the others. Raises DeliveryFailed then.
        """
        reached, failed = 0, None
        for reviewer in reviewers:
            try:
                reached += await self._send_to(asked, platform, reviewer)
            except DeliveryRefused as error:
                log.warning("draft.refused", reviewer=reviewer, why=str(error))
            except DeliveryFailed as error:
                failed = error
        if failed is not None:
            raise failed
        return reached

    async def _send_to(self, asked: Interaction, platform: ReviewsDrafts, reviewer: str) -> bool:
        message, key = asked.message, draft_note(asked.message, reviewer)
        noted = await self._notes.get(self._tenant, key)
        if noted:
            return True
        if not await platform.is_reviewer(message, reviewer):
            return False
        await self._notes.put(self._tenant, key, "", interaction_id=asked.id)
        draft = draft_delivery(asked, self._public_url, reviewer)
        posted = await platform.send_draft(draft, reviewer, again=noted is not None)
        place = f"{posted.channel} {posted.id}"
        await self._notes.put(self._tenant, key, place, interaction_id=asked.id)
        return True

    async def _later(self, draft: ShadowDraft, error: DeliveryFailed) -> None:
        now = self._now()
        if now - draft.at > _RETRY_FOR:
            await self._drafts.settle(draft, str(error))
            return
        pause = max(pause_before(draft.attempts + 1), error.retry_after_seconds or 0.0)
        await self._drafts.later(draft, now + timedelta(seconds=pause), str(error))
        log.warning("draft.postponed", interaction_id=draft.interaction_id, why=str(error))


def draft_delivery(asked: Interaction, public_url: str | None, reviewer: str) -> Delivery:
    """Return a draft as it is posted to a reviewer. Raises InteractionUnknown if there is none."""
    outcome = asked.outcome
    if outcome is None or not is_draft(outcome):
        raise InteractionUnknown(tr("There is no draft {id}.", id=repr(asked.id)))
    shown = replace(with_public_links(as_given(outcome), public_url), private=None)
    return Delivery(f"{asked.id}:draft:{reviewer}", asked.id, asked.message, shown)


LIVE_MODES: tuple[AnswerMode, ...] = ("mentions", "questions")
"""The modes in which the bot answers."""

NOT_A_REVIEWER = tr("Only this channel's reviewers can judge drafts.")
JUDGED_ALREADY = tr("Another reviewer has already judged this draft.")
VERDICT_WORDS: Mapping[Verdict, str] = {
    "agree": tr("You said: right. Press the other button to change it."),
    "disagree": tr("You said: wrong. Press the other button to change it."),
}


class DraftReview:
    """Takes the verdicts of reviewers, reports on a channel, and makes it live.

    Args:
        tenant: The company.
    """

    def __init__(
        self,
        tenant: str,
        *,
        drafts: ShadowDrafts,
        interactions: Interactions,
        policies: Policies,
    ) -> None:
        self._tenant = tenant
        self._drafts = drafts
        self._interactions = interactions
        self._policies = policies

    async def judge(
        self, interaction_id: InteractionId, verdict: Verdict, person_id: str, by: ReviewsDrafts
    ) -> Interaction:
        """Record a verdict; the same reviewer may change it. Return the question.

        ``person_id`` is verified by the platform. Raises ActRefused, worded for the reviewer;
        InteractionUnknown, DeliveryFailed, StoreUnavailable.
        """
        draft = await self._drafts.get(self._tenant, interaction_id)
        asked = await self._interactions.get(interaction_id)
        if draft is None or asked is None or asked.withdrawn:
            raise InteractionUnknown(tr("There is no draft {id}.", id=repr(interaction_id)))
        policy = await self._policies.of(self._tenant, draft.channel) or Policy()
        here = asked.message.thread.platform == by.platform
        if not (here and person_id in policy.reviewers):
            raise ActRefused(NOT_A_REVIEWER)
        if not await by.is_reviewer(asked.message, person_id):
            raise ActRefused(NOT_A_REVIEWER)
        reviewer = f"{by.platform}:{person_id}"
        if not await self._drafts.judge(self._tenant, interaction_id, verdict, reviewer):
            raise ActRefused(JUDGED_ALREADY)
        return asked

    async def report(self, channel: str) -> ShadowReport:
        """Return the counts of a channel, ``platform:channel``; no words. Raises StoreUnavailable.

        All that was asked there in shadow mode counts, as long as it is kept.
        """
        counts = await self._drafts.counts(self._tenant, channel)
        total = DraftCounts(
            sum(each.questions for each in counts.values()),
            sum(each.drafts for each in counts.values()),
            sum(each.right for each in counts.values()),
            sum(each.wrong for each in counts.values()),
        )
        spaces = {name: each for name, each in counts.items() if each.drafts}
        return ShadowReport(channel, total, spaces)

    async def go_live(self, channel: str, mode: AnswerMode, *, actor: str) -> bool:
        """Let the bot answer in a channel that is in shadow mode; return whether it was in it.

        The change of the policy is audited. Raises StoreUnavailable.
        """
        policy = await self._policies.of(self._tenant, channel)
        if policy is None or policy.answers != "shadow":
            return False
        live = replace(policy, answers=mode)
        return await self._policies.set(self._tenant, channel, live, actor=actor, instead_of=policy)
