"""Keep live answers in the index, and out of it once they are not given any more.

The record decides, the pages in the space ``answers`` follow: at once where an act made the change,
else within a minute by the job, which also mends what a kill in between left undone. The job ends
answers by their date, and takes thumbs down back to review.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog

from bot.answering.visibility import sources_of
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Interaction
from bot.domain.ports import Interactions
from bot.learning.jobs import JobMarks
from bot.learning.question_words import person_key
from bot.learning.reviewed_answers import (
    COMPLAINTS,
    AnswerState,
    Complaint,
    ReviewedAnswer,
    ReviewedAnswers,
    answer_id_of,
    document_name,
    moved,
)
from ingestion.errors import DocumentUnknown, IngestionError
from ingestion.library import Library
from ingestion.uploads import digest_of
from rag.errors import RagError
from rag.types import ANSWER_SOURCE, STANDARD_LABEL, encode_readers

JOB = "answers"
PATH = "/answers"
"""Where an answer's page is on the web."""

_ACTOR = f"job:{JOB}"
_BATCH = 500
_OVERLAP = timedelta(minutes=2)
_FIRST = timedelta(days=1)

_ESCAPED_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

log = structlog.get_logger(__name__)


class AnswerLibrary:
    """Indexes the answers of one tenant.

    Args:
        tenant: The company.
        library: Where pages are stored and indexed.
        signed: The team's name to show on answers; "" shows the expert's.
    """

    def __init__(
        self,
        tenant: str,
        *,
        answers: ReviewedAnswers,
        interactions: Interactions,
        library: Library,
        marks: JobMarks,
        signed: str,
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._answers = answers
        self._interactions = interactions
        self._library = library
        self._marks = marks
        self._signed = signed
        self._now = now

    async def follow(self, answer: ReviewedAnswer) -> None:
        """Index a changed answer, or remove it; what fails now is mended by the job."""
        try:
            await self._bring_up_to_date(answer.id)
        except (IngestionError, RagError, StoreUnavailable, OSError) as error:
            log.warning("answers.not_indexed", answer=answer.id, why=str(error))

    async def run(self) -> bool:
        """End what is over, look at thumbs, bring the index up to date; return False: all done."""
        live = await self._live()
        await self._collect_complaints({each.id: each for each in live})
        for answer in await self._live():
            await self._end_if_due(answer)
        try:
            await self._mend()
        except (IngestionError, OSError) as error:
            log.warning("answers.not_mended", why=str(error))
        return False

    async def _live(self) -> Sequence[ReviewedAnswer]:
        found: list[ReviewedAnswer] = []
        while True:
            page = await self._answers.find(self._tenant, {"live"}, limit=_BATCH, offset=len(found))
            found += page
            if len(page) < _BATCH:
                return found

    async def _mend(self) -> None:
        now = self._now()
        given = [each for each in await self._live() if each.is_given(now)]
        stored = await self._library.answers()
        wanted = {document_name(each.id) for each in given}
        for name in stored:
            if answer_id_of(name) and name not in wanted:
                await self._bring_up_to_date(answer_id_of(name))
        for answer in given:
            about = stored.get(document_name(answer.id))
            same = about is not None and (
                about.digest == digest_of(page_of(answer, self._signed))
                and encode_readers(about.may_read()) == encode_readers(answer.readers)
            )
            if not same:
                await self._bring_up_to_date(answer.id)
        await self._library.mend_answers(by=_ACTOR)

    async def _bring_up_to_date(self, answer_id: str) -> None:
        """Index an answer as the record has it, or remove it; again if it changes meanwhile.

        Not as the caller has it: an act may have narrowed or withdrawn it since.
        """
        done = False
        answer = await self._answers.get(self._tenant, answer_id)
        while not done:
            if answer is not None and answer.is_given(self._now()):
                await self._put(answer)
            else:
                await self._drop(document_name(answer_id))
            now = await self._answers.get(self._tenant, answer_id)
            done = now is None or (answer is not None and now.version == answer.version)
            answer = now

    async def _put(self, answer: ReviewedAnswer) -> None:
        content = page_of(answer, self._signed)
        await self._library.put_answer(document_name(answer.id), content, answer.readers, by=_ACTOR)

    async def _drop(self, name: str) -> None:
        try:
            await self._library.drop_answer(name, by=_ACTOR)
        except DocumentUnknown:
            # It was never indexed, or is removed already.
            return

    async def _end_if_due(self, answer: ReviewedAnswer) -> None:
        now = self._now()
        if answer.is_over(now):
            await self._move(answer, "expired", "its date has come")
        elif await self._is_refuted(answer):
            await self._move(answer, "in_review", "thumbs down")

    async def _move(self, answer: ReviewedAnswer, state: AnswerState, why: str) -> None:
        then = moved(answer, state, actor=_ACTOR, at=self._now())
        # An expert may have changed it at this moment; then the next call looks again.
        if await self._answers.change(self._tenant, then, act=state, detail=why):
            log.info("answers.moved", answer=answer.id, state=state, why=why)
            await self.follow(then)

    async def _is_refuted(self, answer: ReviewedAnswer) -> bool:
        """Return whether enough people's thumbs are still down, or one expert's."""
        people: set[str] = set()
        experts = await self._answers.experts(self._tenant) if answer.complaints else frozenset()
        for each in answer.complaints:
            asked = await self._interactions.get(each.interaction_id)
            if asked is None or not await self._still_down(each):
                continue
            ids = _ids_of(each.person, asked)
            if ids & (experts | {answer.owner}):
                return True
            people.add(each.person)
        return len(people) >= COMPLAINTS

    async def _still_down(self, complaint: Complaint) -> bool:
        given = await self._interactions.feedback(complaint.interaction_id)
        return any(each.person_id == complaint.person and each.vote == "down" for each in given)

    async def _collect_complaints(self, live: dict[str, ReviewedAnswer]) -> None:
        """Note thumbs down on replies that cite a live answer; those seen before change nothing."""
        now = self._now()
        mark = await self._marks.mark(self._tenant, JOB)
        since = datetime.fromisoformat(mark) if mark else now - _FIRST
        found = await self._answers.complained(self._tenant, since, _BATCH)
        for complaint, at in found:
            asked = await self._interactions.get(complaint.interaction_id)
            for answer_id in () if asked is None else answers_cited(asked):
                answer = live.get(answer_id)
                if answer is not None and await self._note(answer, complaint, at):
                    live[answer_id] = await self._answers.get(self._tenant, answer_id) or answer
        ends = found[-1][1] if len(found) == _BATCH else now - _OVERLAP
        await self._marks.set_mark(self._tenant, JOB, max(since, ends).isoformat())

    async def _note(self, answer: ReviewedAnswer, complaint: Complaint, at: datetime) -> bool:
        before = answer.live_at is None or at < answer.live_at
        if before or complaint in answer.complaints:
            return False
        return await self._answers.complain(self._tenant, answer, complaint)


def answers_cited(asked: Interaction) -> Sequence[str]:
    """Return the ids of the answers that a reply cites."""
    outcome = asked.outcome
    cited = () if outcome is None else sources_of(outcome.response)
    ids = (answer_id_of(each.page_id) for each in cited if each.source_type == ANSWER_SOURCE)
    return [each for each in dict.fromkeys(ids) if each]


def page_of(answer: ReviewedAnswer, signed: str) -> bytes:
    """Return an answer as the file that is indexed; the same answer gives the same bytes."""
    written = answer.content
    labels = [STANDARD_LABEL, *sorted(written.spaces or ())] if answer.kind == "standard" else []
    head = {
        "title": written.question,
        "url": f"{PATH}/{answer.id}",
        "updated": (answer.live_at or answer.changed_at).isoformat(),
        "updated_by": signed or answer.owner_name,
        "asked_as": list(written.variants),
        "labels": labels,
    }
    lines = (f"{name}: {_as_yaml(value)}" for name, value in head.items() if value)
    return "\n".join(["---", *lines, "---", "", written.text, ""]).encode()


def _as_yaml(value: object) -> str:
    """Return JSON on one line, which is YAML, too, but for what YAML takes only escaped."""
    written = json.dumps(value, ensure_ascii=False)
    return _ESCAPED_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _ids_of(person: str, asked: Interaction) -> frozenset[str]:
    """Return the ids under which one who voted may have worked on cases."""
    author, platform = asked.message.author, asked.message.thread.platform
    own = {person_key(author)} if author.id == person else set()
    return frozenset({person, f"{platform}:{person}", *own})
