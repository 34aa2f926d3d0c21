"""Explain a recorded answer to a user, naming only pages that they may read now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bot.answering.asker_identity import Reader
from bot.answering.explanations.steps import (
    LONGEST_QUESTION,
    StatedConfidence,
    Step,
    stated_confidence,
    steps_of,
)
from bot.answering.explanations.view import feature_weights_of
from bot.answering.gate import Gate
from bot.answering.visibility import ReadablePassages, Visibility, is_open, visibility_in
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.markdown import clip
from bot.domain.messages import FoundPassage, InteractionId, Platform
from bot.domain.outcomes import explanation_title
from bot.domain.ports import Interactions
from bot.domain.texts import tr
from bot.domain.urls import public_link
from rag.types import Chunk

MOST_PAGES = 5

_FOUND_BY_TEXTS = {
    (True, True): tr("found by words and meaning"),
    (True, False): tr("found by words"),
    (False, True): tr("found by meaning"),
}
_FOUND_BY_MODEL = tr("found by a search of the language model")
_READ_AROUND = tr("read for context")


@dataclass(frozen=True, slots=True)
class PageSummary:
    """A page that was retrieved for an answer; ``section`` is that of its best passage, or "".

    ``url`` of this server's own pages has no host if no public URL is configured. ``found`` is the
    way of retrieval in words, to follow the title.
    """

    title: str
    section: str
    url: str
    found: str

    @property
    def label(self) -> str:
        """Return the title and the section, shortened."""
        return clip(f"{self.title} \u203a {self.section}" if self.section else self.title, 150)


def page_summaries(
    passages: Sequence[FoundPassage], may_read: Mapping[str, Chunk], public_url: str | None
) -> tuple[PageSummary, ...]:
    """Return the best five pages that may be read, best first.

    ``may_read`` are the current chunks that may be read, by id.
    """
    open_: dict[tuple[str, str], list[FoundPassage]] = {}
    for each in passages:
        if is_open(each, may_read):
            chunk = may_read[each.chunk_id]
            open_.setdefault((chunk.space, chunk.page_id), []).append(each)
    best = list(open_.values())[:MOST_PAGES]
    return tuple(_page_summary(found, may_read, public_url) for found in best)


def _page_summary(
    found: Sequence[FoundPassage], may_read: Mapping[str, Chunk], public_url: str | None
) -> PageSummary:
    best = may_read[found[0].chunk_id]
    return PageSummary(
        title=best.title,
        section=best.section if best.section != best.title else "",
        url=public_link(best.url, public_url),
        found=_found_by({name for each in found for name in each.signals}),
    )


def _found_by(signals: AbstractSet[str]) -> str:
    """Return how a page was found; by a model's search if the first did not find it."""
    if ways := _FOUND_BY_TEXTS.get(("keyword" in signals, "vector" in signals)):
        return ways
    return _FOUND_BY_MODEL if "planned" in signals else _READ_AROUND


NOTHING_YET = tr(
    "There is nothing to explain yet: I haven't answered a question of yours here, or it was "
    "withdrawn."
)
"""Reply to a user who asks why about their newest question and has none."""

