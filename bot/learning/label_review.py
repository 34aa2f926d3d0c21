"""Collect candidates for labels in the background, and let people decide about them.

Accepted labels are written into the questions file of the operator. Lines there whose id does not
begin with ``use-`` are the operator's own and stay as they are; the others are those of the
accepted labels, so that a question which is forgotten is forgotten there too.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from bot.answering.evaluation.labelled_questions import LabelledQuestion
from bot.answering.visibility import ReadablePassages, sources_of
from bot.domain.errors import ActRefused, DeliveryFailed
from bot.domain.interactions import Interaction, Source
from bot.domain.messages import InteractionId, Platform
from bot.domain.outcomes import answer_type, as_given
from bot.domain.ports import Audits, Interactions, KnowsPublicChannels
from bot.domain.texts import tr
from bot.learning.jobs import JobMarks, week_begin
from bot.learning.labels import FROM_USE, Label, LabelKey, Labels, LabelState, Proposal, Truth
from bot.learning.question_words import QuestionWords, Spread, Viewer
from rag.types import EVERYONE, Readers

QUESTIONS_FILE = "questions.jsonl"
"""Name of the operator's labelled questions in the data directory."""

JOB = "labels"
SAMPLED_A_WEEK = 20
"""Answers of each week that are drawn for review."""

_BATCH = 200
_FIRST = timedelta(days=7)
_WEEK = timedelta(days=7)
_TICK = timedelta(microseconds=1)
_OVERLAP = timedelta(minutes=2)

log = structlog.get_logger(__name__)


