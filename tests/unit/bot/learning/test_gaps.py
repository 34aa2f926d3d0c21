"""Tests of the job that keeps gaps: which questions count, where they go, what happens at night."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import person_request, person_request_id
from bot.domain.interactions import (
    Escalation,
    EscalationReason,
    Interaction,
    Outcome,
    PostedRef,
    Reply,
    Trace,
    new_feedback,
)
from bot.domain.messages import Intent, Message, Person
from bot.learning.gap_jobs import NAME, GapMark
from bot.learning.gaps import GapMember, GapQuery, GapSummary, spread_of
from bot.learning.question_words import person_key
from bot.store.database import Store
from rag.embedding import QuestionVector
from tests.fakes.builders import NOON, route
from tests.fakes.learning import GUESS, LOW, NIGHT, SURE, asked, gap_job, run, span_of_days
from tests.fakes.rag_ports import WordEmbedder

HUMAN = Escalation("Of course.", "asked_for_human", "")


class BetterEmbedder(WordEmbedder):
    name = "words@2"


class Places:
    """Implements KnowsPublicChannels: these channels are public, unless it can't be asked."""

    def __init__(self, *public: str) -> None:
        self.public = public
        self.away = False

    async def is_public(self, message: Message) -> bool:
        if self.away:
            raise DeliveryFailed("away")
        return message.thread.channel in self.public


async def gaps(store: Store) -> Sequence[GapSummary]:
    return await store.gap_reports.listed("default", GapQuery(span_of_days()), 100, 0)


async def members(store: Store) -> Sequence[Sequence[str]]:
    """Return the questions of each gap, in order."""
    ids = [each.id for each in await gaps(store)]
    found = await store.gap_reports.members("default", ids, 100)
    return sorted(sorted(each.question for each in of_gap) for of_gap in found.values())


async def thumb(store: Store, question: Interaction, vote: str, person: str = "mika") -> None:
    given = new_feedback(question.id, person, "up" if vote == "up" else "down")
    await store.interactions.rate(given)


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        ("low_confidence", True),
        ("nothing_found", True),
        ("unsupported", True),
        ("unavailable", False),
        ("asked_for_human", False),
    ],
)
async def test_what_was_handed_over_for_want_of_an_answer_counts(
    store: Store, reason: EscalationReason, *, counts: bool
) -> None:
    await asked(store, "Where is the VPN?", response=replace(LOW, reason=reason))
    await run(gap_job(store))

    assert bool(await gaps(store)) is counts


async def test_a_guess_counts_until_somebody_gives_it_a_thumb_up(store: Store) -> None:
    question = await asked(store, "Where is the VPN?", response=GUESS)
    await asked(store, "Who approves travel?", response=SURE)
    job = gap_job(store)
    await run(job)
    assert await members(store) == [["Where is the VPN?"]]

    await thumb(store, question, "up")
    assert not await gaps(store)
    await thumb(store, question, "down", "ben")
    assert len(await gaps(store)) == 1
    await store.interactions.unrate(question.id, "ben")
    await store.interactions.unrate(question.id, "mika")
    assert len(await gaps(store)) == 1


async def test_a_thumb_down_counts_until_it_is_taken_back(store: Store) -> None:
    question = await asked(store, "Who approves travel?", response=SURE)
    job = gap_job(store)
    await run(job)
    assert not await gaps(store)

    await thumb(store, question, "down")
    await run(job)
    assert await members(store) == [["Who approves travel?"]]
    await store.interactions.unrate(question.id, "mika")
    assert not await gaps(store)
    await thumb(store, question, "down")
    assert len(await gaps(store)) == 1


@pytest.mark.parametrize(
    "response", [replace(SURE, refused=True), replace(LOW, reason="unavailable"), HUMAN]
)
async def test_a_thumb_down_on_what_is_no_answer_does_not_count(
    store: Store, response: Reply | Escalation
) -> None:
    question = await asked(store, "Where is the VPN?", response=response)
    await thumb(store, question, "down")
    await run(gap_job(store))

    assert not await gaps(store)


async def test_what_nobody_asked_the_bot_does_not_count(store: Store) -> None:
    question = await asked(store, "Where is the VPN?", response=SURE)
    overheard = replace(question.message, id="overheard", overheard=True)
    opened = await store.work.open(overheard, "me")
    trace = Trace(route(Intent.DOMAIN, "Where is the VPN?"))
    await store.work.close(opened, Outcome(LOW, trace, silent=True), last=True)
    await run(gap_job(store))

    assert not await gaps(store)