_AT_WORK = tr("I'm still working on this. Ask again when there is an answer.")
_FAILED = tr(
    "Something went wrong, so there is no answer to explain. Please ask the question again."
)
_ACCESS_NOT_KNOWN = tr("I can't check right now which pages you can read, so I don't name any.")
_LEFT_OUT = tr("Pages that you can't read or that have changed since are left out.")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of an outcome as plain text without markup.

    ``question`` is shortened, on one line. ``sure`` is None if confidence did not decide the
    outcome. ``pages`` are best first, five at most; ``left_out`` is a sentence with the reason why
    pages are left out, or "".
    """

    title: str
    question: str
    steps: tuple[Step, ...]
    sure: StatedConfidence | None = None
    pages: tuple[PageSummary, ...] = ()
    left_out: str = ""

    @property
    def paragraphs(self) -> tuple[Step, ...]:
        """Return the steps, and how sure the answer was."""
        if self.sure is None:
            return self.steps
        text = tr(
            "{words}: {confidence}, and an answer needs {needed}",
            words=self.sure.words,
            confidence=self.sure.told,
            needed=self.sure.needed_told,
        )
        return (*self.steps, Step(tr("Confidence"), text))


class Explainer:
    """Explain recorded outcomes; pages are named only as far as the index allows now.

    With ``public_url``, links to this server's own pages are absolute.
    """

    def __init__(
        self,
        *,
        interactions: Interactions,
        gate: Gate,
        readable: ReadablePassages,
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
        """Explain an outcome to the user ``asker_id``, with the permissions of ``reader``.

        A question in progress gets an explanation that says so, not an error. For a channel, the
        caller must have checked that the user can see it; a private conversation is explained to
        its asker alone. Raises InteractionUnknown, also for a withdrawn question, and
        StoreUnavailable.
        """
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or not _may_be_explained_to(interaction, tenant, asker_id):
            raise InteractionUnknown(
                f"There is no interaction {interaction_id!r} that {asker_id!r} of tenant "
                f"{tenant!r} may be told of: it never was, was withdrawn, or is another person's "
                "private one."
            )
        return await self._explained(interaction, reader)

    async def visibility(self, tenant: str, interaction: Interaction, reader: Reader) -> Visibility:
        """Return what a reader may see now of the pages that an exchange names."""
        return await visibility_in(self._readable, tenant, [interaction], reader)

    async def newest(
        self, tenant: str, platform: Platform, channel: str, asker_id: str
    ) -> Interaction:
        """Return the newest question of ``asker_id`` in a channel that has an outcome.

        Overheard messages count, so that the bot's silence is explained too. Raises
        InteractionUnknown if there is none, and StoreUnavailable.
        """
        newest = await self._interactions.newest_of(tenant, platform, channel, asker_id)
        if newest is None:
            raise InteractionUnknown(
                f"There is no answered question of {asker_id!r} in {platform} channel {channel!r} "
                f"of tenant {tenant!r}: nothing was asked there, or all of it was withdrawn."
            )
        return newest

    async def _explained(self, interaction: Interaction, reader: Reader) -> Explanation:
        outcome, message = interaction.outcome, interaction.message
        question = clip(message.text, LONGEST_QUESTION)
        if outcome is None:
            return _unanswered(interaction, question)
        seen = await visibility_in(self._readable, message.thread.tenant, [interaction], reader)
        asked = seen.asked(interaction)
        readable = seen.explained(interaction, outcome)
        weights = feature_weights_of(readable, self._gate)
        return Explanation(
            title=explanation_title(outcome),
            question=seen.why_closed if asked is None else question,
            steps=steps_of(
                readable, weights, private=message.private, filters=message.search_filters
            ),
            sure=stated_confidence(outcome),
            pages=page_summaries(outcome.trace.passages, seen.passages, self._public_url),
            left_out=_left_out(outcome.trace.passages, seen),
        )


def _may_be_explained_to(interaction: Interaction, tenant: str, asker_id: str) -> bool:
    message = interaction.message
    if message.thread.tenant != tenant or interaction.withdrawn:
        return False
    return not message.private or message.author.id == asker_id


def _unanswered(interaction: Interaction, question: str) -> Explanation:
    if interaction.status == "working":
        return Explanation(tr("Not answered yet"), question, (Step(tr("Result"), _AT_WORK),))
    return Explanation(tr("Why no answer"), question, (Step(tr("Result"), _FAILED),))


def _left_out(passages: Sequence[FoundPassage], seen: Visibility) -> str:
    if seen.blind:
        return _ACCESS_NOT_KNOWN if passages else ""
    return _LEFT_OUT if seen.hidden(passages) else ""
