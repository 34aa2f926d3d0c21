"""Keep an expert's answer of a case for others, in a form that opens from the case's card.

The form has the draft that the board's page has, and the same rules hold: of the asker's words only
those that others may see, and no readers but those whom the case was for.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.answering.asker_identity import Reader
from bot.domain.cases import Actor, expert_of
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.messages import InteractionId, Person, Platform
from bot.domain.ports import Directory
from bot.domain.texts import tr
from bot.learning.answer_review import AnswerReview
from bot.learning.question_words import Viewer, person_key
from bot.learning.reviewed_answers import AnswerText, ReviewedAnswer
from rag.types import EVERYONE, Principal

_KEPT_ALREADY = tr("An answer of this case is already kept. Change it on the board under Answers.")
_TOO_LONG = tr(
    "The replies are too long for this form. Keep the answer on the board under Answers."
)
_ASK_ANEW = tr("Put the question in your own words; the asker's wording is private.")
_AS_ASKED = tr("As a colleague would ask it.")
_LIVE = tr("Published: anyone who asks this gets it within a minute.")
_IN_REVIEW = tr("Saved. It is waiting for another expert's review on the board under Answers.")


@dataclass(frozen=True, slots=True)
class KeepingForm:
    """A form to keep an answer: what is drafted, who may be chosen to read it, and what is near.

    ``send`` is the label of its button.
    """

    content: AnswerText
    hint: str
    readers: tuple[Principal, ...]
    near: tuple[str, ...]
    send: str


class AnswerKeeping:
    """Opens forms to keep answers for experts in a chat, and takes what they send."""

    def __init__(self, tenant: str, review: AnswerReview, directory: Directory) -> None:
        self._tenant = tenant
        self._review = review
        self._directory = directory

    @property
    def outcome(self) -> str:
        """What an expert is told whose answer was taken."""
        return _LIVE if self._approves else _IN_REVIEW

    async def form(
        self, platform: Platform, case_id: InteractionId, expert: Person, most: int
    ) -> KeepingForm:
        """Return the form of a case for a text of ``most`` characters.

        Raises ActRefused, InteractionUnknown, StoreUnavailable.
        """
        if await self._review.of_case(case_id):
            raise ActRefused(_KEPT_ALREADY)
        draft, near = await self._review.draft(case_id, await self._viewer(platform, expert))
        if draft.bound.unknown:
            raise ActRefused(draft.bound.unknown)
        if len(draft.content.text) > most:
            raise ActRefused(_TOO_LONG)
        return KeepingForm(
            draft.content,
            _ASK_ANEW if draft.is_asked_anew else _AS_ASKED,
            tuple(sorted(draft.bound.offered, key=lambda each: (each != EVERYONE, each))),
            tuple(each.question for each in near),
            tr("Approve") if self._approves else tr("Submit for review"),
        )

    async def keep(
        self, platform: Platform, case_id: InteractionId, expert: Person, written: AnswerText
    ) -> None:
        """Keep an answer, and approve it or send it to review; the same one twice is one.

        Raises ActRefused, InteractionUnknown, StoreUnavailable.
        """
        actor, viewer = expert_of(platform, expert), await self._viewer(platform, expert)
        own = await self._own_draft(case_id, viewer, actor)
        kept = own or await self._review.keep(case_id, written, actor)
        if kept.version:
            return
        act = self._review.acts_on_new[0]
        await self._review.act(kept.id, kept.version, act, written, viewer=viewer, actor=actor)

    async def _own_draft(
        self, case_id: InteractionId, viewer: Viewer, actor: Actor
    ) -> ReviewedAnswer | None:
        """Return the draft of an expert whose form was refused, and who corrected it since."""
        kept = await self._review.of_case(case_id)
        if not kept:
            return None
        try:
            answer = (await self._review.one(kept, viewer, actor)).answer
        except InteractionUnknown:
            # Another expert's, which is not this one's to see.
            return None
        return answer if answer.owner == actor.id and not answer.version else None

    @property
    def _approves(self) -> bool:
        return self._review.acts_on_new[0] == "approve"

    async def _viewer(self, platform: Platform, expert: Person) -> Viewer:
        principals = await self._directory.principals(self._tenant, expert)
        ids = frozenset({expert.id, person_key(expert), expert_of(platform, expert).id})
        return Viewer(ids, Reader(principals | {EVERYONE}))