@pytest.mark.parametrize("by_button", [True, False])
async def test_asking_for_a_person_counts_as_the_earlier_question(
    store: Store, *, by_button: bool
) -> None:
    question = await asked(store, "Who approves travel?", response=SURE)
    wish = replace(question.message, id="wish", text="human please")
    if by_button:
        name = person_request_id(question.message.id)
        wish = replace(question.message, id=name, text=person_request(question.message.text))
    request = await asked(
        store, "Who approves travel?", response=HUMAN, intent=Intent.HUMAN, question=wish
    )
    await run(gap_job(store))

    (gap,) = await gaps(store)
    ((member,),) = (await store.gap_reports.members("default", [gap.id], 10)).values()
    assert (member.id, member.request) == (question.id, request.id)
    assert spread_of([member])[question.id].requests == (request.id,)


async def test_a_withdrawn_question_leaves_its_gap_with_its_words(store: Store) -> None:
    first = await asked(store, "Where is the VPN guide?")
    await asked(store, "Where is the VPN guide?", "ben")
    await run(gap_job(store))

    await store.work.cancel(first.id)
    (left,) = await gaps(store)
    assert (left.questions, left.people, left.total) == (1, 1, 1)
    assert await store.gaps.newest_questions(left.id, 10) != []
    await store.work.cancelled(first.id)
    assert (await gaps(store))[0].total == 1


async def test_retention_takes_questions_and_then_their_gap(store: Store) -> None:
    question = await asked(store, "Where is the VPN guide?", response=GUESS)
    await store.work.posted(question.id, PostedRef("mika", "1"))
    job = gap_job(store, night=NIGHT)
    await run(job)
    (gap,) = await gaps(store)
    later = datetime.now(UTC) + timedelta(days=400)

    await store.retention.sweep(later, 1)
    assert not await gaps(store)
    await run(job, later)
    assert await store.gap_reports.one("default", gap.id, span_of_days()) is None


async def test_questions_of_one_meaning_go_to_one_gap(store: Store) -> None:
    job = gap_job(store)
    await asked(store, "How do I reset the password of my mail?")
    await asked(store, "Where can I park a bicycle?")
    await run(job)
    await asked(store, "reset the password of my mail", "ben")
    await run(job)

    assert await members(store) == [
        ["How do I reset the password of my mail?", "reset the password of my mail"],
        ["Where can I park a bicycle?"],
    ]
    (first, _) = await gaps(store)
    assert (first.questions, first.people, first.before) == (2, 2, 0)


async def test_without_an_embedder_the_same_words_are_one_gap(store: Store) -> None:
    job = gap_job(store, without_vectors=True, night=NIGHT)
    for person in ("mika", "ben"):
        await asked(store, "Where can I park a bicycle?", person)
    await asked(store, "Where can I park a car?")
    await run(job)

    assert [len(each) for each in await members(store)] == [2, 1]
    await run(gap_job(store, night=NIGHT), datetime.now(UTC) + timedelta(days=1))
    assert [len(each) for each in await members(store)] == [3]


async def test_the_recorded_vector_is_used_if_it_is_of_this_embedder(store: Store) -> None:
    embedder = WordEmbedder()
    vector = QuestionVector.of(embedder.name, await embedder.embed_query("bicycle park"))
    question = await asked(store, "Where can I park a bicycle?")
    assert question.outcome is not None
    outcome = replace(question.outcome, trace=replace(question.outcome.trace, vector=vector))
    again = await store.work.open(replace(question.message, id="again"), "me")
    await store.work.close(again, outcome, last=True)
    await run(gap_job(store, embedder=embedder))

    found = await store.gap_reports.members("default", [each.id for each in await gaps(store)], 9)
    stored = {member.id: member.vector for each in found.values() for member in each}
    assert stored[again.id] == (vector.unit().astype("<f2")).tobytes()
    assert stored[question.id] != stored[again.id]


async def test_another_embedder_embeds_all_questions_again(store: Store) -> None:
    await asked(store, "Where can I park a bicycle?")
    await run(gap_job(store))
    await run(gap_job(store, embedder=BetterEmbedder()))
    await asked(store, "Where can I park my bicycle?")
    await run(gap_job(store, embedder=BetterEmbedder()))

    assert [len(each) for each in await members(store)] == [2]


async def test_a_question_that_is_still_at_work_is_waited_for(store: Store) -> None:
    question = await asked(store, "Where is the VPN?", response=SURE)
    slow = await store.work.open(replace(question.message, id="slow", text="slow"), "me")
    await asked(store, "Where can I park a bicycle?")
    job = gap_job(store)
    await run(job)
    assert len(await gaps(store)) == 1

    trace = Trace(route(Intent.DOMAIN, "slow"))
    await store.work.close(slow, Outcome(LOW, trace), last=True)
    await run(job)
    assert len(await gaps(store)) == 2