class LabelCollector:
    """Proposes labels from votes, reopened cases, verdicts, kept answers, and at random.

    Args:
        tenant: The company.
        channels: Those that know which of their channels are public.
        now: Returns the current time.
    """

    def __init__(
        self,
        tenant: str,
        *,
        labels: Labels,
        interactions: Interactions,
        marks: JobMarks,
        channels: Mapping[Platform, KnowsPublicChannels],
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._labels = labels
        self._interactions = interactions
        self._marks = marks
        self._channels = channels
        self._now = now

    async def run(self) -> bool:
        """Propose what is new since the last call; return whether there is more."""
        now = self._now()
        mark = await self._marks.mark(self._tenant, JOB)
        after = datetime.fromisoformat(mark) if mark else now - _FIRST
        found = await self._labels.proposals(self._tenant, after, now, _BATCH)
        await self._propose(found)
        await self._sample(after, now)
        more = len(found) == _BATCH
        # What is seen twice changes nothing; what another server's slow clock dates back is seen.
        ends = found[-1].at if more else now - _OVERLAP
        await self._marks.set_mark(
            self._tenant, JOB, (ends + _TICK if ends == after else ends).isoformat()
        )
        return more

    async def _sample(self, after: datetime, now: datetime) -> None:
        """Draw from the week before, once it is over."""
        over = week_begin(now)
        if week_begin(after) == over and await self._marks.mark(self._tenant, JOB):
            return
        drawn = await self._labels.sampled(self._tenant, over - _WEEK, over, SAMPLED_A_WEEK)
        await self._propose([Proposal(LabelKey(each, "sampled"), "right", now) for each in drawn])

    async def _propose(self, found: Sequence[Proposal]) -> None:
        made = [await self._candidate(each) for each in found]
        await self._labels.propose(self._tenant, [each for each in made if each is not None])

    async def _candidate(self, proposal: Proposal) -> Label | None:
        asked = await self._interactions.get(proposal.key.interaction_id)
        if asked is None or asked.withdrawn or asked.outcome is None:
            return None
        if answer_type(as_given(asked.outcome)) not in {"RAG", "ESCALATION_REQUIRED"}:
            return None
        return Label(
            key=proposal.key,
            truth=proposal.truth,
            state="candidate",
            created_at=proposal.at,
            pages=proposal.pages or cited_pages(asked),
            public=await self._is_public(asked),
        )

    async def _is_public(self, asked: Interaction) -> bool:
        channel = self._channels.get(asked.message.thread.platform)
        if asked.message.private or channel is None:
            return False
        try:
            return await channel.is_public(asked.message)
        except DeliveryFailed:
            return False


def cited_pages(asked: Interaction) -> tuple[str, ...]:
    """Return the ids of the pages that an answer cites; () for a question handed over."""
    outcome = asked.outcome
    if outcome is None or answer_type(as_given(outcome)) != "RAG":
        return ()
    return tuple(dict.fromkeys(each.page_id for each in sources_of(outcome.response)))


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A label whose question a viewer may see, with the pages behind the answer."""

    label: Label
    question: str
    sources: tuple[Source, ...]


class LabelReview:
    """Shows candidates to those who may see their questions, and takes their decisions.

    Args:
        tenant: The company.
        questions: The file of the operator's labelled questions.
        now: Returns the current time.
    """

    def __init__(
        self,
        tenant: str,
        *,
        labels: Labels,
        interactions: Interactions,
        words: QuestionWords,
        readable: ReadablePassages,
        audits: Audits,
        questions: Path,
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._labels = labels
        self._interactions = interactions
        self._words = words
        self._readable = readable
        self._audits = audits
        self._questions = questions
        self._now = now

    async def shown(
        self, state: LabelState, viewer: Viewer, *, limit: int, before: datetime | None = None
    ) -> tuple[Sequence[ShownLabel], int]:
        """Return the newest labels whose question a viewer may see, and how many others there are.

        Both are of the newest ``limit`` labels before a time. Raises StoreUnavailable.
        """
        found = await self._labels.find(self._tenant, state, limit=limit, before=before)
        asked = await self._asked([each.key.interaction_id for each in found])
        spread = {each.key.interaction_id: Spread(public=each.public) for each in found}
        words = await self._words.shown(self._tenant, list(asked.values()), viewer, spread)
        shown = [
            ShownLabel(each, words[each.key.interaction_id], _sources(asked, each))
            for each in found
            if each.key.interaction_id in words
        ]
        return shown, len(found) - len(shown)

    async def accept(
        self, key: LabelKey, truth: Truth, pages: Sequence[str], viewer: Viewer, *, actor: str
    ) -> Label:
        """Accept a candidate, and write the questions file.

        ``pages`` are the ids of the pages that answer the question; none if it is unanswerable.

        Raises ActRefused, worded for the reviewer; StoreUnavailable.
        """
        label, asked = await self._candidate(key)
        spread = {asked.id: Spread(public=label.public)}
        words = await self._words.shown(self._tenant, [asked], viewer, spread)
        if asked.id not in words:
            raise ActRefused(
                tr("You can't see the wording of this question, so you can't accept it.")
            )
        named = tuple(dict.fromkeys(filter(None, map(str.strip, pages))))
        if truth != "unanswerable" and not named:
            raise ActRefused(
                tr("Enter the page that answers the question, or choose that no page does.")
            )
        kept = replace(
            label,
            truth=truth,
            state="accepted",
            question=words[asked.id],
            pages=() if truth == "unanswerable" else named,
            groups=await self._groups(asked, named, viewer),
            decided_by=actor,
            decided_at=self._now(),
        )
        await self._decide(kept, actor)
        return kept

    async def reject(self, key: LabelKey, *, actor: str) -> Label:
        """Reject a candidate. Raises ActRefused, StoreUnavailable."""
        label, _ = await self._candidate(key)
        kept = replace(label, state="rejected", decided_by=actor, decided_at=self._now())
        await self._decide(kept, actor)
        return kept

    async def write(self, path: Path | None = None) -> int:
        """Write the accepted labels into a questions file; return their number.

        Raises StoreUnavailable; OSError if the file can't be written.
        """
        accepted = await self._labels.accepted(self._tenant)
        return await asyncio.to_thread(write_questions, path or self._questions, accepted)

    async def _decide(self, label: Label, actor: str) -> None:
        if not await self._labels.decide(self._tenant, label):
            raise ActRefused(tr("Somebody else has already decided on this one."))
        await self._audits.append(
            self._tenant,
            actor,
            f"label.{label.state}",
            label.key.interaction_id,
            detail=f"{label.key.origin}: {label.truth}",
        )
        if label.state == "accepted":
            try:
                await self.write()
            except OSError as error:
                # It is kept in the record; the next accepted label, or the export, writes it.
                log.warning("labels.not_written", path=str(self._questions), why=str(error))

    async def _candidate(self, key: LabelKey) -> tuple[Label, Interaction]:
        label = await self._labels.get(self._tenant, key)
        asked = await self._interactions.get(key.interaction_id)
        if label is None or asked is None or asked.withdrawn:
            raise ActRefused(tr("This question no longer exists."))
        if label.state != "candidate":
            raise ActRefused(tr("Somebody else has already decided on this one."))
        return label, asked

    async def _asked(self, ids: Collection[InteractionId]) -> Mapping[InteractionId, Interaction]:
        found = [await self._interactions.get(each) for each in dict.fromkeys(ids)]
        return {each.id: each for each in found if each is not None}

    async def _groups(
        self, asked: Interaction, pages: Sequence[str], viewer: Viewer
    ) -> tuple[str, ...]:
        """Return principals who together may read the pages, as far as the viewer knows them."""
        outcome = asked.outcome
        if outcome is None:
            return ()
        found = await self._readable.readable(
            self._tenant, sources_of(outcome.response), viewer.reader.principals
        )
        readers = [chunk.readers for chunk in found.values() if chunk.page_id in pages]
        return tuple(sorted({name for each in readers for name in _one_of_each(each)}))


def _one_of_each(readers: Readers) -> Collection[str]:
    return {min(names) for names in readers if names and EVERYONE not in names}


def _sources(asked: Mapping[InteractionId, Interaction], label: Label) -> tuple[Source, ...]:
    outcome = asked[label.key.interaction_id].outcome
    return () if outcome is None else sources_of(outcome.response)


def write_questions(path: Path, accepted: Sequence[Label]) -> int:
    """Replace the lines of labels in a questions file, atomically; return how many there are now.

    Two labels of one question give one line, the later one's. Raises OSError.
    """
    own = [line for line in _lines(path) if not _is_from_use(line)]
    rows = {label.question_id: labelled_question(label) for label in accepted if label.question}
    lines = [*own, *(row.model_dump_json(exclude_defaults=True) for row in rows.values())]
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(draft).unlink()
        raise
    return len(rows)


def labelled_question(label: Label) -> LabelledQuestion:
    """Return an accepted label as ``evaluate``, ``train`` and ``certify`` read it."""
    return LabelledQuestion(
        id=label.question_id,
        question=label.question,
        kind="near_miss" if label.truth == "unanswerable" else "answerable",
        pages=label.pages,
        groups=label.groups,
        tags=(f"from_{label.key.origin}",),
    )


def _lines(path: Path) -> Sequence[str]:
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        return []


def _is_from_use(line: str) -> bool:
    """Return whether a line is of a label; one that is no JSON is the operator's to mend."""
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and str(row.get("id", "")).startswith(FROM_USE)
