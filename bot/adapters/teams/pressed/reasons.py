"""Why an answer did not help: a form below the explanation of it, for its presser alone."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.showing.elements import field, sends, text_block
from bot.adapters.teams.wire.actions import WHY
from bot.adapters.teams.wire.body import Json, text_at
from bot.adapters.teams.wire.invokes import dialog_words
from bot.chat.actions import NOTHING_TO_RATE, ActionRejected, ActionTargets
from bot.chat.votes import (
    COMMENT_QUESTION,
    COMMENT_READERS,
    COMMENT_THANKS,
    COMMENT_TOO_LONG,
    REASON_LABELS,
    AnswerVotes,
    can_be_rated,
)
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, REASONS
from bot.domain.types import Interaction, InteractionId

_REASON, _COMMENT = "reason", "comment"
_QUESTION = "Was something wrong with it?"
_EMPTY = "Nothing was chosen or written, so I've noted nothing."


class Reasons:
    """Takes what was filled in below an explanation: it is a thumb down."""

    def __init__(self, *, tenant: str, judging: AnswerVotes, subjects: ActionTargets) -> None:
        self._tenant = tenant
        self._judging = judging
        self._subjects = subjects

    async def take(self, press: Press) -> Json:
        """Keep a reason, or words, or both. Raises Declined, StoreUnavailable, DeliveryFailed."""
        interaction = await self._subjects.acted_on(press.about, press.presser)
        reason, comment = text_at(press.data, _REASON), text_at(press.data, _COMMENT).strip()
        if not comment and reason not in REASONS:
            return dialog_words(_EMPTY)
        if len(comment) > LONGEST_COMMENT:
            raise ActionRejected(COMMENT_TOO_LONG)
        await self._keep(interaction.id, press.person.id, reason, comment)
        return dialog_words(COMMENT_THANKS)

    async def _keep(
        self, interaction_id: InteractionId, person_id: str, reason: str, comment: str
    ) -> None:
        known = reason if reason in REASONS else None
        try:
            await self._judging.say_why(
                self._tenant, interaction_id, person_id, reason=known, comment=comment
            )
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error


def form_of(interaction: Interaction) -> tuple[Sequence[Json], Sequence[Json]]:
    """Return the fields and the button that ask what was wrong; none where nothing is judged."""
    if not can_be_rated(interaction.outcome):
        return (), ()
    choices = [
        {"title": label.rstrip("\u2026"), "value": code} for code, label in REASON_LABELS.items()
    ]
    asked = {
        "type": "Input.ChoiceSet",
        "id": _REASON,
        "label": _QUESTION,
        "style": "expanded",
        "separator": True,
        "choices": choices,
    }
    said = field(_COMMENT, COMMENT_QUESTION, lines=True, most=LONGEST_COMMENT)
    hint = text_block(COMMENT_READERS, isSubtle=True, size="Small")
    return (asked, said, hint), (sends("Send", WHY, interaction.id),)
