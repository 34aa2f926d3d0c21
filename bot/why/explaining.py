"""Why this answer, or why none, for whoever asks: in words, and within what they may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.errors import InteractionUnknown
from bot.domain.text.markdown import clip
from bot.domain.types import FoundPassage, Interaction, InteractionId, Outcome, Platform
from bot.escalations.reading import Readable, Sight, sight
from bot.readers import Reader
from bot.why.pages import PageRead, leaves_out, pages_read
from bot.why.ports import Recorded, Weighs
from bot.why.steps import LONGEST_QUESTION, Step, steps_of, title_of
from bot.why.sureness import Sure, sure_of
from bot.why.view import weights_of

NOTHING_YET = (
    "There is nothing to explain yet: you asked me nothing here that I have answered, or it was "
    "withdrawn."
)
"""For who asks why of their newest question, and has none."""

_AT_WORK = "I am still working on this. Ask again when there is an answer."
_NEVER = "This did not work, so there is no answer to explain. Please ask the question again."
_BLIND = "I can't tell right now which of the pages you may read, so I name none."
_LEFT_OUT = "Pages that you may not read, or that have changed since, are left out."


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a question got what it got, in words for a colleague, without any markup.

    ``question`` is what was asked, on one line and shortened. ``sure`` is None where nothing was
    judged. ``pages`` are best first, five at most; ``left_out`` is a sentence that says why there
    are not more of them, or "".
    """

    title: str
    question: str
    steps: tuple[Step, ...]
    sure: Sure | None = None
    pages: tuple[PageRead, ...] = ()
    left_out: str = ""


class Explaining:
    """Explains from the record; what is named of pages is bounded by the index, now.

    With ``public_url`` the addresses of this server's own pages open from anywhere.
    """

    def __init__(
        self,
        *,
        interactions: Recorded,
        gate: Weighs,
        readable: Readable,
        public_url: str | None = None,
    ) -> None:
        self._interactions = interactions
        self._gate = gate
        self._readable = readable
        self._public_url = public_url

    async def explain(
        self,
        tenant: str,
        interaction_id: InteractionId,
        reader: Reader,
        *,
        asker_id: str,
    ) -> Explanation:
        """Explain an answer to ``asker_id``, who may read what ``reader`` may.

        What is not answered yet is told to be at work, without an error. Of a channel, the caller
        vouches that they can see it; a private conversation is explained to its asker alone.
        Raises InteractionUnknown, also for what was withdrawn, and StoreUnavailable.
        """
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or not _may_be_told(interaction, tenant, asker_id):
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r} that {asker_id!r} of tenant "
                f"{tenant!r} may be told of: it never was, was withdrawn, or is another person's "
                "private one."
            )
        return await self._explained(interaction, reader, asker_id)

    async def explain_newest(
        self,
        tenant: str,
        platform: Platform,
        channel: str,
        reader: Reader,
        *,
        asker_id: str,
    ) -> Explanation:
        """Explain what ``asker_id`` asked last in a channel, of what has an outcome.

        What the bot overheard counts, so that its silence is explained too. Raises
        InteractionUnknown when there is nothing, and StoreUnavailable.
        """
        newest = await self.newest(tenant, platform, channel, asker_id)
        return await self._explained(newest, reader, asker_id)

    async def newest(
        self, tenant: str, platform: Platform, channel: str, asker_id: str
    ) -> Interaction:
        """Return what ``explain_newest`` explains, to find out who may read along. Raises as it."""
        newest = await self._interactions.newest_of(tenant, platform, channel, asker_id)
        if newest is None:
            raise InteractionUnknown(
                f"There is no answered question of {asker_id!r} in {platform} channel {channel!r} "
                f"of tenant {tenant!r}: nothing was asked there, or all of it was withdrawn."
            )
        return newest

    async def _explained(
        self, interaction: Interaction, reader: Reader, asker_id: str
    ) -> Explanation:
        outcome, message = interaction.outcome, interaction.message
        question = clip(message.text, LONGEST_QUESTION)
        if outcome is None:
            return _unanswered(interaction, question)
        own = message.author.id == asker_id
        seen = await sight(self._readable, message.thread.tenant, [interaction], reader)
        asked = seen.asked(interaction)
        return Explanation(
            title=title_of(outcome),
            question=seen.why_closed if asked is None else question,
            steps=self._steps(
                seen.explained(interaction, outcome), private=message.private, own=own
            ),
            sure=sure_of(outcome),
            pages=pages_read(outcome.trace.passages, seen.passages, self._public_url),
            left_out=_left_out(outcome.trace.passages, seen),
        )

    def _steps(self, outcome: Outcome, *, private: bool, own: bool) -> tuple[Step, ...]:
        weights = weights_of(outcome, self._gate)
        return steps_of(outcome, weights, private=private, own=own)


def _may_be_told(interaction: Interaction, tenant: str, asker_id: str) -> bool:
    message = interaction.message
    if message.thread.tenant != tenant or interaction.withdrawn:
        return False
    return not message.private or message.author.id == asker_id


def _unanswered(interaction: Interaction, question: str) -> Explanation:
    if interaction.status == "working":
        return Explanation("Not answered yet", question, (Step("Result", _AT_WORK),))
    return Explanation("Why no answer", question, (Step("Result", _NEVER),))


def _left_out(passages: Sequence[FoundPassage], seen: Sight) -> str:
    if seen.blind:
        return _BLIND if passages else ""
    return _LEFT_OUT if leaves_out(passages, seen.passages) else ""
