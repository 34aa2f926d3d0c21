"""Review answers by people: list and show them, keep drafts, decide, publish.

An expert sees an answer if they may read it, own it or worked on its case. Each act names the
version that its form was made of: of two reviewers at once, the second is told.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.cases import Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions
from bot.domain.texts import tr
from bot.domain.texts.ingestion_texts import ingestion_text
from bot.learning.answer_csv import CsvProblem, CsvRow, read_rows
from bot.learning.answer_drafts import AnswerDrafts, Draft
from bot.learning.answer_library import PATH, AnswerLibrary
from bot.learning.near_answers import NearAnswer, NearAnswers
from bot.learning.publishing import Publishes
from bot.learning.question_words import CaseWorkers, Viewer
from bot.learning.reviewed_answers import (
    CHANGED_MEANWHILE,
    AnswerAct,
    AnswerState,
    AnswerText,
    ReadersBound,
    ReviewedAnswer,
    ReviewedAnswers,
    after_act,
    allowed_acts,
    checked_text,
    is_shown_to,
)
from ingestion.errors import PublishingRefused, SourceUnavailable
from ingestion.types import PublishableAnswer

_MOST_STANDING = 5_000


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """An answer with what the viewer may do, whom they may choose to read it, and what is near."""

    answer: ReviewedAnswer
    acts: frozenset[AnswerAct]
    bound: ReadersBound
    near: tuple[NearAnswer, ...]
    can_publish: bool


@dataclass(frozen=True, slots=True)
class CsvResult:
    """How many rows of a CSV file were new and changed, and what is wrong with others."""

    added: int
    changed: int
    problems: tuple[CsvProblem, ...]


class AnswerReview:
    """Shows the answers of one tenant to experts, and takes their acts.

    Args:
        tenant: The company.
        by_second: Nobody approves what they wrote themselves.
        publisher: Writes answers as pages of the wiki; None if that is not configured.
    """

    def __init__(
        self,
        tenant: str,
        *,
        answers: ReviewedAnswers,
        interactions: Interactions,
        drafts: AnswerDrafts,
        library: AnswerLibrary,
        near: NearAnswers,
        workers: CaseWorkers,
        publisher: Publishes | None,
        by_second: bool,
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._answers = answers
        self._interactions = interactions
        self._drafts = drafts
        self._library = library
        self._near = near
        self._workers = workers
        self._publisher = publisher
        self._by_second = by_second
        self._now = now

    @property
    def has_model(self) -> bool:
        """Whether a draft can be written by a model."""
        return self._drafts.has_model

    @property
    def acts_on_new(self) -> Sequence[AnswerAct]:
        """What may be done with an answer that is not kept yet, the likeliest first."""
        return ("submit", "save") if self._by_second else ("approve", "submit", "save")

    async def listed(
        self, states: Collection[AnswerState], viewer: Viewer, *, limit: int, offset: int = 0
    ) -> tuple[Sequence[ReviewedAnswer], int]:
        """Return the answers of a part of the list that a viewer may see, and how many others."""
        found = await self._answers.find(self._tenant, states, limit=limit, offset=offset)
        workers = await self._workers_of(found)
        shown = [
            each for each in found if is_shown_to(each, viewer, workers.get(each.id, frozenset()))
        ]
        return shown, len(found) - len(shown)

    async def one(self, answer_id: str, viewer: Viewer, actor: Actor) -> AnswerDetails:
        """Return an answer. Raises InteractionUnknown if it is not there, or not for the viewer."""
        answer = await self._seen(answer_id, viewer)
        acts = allowed_acts(answer, actor.id, by_second=self._by_second)
        near = await self._near.of(answer.content, viewer, own=answer.id)
        publishes = self._publisher is not None and answer.is_given(self._now())
        bound = await self._bound(answer, answer.content)
        return AnswerDetails(answer, acts, bound, near, publishes)

    async def of_case(self, case: InteractionId) -> str:
        """Return the id of the answer that was kept of a case; "" if there is none."""
        found = await self._answers.of_case(self._tenant, case)
        return "" if found is None else found.id

    async def draft(
        self, case: InteractionId, viewer: Viewer, *, with_model: bool = False
    ) -> tuple[Draft, tuple[NearAnswer, ...]]:
        """Return a draft from a case that is not kept yet, and the answers near it.

        Raises InteractionUnknown, ActRefused, RagError.
        """
        draft = await self._drafts.of_case(case, viewer, with_model=with_model)
        return draft, await self._near.of(draft.content, viewer, own="")

    async def keep(self, case: InteractionId, written: AnswerText, actor: Actor) -> ReviewedAnswer:
        """Keep a draft of a case, or return the same answer if it was kept already.

        Raises InteractionUnknown, ActRefused: another answer was kept of the case.
        """
        asked = await self._interactions.get(case)
        if asked is None or asked.withdrawn:
            raise InteractionUnknown(tr("This question no longer exists."))
        content = checked_text(written)
        before = await self._answers.of_case(self._tenant, case)
        if before is None:
            await self._drafts.check_question(case, content)
            bound = await self._drafts.bound(asked)
            new = self._new(content, bound, actor, case)
            before = await self._answers.add(self._tenant, new)
        kept = before.content
        if (kept.question, kept.text, kept.variants) != (
            content.question,
            content.text,
            content.variants,
        ):
            # Acting on it would be acting on words that the caller has not seen.
            raise ActRefused(
                tr(
                    "{who} has already saved a different answer for this case. Find it in the "
                    "list of answers and edit that one.",
                    who=before.owner_name or tr("Somebody"),
                )
            )
        return before

    async def write(self, written: AnswerText, actor: Actor) -> ReviewedAnswer:
        """Keep a standard answer as a draft. Raises ActRefused."""
        content = checked_text(written)
        bound = ReadersBound(content.chosen)
        return await self._answers.add(self._tenant, self._new(content, bound, actor))

    async def take_rows(
        self, text: str, *, viewer: Viewer, actor: Actor, dry_run: bool
    ) -> CsvResult:
        """Take standard answers from a CSV file: new ones, and changes of those with an id.

        They are live at once, or in review where a second person has to look at them.
        """
        rows, problems = read_rows(text, self._drafts.lasts, self._now())
        wrong = list(problems)
        added = changed = 0
        kept = await self._standing()
        for row in rows:
            try:
                if not row.id and _told_apart(row.content) in kept:
                    # The same file again, as after a time-out.
                    continue
                if not row.id:
                    added += 1
                    if not dry_run:
                        await self._give(await self.write(row.content, actor), viewer, actor)
                elif await self._replace(row, viewer, actor, dry_run=dry_run):
                    changed += 1
            except (ActRefused, InteractionUnknown) as error:
                wrong.append(CsvProblem(row.line, str(error)))
        return CsvResult(added, changed, tuple(sorted(wrong, key=lambda each: each.line)))

    async def _standing(self) -> frozenset[tuple[object, ...]]:
        states: Collection[AnswerState] = {"draft", "in_review", "live"}
        found = await self._answers.find(self._tenant, states, limit=_MOST_STANDING)
        return frozenset(_told_apart(each.content) for each in found if each.kind == "standard")

    async def _replace(self, row: CsvRow, viewer: Viewer, actor: Actor, *, dry_run: bool) -> bool:
        """Change an answer to what a row says; return False if it is so already."""
        answer = await self._seen(row.id, viewer)
        if answer.kind != "standard":
            raise ActRefused(
                tr("This id belongs to an answer from a case. Edit it on its own page.")
            )
        if row.content == answer.content:
            return False
        if not dry_run:
            saved = await self.act(
                answer.id, answer.version, "save", row.content, viewer=viewer, actor=actor
            )
            if saved.state not in {"live", "in_review"}:
                await self._give(saved, viewer, actor)
        return True

    async def _give(self, answer: ReviewedAnswer, viewer: Viewer, actor: Actor) -> None:
        act: AnswerAct = "submit" if self._by_second else "approve"
        await self.act(answer.id, answer.version, act, None, viewer=viewer, actor=actor)

    async def act(
        self,
        answer_id: str,
        version: int,
        act: AnswerAct,
        written: AnswerText | None,
        *,
        viewer: Viewer,
        actor: Actor,
    ) -> ReviewedAnswer:
        """Apply an act with what was written, None to leave it; return the answer after it.

        Raises InteractionUnknown; ActRefused, worded for the expert.
        """
        answer = await self._seen(answer_id, viewer)
        if answer.version != version:
            raise ActRefused(CHANGED_MEANWHILE)
        content = answer.content if written is None else checked_text(written)
        if answer.case is not None and content != answer.content:
            await self._drafts.check_question(answer.case, content)
        bound = await self._bound(answer, content)
        if bound.unknown and act in {"submit", "approve"}:
            raise ActRefused(bound.unknown)
        then = after_act(
            answer,
            act,
            content,
            bound.within(content.chosen),
            actor=actor.id,
            at=self._now(),
            by_second=self._by_second,
        )
        if not await self._answers.change(self._tenant, then, act=act, detail=then.state):
            raise ActRefused(CHANGED_MEANWHILE)
        await self._library.follow(then)
        return then

    async def publish(
        self, answer_id: str, version: int, *, viewer: Viewer, actor: Actor
    ) -> ReviewedAnswer:
        """Publish a live answer as a page of the wiki. Raises InteractionUnknown, ActRefused."""
        answer = await self._seen(answer_id, viewer)
        if self._publisher is None or not answer.is_given(self._now()):
            raise ActRefused(
                tr("Only live answers can be published, and only if publishing is set up.")
            )
        if answer.version != version:
            raise ActRefused(CHANGED_MEANWHILE)
        written = answer.content
        page = PublishableAnswer(
            answer.id, written.question, written.text, answer.readers, answer.url
        )
        try:
            url = await self._publisher.publish(page)
        except PublishingRefused as refused:
            raise ActRefused(ingestion_text(str(refused))) from refused
        except SourceUnavailable as error:
            raise ActRefused(
                tr("The wiki is unreachable right now. Please try again later.")
            ) from error
        then = replace(
            answer, url=url, version=version + 1, changed_at=self._now(), changed_by=actor.id
        )
        if not await self._answers.change(self._tenant, then, act="publish", detail=url):
            raise ActRefused(CHANGED_MEANWHILE)
        return then

    async def _seen(self, answer_id: str, viewer: Viewer) -> ReviewedAnswer:
        answer = await self._answers.get(self._tenant, answer_id)
        workers = {} if answer is None else await self._workers_of([answer])
        if answer is None or not is_shown_to(answer, viewer, workers.get(answer.id, frozenset())):
            raise InteractionUnknown(tr("This answer doesn't exist, or you can't see it."))
        return answer

    async def _workers_of(self, answers: Sequence[ReviewedAnswer]) -> Mapping[str, frozenset[str]]:
        """Return who worked on the case of each answer, by the answer's id."""
        cases = {each.id: each.case for each in answers if each.case is not None}
        workers = await self._workers.workers(self._tenant, list(cases.values()))
        return {each: workers.get(case, frozenset()) for each, case in cases.items()}

    async def _bound(self, answer: ReviewedAnswer, written: AnswerText) -> ReadersBound:
        if answer.kind == "standard":
            # Nobody's question limits it: its readers are those whom its writer chooses.
            return ReadersBound(written.chosen)
        asked = None if answer.case is None else await self._interactions.get(answer.case)
        if asked is None or asked.withdrawn:
            # What the case allowed is not known any more: never more than now.
            return ReadersBound(answer.content.chosen, (answer.readers,))
        return await self._drafts.bound(asked)

    def _new(
        self,
        content: AnswerText,
        bound: ReadersBound,
        actor: Actor,
        case: InteractionId | None = None,
    ) -> ReviewedAnswer:
        now = self._now()
        return ReviewedAnswer(
            id=uuid.uuid4().hex,
            kind="standard" if case is None else "reviewed",
            state="draft",
            content=content,
            readers=bound.within(content.chosen),
            owner=actor.id,
            owner_name=actor.name,
            created_at=now,
            changed_at=now,
            changed_by=actor.id,
            written_by=actor.id,
            case=case,
        )


def _told_apart(written: AnswerText) -> tuple[object, ...]:
    return written.question, written.text, written.variants, written.chosen, written.spaces


def link_of(answer: ReviewedAnswer) -> str:
    """Return the address of an answer's page on the web, for its readers."""
    return f"{PATH}/{answer.id}"
