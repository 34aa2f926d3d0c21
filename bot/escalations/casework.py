"""Act on escalations and build their views, for every platform; link to their questions.

An act submitted by a form is done once, however often the form is sent. A view is limited to what
its reader may read, and has no pages while the index is unavailable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from weakref import WeakValueDictionary

import structlog

from bot.answering.permitted_views import (
    EarlierExchange,
    context_exchanges,
    exchange_of,
    finding_of,
    searched_exchange,
)
from bot.answering.visibility import ReadablePassages, Visibility, recorded_passages
from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
)
from bot.domain.errors import ActRefused, BotError, InteractionUnknown
from bot.domain.interactions import Feedback, Interaction
from bot.domain.markdown import clip
from bot.domain.messages import InteractionId, Platform, Thread
from bot.domain.ports import Interactions, Notes
from bot.domain.texts import tr
from bot.escalations import lifecycle, showing_more
from bot.escalations.case_view import CaseView
from bot.escalations.history import as_corrected
from bot.escalations.ports import Cases, LinksBack
from rag.errors import RagError
from rag.types import BoundedDict, Principal

LONGEST_REPLY = 4000
"""Maximum characters of the text of an act."""

_BEFORE = 5
"""Maximum number of earlier exchanges in a view."""
_NAME_LENGTH = 80
_SAYS_NOTHING: frozenset[Act] = lifecycle.MORE_ACTS.union({"claim", "release", "retract"})

log = structlog.get_logger(__name__)


class Casework:
    """Acts on escalations and builds their views."""

    def __init__(
        self, *, cases: Cases, interactions: Interactions, readable: ReadablePassages
    ) -> None:
        self._cases = cases
        self._interactions = interactions
        self._readable = readable

    async def act(
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        """Apply an act if allowed; ``text`` is the reply, the reason or the note, plain text.

        Raises InteractionUnknown, EscalationTaken, ActRefused; the latter two are worded for the
        actor.
        """
        if act == "ask_more" and not await self._earlier(await self._escalated(tenant, case_id)):
            raise ActRefused(showing_more.NOTHING_EARLIER)
        return await self._cases.act(tenant, case_id, act, actor, checked(act, text), detail)

    async def open_in(self, thread: Thread) -> Case | None:
        """Return the newest case of a thread that is not settled; None without one."""
        return next(iter(await self._cases.open_in(thread)), None)

    async def view(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        """Return the view of a case with the retrieved pages that ``reader`` may read.

        Raises InteractionUnknown; rag.errors.IndexUnavailable while access can't be checked.
        """
        case = await self._cases.get(tenant, case_id)
        escalated = None if case is None else await self._interactions.get(case_id)
        if case is None or escalated is None:
            raise _unknown(case_id)
        before = await self._before(escalated)
        explained = searched_exchange(escalated, before)
        found = [each for one in (explained, *before) for each in recorded_passages(one)]
        seen = Visibility(await self._readable.readable(tenant, found, reader))
        return CaseView(
            case=case,
            steps=as_corrected(await self._cases.steps(tenant, case_id)),
            finding=finding_of(explained, seen),
            before=tuple(exchange_of(each, seen) for each in before),
            judged=await self._judged(explained),
            more=bool(_ids(await self._earlier(escalated)) - _ids(before)),
        )

    async def more(
        self, tenant: str, case_id: InteractionId, actor: Actor, reader: frozenset[Principal]
    ) -> tuple[EarlierExchange, ...]:
        """Return what the asker agreed to show, oldest first, as far as ``reader`` may read it.

        For who has the case; once it is shown, record it by the act "see_more". Raises
        InteractionUnknown, EscalationTaken, ActRefused.
        """
        case = (await self.bare(tenant, case_id)).case
        is_asker = actor.has(case.asker_id)
        lifecycle.after(case.status, "see_more", actor, is_asker=is_asker)
        showing_more.changes_request(await self._cases.steps(tenant, case_id), "see_more", 0)
        earlier = await self._earlier(await self._escalated(tenant, case_id))
        found = [each for one in earlier for each in recorded_passages(one)]
        try:
            seen = Visibility(await self._readable.readable(tenant, found, reader))
        except RagError as error:
            log.warning("escalation.index_unavailable", why=str(error))
            raise ActRefused(showing_more.INDEX_UNAVAILABLE) from error
        shown = (exchange_of(each, seen) for each in earlier)
        return tuple(filter(showing_more.is_worth_showing, shown))

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        """Return the view of a case, without pages while the index is unavailable.

        Experts need the case even without the index. Raises InteractionUnknown.
        """
        try:
            return await self.view(tenant, case_id, reader)
        except RagError as error:
            log.warning("escalation.index_unavailable", why=str(error))
        return await self.bare(tenant, case_id)

    async def bare(self, tenant: str, case_id: InteractionId) -> CaseView:
        """Return a case with its history alone, without pages and earlier exchanges.

        Raises InteractionUnknown.
        """
        case = await self._cases.get(tenant, case_id)
        if case is None:
            raise _unknown(case_id)
        steps = await self._cases.steps(tenant, case_id)
        return CaseView(case=case, steps=as_corrected(steps), finding=None, before=())

    async def _escalated(self, tenant: str, case_id: InteractionId) -> Interaction:
        escalated = await self._interactions.get(case_id)
        if escalated is None or escalated.message.thread.tenant != tenant:
            raise _unknown(case_id)
        return escalated

    async def _earlier(self, escalated: Interaction) -> tuple[Interaction, ...]:
        """Return the exchanges that are shown if the asker agrees, oldest first."""
        message = escalated.message
        there = await self._interactions.history(message.thread, message, showing_more.READ_FOR_IT)
        return showing_more.shown_of(escalated, there)

    async def _judged(self, explained: Interaction) -> Feedback | None:
        """Return the asker's thumbs down on an answer, if they said why."""
        asker = explained.message.author.id
        given = await self._interactions.feedback(explained.id)
        down = (each for each in given if each.vote == "down" and each.person_id == asker)
        return next((each for each in down if each.reason or each.comment), None)

    async def _before(self, escalated: Interaction) -> Sequence[Interaction]:
        """Return the exchanges that the question refers to, directly or indirectly, oldest first.

        Only those of the same asker: others' messages are not the asker's to pass on, and a
        personal chat is one thread with everything that its owner ever asked.
        """
        found: dict[InteractionId, Interaction] = {}
        wanted = list(context_exchanges(escalated))
        while wanted and len(found) < _BEFORE:
            each = await self._interactions.get(wanted.pop())
            if each is not None and each.id not in found and _belongs(each, escalated):
                found[each.id] = each
                wanted = [*context_exchanges(each), *wanted]
        return sorted(found.values(), key=lambda each: each.number)