async def test_a_job_that_is_killed_between_two_steps_counts_nothing_twice(store: Store) -> None:
    for number in range(3):
        await asked(store, "Where can I park a bicycle?", f"p{number}")
    await run(gap_job(store))
    # The mark of a job that was killed after it had added the questions, before it said so.
    await store.jobs.set_mark("default", NAME, GapMark().text())
    await asked(store, "Where can I park my bicycle?", "late")
    await run(gap_job(store))

    (gap,) = await gaps(store)
    assert (gap.questions, gap.people) == (4, 4)


async def test_two_processes_in_turn_find_each_others_gaps(store: Store) -> None:
    one, two = gap_job(store), gap_job(store)
    for number, job in enumerate((one, two, one, two)):
        await asked(store, "Where can I park a bicycle?", f"p{number}")
        await run(job)

    (gap,) = await gaps(store)
    assert gap.people == 4


async def test_only_a_platform_makes_a_question_public_and_is_asked_again(store: Store) -> None:
    places = Places("C-all")
    await asked(store, "Where can I park a bicycle?", channel="C-all")
    await asked(store, "Where can I park a bicycle?", channel="C-few")
    await asked(store, "Where can I park a bicycle?")
    places.away = True
    await run(gap_job(store, platforms={"slack": places}))
    assert not any(await _public(store))

    places.away = False
    await run(gap_job(store, platforms={"slack": places}, night=NIGHT))
    assert sorted(await _public(store)) == [False, False, True]


async def _public(store: Store) -> list[bool]:
    found = await store.gap_reports.members("default", [each.id for each in await gaps(store)], 9)
    return [member.public for each in found.values() for member in each]


async def _scatter(store: Store, *texts: str) -> None:
    """Put each question into a gap of its own, as an embedder that was away would."""
    for text in texts:
        await asked(store, text)
    await run(gap_job(store, without_vectors=True))


async def test_grouping_at_night_keeps_what_people_took(store: Store) -> None:
    await _scatter(store, "park a bicycle", "park a bicycle here", "park the bicycle", "mail quota")
    found = await gaps(store)
    names = await store.gap_reports.members("default", [each.id for each in found], 9)
    (taken,) = [gap for gap, (one,) in names.items() if one.question == "park a bicycle here"]
    await store.gaps.set_state("default", taken, "taken", actor="board:anna", name="Anna")

    await run(gap_job(store, night=NIGHT))

    left = {each.id: each for each in await gaps(store)}
    assert [len(each) for each in await members(store)] == [1, 3]
    assert (left[taken].state, left[taken].state_by, left[taken].total) == ("taken", "Anna", 3)


async def test_grouping_is_done_once_a_night(store: Store) -> None:
    night = datetime.now(UTC).replace(hour=3)
    job = gap_job(store, night=2)
    await _scatter(store, "park a bicycle", "park the bicycle")
    await run(job, night.replace(hour=1))
    assert len(await gaps(store)) == 2
    await run(job, night)
    assert len(await gaps(store)) == 1

    await _scatter(store, "mail quota", "the mail quota")
    await run(job, night.replace(hour=5))
    assert len(await gaps(store)) == 3
    await run(job, night + timedelta(days=1))
    assert len(await gaps(store)) == 2


def member(question: str, person: str, vector: Sequence[float] = ()) -> GapMember:
    stored = np.array(vector, dtype="<f2").tobytes()
    return GapMember(
        id=f"{person}-{question}",  # type: ignore[arg-type]
        gap="g",
        author=person,
        person=person,
        question=question,
        request="",
        public=False,
        asked_at=NOON,
        embedder="e" if vector else "",
        vector=stored,
        passages=(),
    )


def askers(*members: GapMember) -> list[int]:
    return [each.askers for each in spread_of(members).values()]


def test_people_who_asked_the_same_are_counted_once_each() -> None:
    assert askers(member("Park a bike?", "a"), member("park  a bike", "b")) == [2, 2]
    assert askers(member("Park a bike?", "a"), member("Park a bike", "a")) == [1, 1]
    assert askers(member("Park a bike?", "a"), member("Park a car?", "b")) == [1, 1]
    assert askers(member("Park a bike?", "a"), member("Park a bike?", "")) == [1, 1]


def test_nearly_the_same_words_are_the_same_question_unless_numbers_differ() -> None:
    near, far = (1.0, 0.1), (0.5, 1.0)
    assert askers(member("my code is x", "a", near), member("is my code x", "b", near)) == [2, 2]
    assert askers(member("my code is x", "a", near), member("is my code x", "b", far)) == [1, 1]
    assert askers(member("my code is 7", "a", near), member("is my code 8", "b", near)) == [1, 1]


def test_a_person_counts_once_on_all_platforms() -> None:
    slack, web = Person("U1", email="Mika@acme.com"), Person("mika", email="mika@acme.com")
    assert person_key(slack) == person_key(web)
