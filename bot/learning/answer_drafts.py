"""Draft an answer for the next one who asks, from what experts wrote in a case.

The text is the experts' words alone: without a model their replies as they are, with one only what
the checks of any answer find in them. The question's words are taken only if they are known beyond
their asker (bot.learning.question_words); else the expert writes the question anew. Readers are
never more than the case was for: what can't be told is readable by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog
from pydantic import BaseModel, Field

from bot.answering.admission import audience_of
from bot.answering.asker_identity import Reader
from bot.answering.visibility import recorded_passages
from bot.domain.cases import Case
from bot.domain.errors import ActRefused, BotError, DeliveryFailed, InteractionUnknown
from bot.domain.interactions import Interaction
from bot.domain.messages import Intent, InteractionId, Platform
from bot.domain.ports import Directory, Interactions, KnowsPublicChannels
from bot.domain.texts import tr
from bot.escalations.history import standing_replies
from bot.escalations.ports import Cases
from bot.learning.gap_checks import ModelAllowance, RecordsCalls
from bot.learning.gaps import normalised
from bot.learning.question_words import QuestionWords, Spread, Viewer
from bot.learning.reviewed_answers import (
    LONGEST_QUESTION,
    AnswerText,
    ReadersBound,
    ReviewedAnswers,
)
from prompts.files import PromptFile
from rag.answer.citations import check_part
from rag.answer.grounded import MOST_PARTS, StatedPart
from rag.answer.guardrails import must_be_quoted
from rag.answer.source_lines import number_lines
from rag.answer.verbatim_facts import unsupported_facts
from rag.errors import RagError
from rag.ports import ChatModel, SearchIndex
from rag.prompt_rendering import to_prompt
from rag.text.plain_text import addresses, plain_text, visible
from rag.types import EVERYONE, Chunk, Claim, Readers

PURPOSE = "answer_draft"
"""What the calls of models are recorded for."""

MODEL_VARIANTS = 3
LEAST_OWN_WORDS = 3
"""Words of a question from which on another text that contains it repeats it."""

_NO_BUDGET = tr(
    "The bot is paused, or today's model budget is used up. Write the answer yourself, or try "
    "again tomorrow."
)
_PAGE_GONE = tr(
    "A page found for this question is gone, so it is unclear who may read the answer. Write a "
    "standard answer or a wiki page instead."
)
_OUTSIDER = tr(
    "Somebody from outside the company asked this, so it is unclear which colleagues may read the "
    "answer. Write a standard answer instead."
)
_OWN_WORDS = tr("This repeats the asker's own words, which others must not see. Rephrase it.")
_NO_CASE = tr("This question no longer exists, so no answer can be drafted from it.")

log = structlog.get_logger(__name__)


class _PageGone(Exception):
    """A page that was found for a question is not in the index any more."""


class ModelDraft(BaseModel):
    """What the model is asked to give; prompts/draft_answer.md says what each field means."""

    parts: list[StatedPart] = Field(default_factory=list)
    question: str = ""
    variants: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft that is not kept yet, and who may be chosen to read it.

    ``is_asked_anew``: the asker's words belong to them, so the expert has to write the question.
    ``dropped`` counts what a model wrote and the experts did not say.
    """

    case: Case
    content: AnswerText
    bound: ReadersBound
    is_asked_anew: bool
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class DraftWriter:
    """Drafts with a chat model, of which every call is recorded."""

    model: ChatModel
    prompt: PromptFile
    calls: RecordsCalls
    allowance: ModelAllowance

    async def write(
        self, case_id: InteractionId, tenant: str, replies: Sequence[str], question: str
    ) -> tuple[AnswerText, int]:
        """Return what a model drafts and the replies say, and how many parts they don't.

        Raises RagError, ActRefused, StoreUnavailable.
        """
        shown = number_lines([_chunk(number, text) for number, text in enumerate(replies)])
        prompt = to_prompt(
            self.prompt, replies=list(map(visible, shown.passages)), question=visible(question)
        )
        if not await self.allowance.is_left(datetime.now(UTC)):
            raise ActRefused(_NO_BUDGET)
        try:
            answered = await self.model.structured(prompt, ModelDraft)
        except RagError as error:
            await self.calls.record(tenant, case_id, error.calls, PURPOSE)
            raise
        await self.calls.record(tenant, case_id, [answered.call], PURPOSE)
        if answered.value is None:
            raise ActRefused(
                tr("The model declined to draft an answer. The replies are unchanged.")
            )
        stated = answered.value.parts[:MOST_PARTS]
        # The question supports nothing: only what an expert said is kept.
        checks = [check_part(each.text, each.kind, each.lines, shown, "") for each in stated]
        claims = [each.claim for each in checks if each.claim is not None]
        proposed = (answered.value.question, *answered.value.variants[:MODEL_VARIANTS])
        asked = [each for each in map(_plain, proposed) if _is_safe(each, [question, *replies])]
        text = AnswerText(question or next(iter(asked), ""), _markdown(claims), tuple(asked))
        return text, len(stated) - len(claims)