def _belongs(each: Interaction, escalated: Interaction) -> bool:
    earlier, asked = each.message, escalated.message
    same = (earlier.thread, earlier.author.id) == (asked.thread, asked.author.id)
    return same and not each.withdrawn


def _ids(interactions: Sequence[Interaction]) -> frozenset[InteractionId]:
    return frozenset(each.id for each in interactions)


def _unknown(case_id: InteractionId) -> InteractionUnknown:
    return InteractionUnknown(f"There is no escalation {case_id!r}. It may be withdrawn.")


def checked(act: Act, text: str) -> str:
    """Return the stripped text of an act. Raises ActRefused."""
    if act in _SAYS_NOTHING:
        return ""
    stripped = text.strip()
    if len(stripped) > LONGEST_REPLY:
        raise ActRefused(
            tr(
                "The text has {length} characters; the maximum is {most}. Shorten it or send it in "
                "parts.",
                length=len(stripped),
                most=LONGEST_REPLY,
            )
        )
    if not stripped and act in _EMPTY_TEXTS:
        raise ActRefused(_EMPTY_TEXTS[act])
    return stripped


_EMPTY_TEXTS: Mapping[Act, str] = {
    "reply": tr("The reply is empty."),
    "amend": tr("The reply is empty."),
    "decline": tr("Enter a reason. It is sent to the asker."),
    "assign": tr("Enter why, and what is known so far. Only the team sees it."),
    "note": tr("The note is empty."),
}
"""Acts that need a text, and what their actor reads without one."""


