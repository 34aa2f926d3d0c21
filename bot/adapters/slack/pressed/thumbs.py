"""The thumbs below an answer, as buttons."""

from __future__ import annotations

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.pressed.reasons import Reasons
from bot.adapters.slack.wire.actions import FEEDBACK
from bot.adapters.slack.wire.reply_to import response_url_of
from bot.chat.actions import NOTHING_TO_RATE, ActionRejected, ActionTargets, interaction_named
from bot.chat.votes import AnswerVotes
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import Vote
from bot.domain.types import Interaction

_THANKS = "Thanks, I'm glad it helped."
_VOTES: dict[str, Vote] = {"up": "up", "down": "down"}


class Thumbs:
    """Implements Registers: a press is a vote, in place of the person's earlier one."""

    def __init__(
        self,
        *,
        tenant: str,
        judging: AnswerVotes,
        subjects: ActionTargets,
        presses: Presses,
        reasons: Reasons,
        errands: BackgroundTasks,
    ) -> None:
        self._tenant = tenant
        self._judging = judging
        self._subjects = subjects
        self._presses = presses
        self._reasons = reasons
        self._errands = errands

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, FEEDBACK, self._vote)

    async def _vote(self, press: Press) -> None:
        named, _, value = press.value.partition(":")
        vote, interaction_id = _VOTES.get(named), interaction_named(value)
        if vote is None:
            raise ActionRejected(NOTHING_TO_RATE)
        interaction = await self._subjects.acted_on(interaction_id, press.presser)
        try:
            await self._judging.vote(self._tenant, interaction_id, press.user, vote)
        except (FeedbackInvalid, InteractionUnknown) as error:
            raise ActionRejected(NOTHING_TO_RATE) from error
        if vote == "up":
            self._presses.tell(press, _THANKS)
        else:
            self._errands.run(self._asked(press, interaction), what="asked for a reason")

    async def _asked(self, press: Press, interaction: Interaction) -> None:
        """Ask what was wrong; where a command was answered there is no thread, and no bot."""
        if response_url_of(interaction.message):
            await self._reasons.ask_at(press.response_url, interaction.id)
        else:
            await self._reasons.ask(interaction.message.thread, press.user, interaction.id)