class AnswerDrafts:
    """Drafts answers from cases, and tells who may read them.

    Args:
        tenant: The company.
        directory: Returns what an asker may read now.
        channels: Those that know which of their channels are public.
        writer: Drafts with a model; None without one.
        lasts: Until when an answer need not be looked at again.
    """

    def __init__(
        self,
        tenant: str,
        *,
        cases: Cases,
        interactions: Interactions,
        answers: ReviewedAnswers,
        words: QuestionWords,
        index: SearchIndex,
        directory: Directory,
        channels: Mapping[Platform, KnowsPublicChannels],
        writer: DraftWriter | None,
        lasts: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._cases = cases
        self._interactions = interactions
        self._answers = answers
        self._words = words
        self._index = index
        self._directory = directory
        self._channels = channels
        self._writer = writer
        self.lasts = lasts
        self._now = now

    @property
    def has_model(self) -> bool:
        """Whether a draft can be written by a model."""
        return self._writer is not None

    async def of_case(
        self, case_id: InteractionId, viewer: Viewer, *, with_model: bool = False
    ) -> Draft:
        """Return a draft for an expert. Raises ActRefused, InteractionUnknown, RagError."""
        case, asked = await self._case(case_id)
        known = await self.shared_question(asked, viewer)
        shared = await self._shared(asked, _own_texts(asked, case), viewer) if known else ()
        public = await self._is_public(asked)
        question = case.question if case.question in shared else known
        content = AnswerText(
            question=question,
            text="\n\n".join(await self._replies(case_id)),
            variants=_wordings(asked, question, known, shared),
            chosen=frozenset({EVERYONE}) if public else frozenset(),
            valid_until=self._now() + self.lasts,
        )
        draft = Draft(case, content, await self.bound(asked), is_asked_anew=not known)
        if not with_model or self._writer is None or not content.text:
            return draft
        return await self._by_model(draft, self._writer)

    async def shared_question(self, asked: Interaction, viewer: Viewer) -> str:
        """Return a question's words if everybody may see them; "" if they are its asker's own."""
        outcome = asked.outcome
        question = asked.message.text if outcome is None else outcome.trace.route.question
        return (await self._shown(asked, question, viewer)).get(asked.id, "")

    async def _shared(
        self, asked: Interaction, texts: Collection[str], viewer: Viewer
    ) -> frozenset[str]:
        """Return which of an asker's wordings everybody may see.

        That others asked the same in other words gives none of this asker's away.
        """
        shared = [each for each in texts if await self._shown(asked, each, viewer)]
        return frozenset(shared)

    async def _shown(
        self, asked: Interaction, text: str, viewer: Viewer
    ) -> Mapping[InteractionId, str]:
        spread = Spread(
            askers=await self._answers.askers(self._tenant, text),
            public=await self._is_public(asked),
        )
        # Nobody's own ids: the question becomes one that all readers of the answer see.
        anybody = replace(viewer, ids=frozenset())
        return await self._words.shown(self._tenant, [asked], anybody, {asked.id: spread})

    async def check_question(self, case_id: InteractionId, written: AnswerText) -> None:
        """Raise ActRefused if a question repeats words that belong to the asker of its case."""
        asked = await self._interactions.get(case_id)
        if asked is None or asked.withdrawn:
            return
        anybody = Viewer(frozenset(), await self._widest_reader(asked))
        case = await self._cases.get(self._tenant, case_id)
        wordings = _own_texts(asked, case)
        shared = await self._shared(asked, wordings, anybody)
        own = frozenset(map(normalised, wordings)) - frozenset(map(normalised, shared))
        texts = map(normalised, (written.question, *written.variants))
        if any(_repeats(text, own) for text in texts):
            raise ActRefused(_OWN_WORDS)

    async def bound(self, asked: Interaction | None) -> ReadersBound:
        """Return who may read an answer to a question, which may be gone."""
        if asked is None or asked.withdrawn:
            return ReadersBound(frozenset(), unknown=_NO_CASE)
        if asked.message.author.outsider:
            return ReadersBound(frozenset(), unknown=_OUTSIDER)
        author = asked.message.author
        try:
            principals = await self._directory.principals(self._tenant, author)
        except BotError as error:
            log.warning("answers.asker_not_known", why=str(error))
            principals = author.principals
        message = replace(asked.message, author=replace(author, principals=principals))
        offered = audience_of(message).principals
        try:
            return ReadersBound(offered, await self._page_readers(asked))
        except _PageGone:
            return ReadersBound(offered, unknown=_PAGE_GONE)
        except RagError:
            return ReadersBound(
                offered,
                unknown=tr("The index can't say right now who may read the pages found."),
            )

    async def _page_readers(self, asked: Interaction) -> tuple[Readers, ...]:
        """Return the readers of each page found for a question. Raises _PageGone, RagError.

        What was found for a channel was open to everyone, also if it is gone.
        """
        pages = {each.page_id for each in recorded_passages(asked)}
        spaces = sorted(await self._index.spaces(self._tenant)) if pages else []
        found = []
        for page in sorted(pages):
            there = [
                summary.readers
                for space in spaces
                if (summary := await self._index.page_summary(self._tenant, space, page, None))
            ]
            if not there and asked.message.private:
                raise _PageGone
            found += there
        return tuple(dict.fromkeys(found))

    async def _widest_reader(self, asked: Interaction) -> Reader:
        """Return who may read every page found for a question, whoever that is."""
        try:
            readers = await self._page_readers(asked)
        except (RagError, _PageGone):
            return Reader(frozenset({EVERYONE}))
        return Reader(frozenset({EVERYONE}).union(*(names for each in readers for names in each)))

    async def _replies(self, case_id: InteractionId) -> Sequence[str]:
        steps = await self._cases.steps(self._tenant, case_id)
        return [each.text for each in standing_replies(steps)]

    async def _case(self, case_id: InteractionId) -> tuple[Case, Interaction]:
        case = await self._cases.get(self._tenant, case_id)
        asked = await self._interactions.get(case_id)
        if case is None or asked is None or asked.withdrawn:
            raise InteractionUnknown(_NO_CASE)
        return case, asked

    async def _by_model(self, draft: Draft, writer: DraftWriter) -> Draft:
        before, case_id = draft.content, draft.case.interaction_id
        replies = await self._replies(case_id)
        written, dropped = await writer.write(case_id, self._tenant, replies, before.question)
        variants = dict.fromkeys((*before.variants, *written.variants))
        content = replace(
            before,
            question=written.question,
            text=written.text or before.text,
            variants=tuple(each for each in variants if each != written.question),
        )
        return replace(draft, content=content, dropped=dropped)

    async def _is_public(self, asked: Interaction) -> bool:
        channel = self._channels.get(asked.message.thread.platform)
        if asked.message.private or channel is None:
            return False
        try:
            return await channel.is_public(asked.message)
        except DeliveryFailed:
            return False


def _wordings(
    asked: Interaction, question: str, known: str, shared: Collection[str]
) -> tuple[str, ...]:
    """Return the wordings of a question that everybody may see, but the draft's own."""
    if not known:
        return ()
    outcome, typed = asked.outcome, asked.message.text.strip()
    wants_person = outcome is not None and outcome.trace.route.intent is Intent.HUMAN
    found = dict.fromkeys((known, *((typed,) if typed in shared and not wants_person else ())))
    return tuple(each for each in found if each != question and len(each) <= LONGEST_QUESTION)


def _own_texts(asked: Interaction, case: Case | None) -> frozenset[str]:
    """Return the wordings that belong to an asker."""
    route = "" if asked.outcome is None else asked.outcome.trace.route.question
    texts = (asked.message.text.strip(), route, "" if case is None else case.question)
    return frozenset(each for each in texts if normalised(each))


def _repeats(text: str, own: Collection[str]) -> bool:
    return any(
        text == each or (len(each.split()) >= LEAST_OWN_WORDS and each in text) for each in own
    )


def _chunk(number: int, text: str) -> Chunk:
    """Return a reply as a passage whose lines can be cited."""
    title = f"Reply {number + 1}"
    return Chunk(
        id=f"reply-{number}",
        tenant="",
        space="",
        page_id=f"reply-{number}",
        ordinal=0,
        title=title,
        section="",
        breadcrumb=(title,),
        text=text,
        url="",
        readers=(),
        source_type="",
        source_id="",
    )


def _markdown(claims: Iterable[Claim]) -> str:
    """Return claims as the text of an answer: steps numbered, no sentence twice."""
    lines: list[str] = []
    steps = 0
    for claim in dict.fromkeys(claims):
        steps = steps + 1 if claim.kind == "step" else 0
        joint = "\n" if steps > 1 else "\n\n"
        lines.append(f"{joint}{steps}. {claim.text}" if steps else f"\n\n{claim.text}")
    return "".join(lines).strip()


def _plain(text: str) -> str:
    return " ".join(plain_text(text).split())


def _is_safe(question: str, known: Sequence[str]) -> bool:
    """Return whether a model's question says nothing that was not said: no figure, no address."""
    fits = 0 < len(question) <= LONGEST_QUESTION
    return fits and not (
        addresses(question) or must_be_quoted(question) or unsupported_facts(question, known)
    )