async def expert_named(cases: Cases, tenant: str, person_id: str) -> Actor:
    """Return the expert whom a case is given to on the board or by the API. Raises ActRefused.

    There is no directory there, so they must have acted on a case before.
    """
    wanted = person_id.strip().lower()
    found = (each for each in await cases.experts(tenant) if each.id.lower() == wanted)
    expert = next(found, None)
    if expert is None:
        raise ActRefused(
            tr(
                "\u201c{name}\u201d has not answered anything here yet. Choose someone who has, or "
                "let them claim it.",
                name=clip(person_id, _NAME_LENGTH),
            )
        )
    return expert


_DONE = "done"


class IdempotentActs:
    """Apply the act of a form once, even if the form is sent twice.

    A note under the form's key records the submission. If a process died in between, the note is
    left open, and the case's history decides whether the act was done.
    """

    def __init__(self, *, tenant: str, casework: Casework, notes: Notes) -> None:
        self._tenant = tenant
        self._casework = casework
        self._notes = notes
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def say(
        self,
        key: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        words: str,
        detail: ActDetail = NO_DETAIL,
    ) -> None:
        """Apply an act with text, once per key, which identifies the form and its platform.

        Raises ActRefused, InteractionUnknown, StoreUnavailable.
        """
        # A platform sends a form once, its writer perhaps again.
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            times = await self._times_done(case_id, act, actor, words)
            if not await self._notes.first(self._tenant, key, str(times), interaction_id=case_id):
                before = await self._notes.get(self._tenant, key) or ""
                if before == _DONE or (before.isdecimal() and times > int(before)):
                    return
            await self._casework.act(self._tenant, case_id, act, actor, words, detail)
            await self._notes.put(self._tenant, key, _DONE, interaction_id=case_id)

    async def _times_done(self, case_id: InteractionId, act: Act, actor: Actor, words: str) -> int:
        """Return how often the actor has done the same act with the same text."""
        steps = (await self._casework.bare(self._tenant, case_id)).steps
        same = (act, actor.id, words.strip())
        return sum(same == (each.step, each.actor and each.actor.id, each.text) for each in steps)


LINK_TIMEOUT_SECONDS = 1.0
"""How long a page waits for a link before it is shown without one."""

_REMEMBERED = 1_000


class QuestionLinks:
    """Get links to questions from their platforms; links are cached, as they do not change.

    Args:
        interactions: Looks up interactions.
        channels: Channels that provide links, by platform.
        patience_seconds: Timeout of one request.
    """

    def __init__(
        self,
        interactions: Interactions,
        channels: Mapping[Platform, LinksBack],
        *,
        patience_seconds: float = LINK_TIMEOUT_SECONDS,
    ) -> None:
        self._interactions = interactions
        self._channels = channels
        self._patience = patience_seconds
        self._known = BoundedDict[InteractionId, str](_REMEMBERED)

    async def of(self, case_id: InteractionId) -> str | None:
        """Return the URL of a question's message, None if there is none."""
        if case_id not in self._known:
            link = await self._asked(case_id)
            if link is None:
                return None
            self._known[case_id] = link
        return self._known[case_id]

    async def _asked(self, case_id: InteractionId) -> str | None:
        asked = await self._interactions.get(case_id)
        channel = self._channels.get(asked.message.thread.platform) if asked else None
        if asked is None or channel is None:
            return None
        try:
            async with asyncio.timeout(self._patience):
                link = await channel.link(asked.message)
        except (BotError, TimeoutError) as error:
            log.warning("escalation.no_link", interaction_id=case_id, why=str(error) or "late")
            return None
        return link if link and link.startswith("https://") else None
