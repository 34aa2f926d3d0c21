"""Tests of cases of one question: joined, answered at once, parted again; on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from bot.domain.cases import Act, ActDetail, Actor, Case, CaseQuery, Notice
from bot.domain.errors import ActRefused, EscalationTaken
from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.interactions import Escalation, PostedRef, Trace
from bot.domain.messages import Attachment, Intent, InteractionId, Message, Person, Thread
from bot.escalations.history import standing_replies
from bot.escalations.lifecycle import ReminderSchedule
from bot.escalations.shared_words import WITHHELD
from bot.store.database import Store, unopened
from bot.store.tables import EscalationRow
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import message, route
from tests.fakes.record_rows import rows

CLARA = Actor("clara", "Clara", "expert")
DORA = Actor("dora", "Dora", "expert")
OTHER = "Where do I get my parking permit extended?"
QUESTION = "How do I extend my parking permit?"
WEEK = ReminderSchedule(joins_within=timedelta(days=7))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = unopened(url, WEEK)
    yield opened
    await opened.close()


def asked_by(
    name: str, text: str = QUESTION, *, private: bool = True, channel: str = ""
) -> Message:
    thread = Thread("slack", "default", channel or f"D-{name}", f"t-{name}")
    asked = message(text, message_id=f"m-{name}", private=private)
    return replace(asked, thread=thread, author=Person(name, name.title()))


async def ask(
    store: Store, name: str, text: str = QUESTION, *, people: str = "", **more: object
) -> InteractionId:
    """Have the bot hand over a question that somebody asked."""
    return await hand_over(store, asked_by(name, text, **more), people=people)  # type: ignore[arg-type]


async def hand_over(
    store: Store, asked: Message, *, people: str = "", trace: Trace | None = None
) -> InteractionId:
    opened = await store.work.open(asked, "me")
    response = Escalation("Noted.", "low_confidence", asked.text, people=people)
    searched = trace or Trace(route(Intent.DOMAIN, asked.text))
    outcome = replace(generic_outcome(""), response=response, trace=searched)
    await store.work.close(opened, outcome, last=True)
    return opened.id


async def case(store: Store, case_id: InteractionId) -> Case:
    found = await store.escalations.get("default", case_id)
    assert found is not None
    return found


async def for_all(store: Store) -> ActDetail:
    """Return the detail of an act whose words may go to all who asked until now."""
    there = await store.escalations.find("default", CaseQuery(), limit=100)
    return ActDetail(shared_with=frozenset(each.interaction_id for each in there))


async def answer(store: Store, case_id: InteractionId, text: str = "At the desk.") -> None:
    """Reply in words that everyone may read."""
    await store.escalations.act("default", case_id, "reply", CLARA, text, await for_all(store))


async def history(store: Store, case_id: InteractionId) -> list[str]:
    return [each.step for each in await store.escalations.steps("default", case_id)]


async def deliver(store: Store) -> list[Notice]:
    """Post all notices that are due, as a process does."""
    posted: list[Notice] = []
    while due := await store.notices.due("me", datetime.now(UTC), 10):
        for each in due:
            await store.notices.sent(each, PostedRef("C", each.id))
        posted += due
    return posted


def to_askers(notices: list[Notice]) -> list[tuple[str, str, str]]:
    told = [each for each in notices if each.to == "asker"]
    return sorted((each.interaction_id, each.step, each.text) for each in told)


async def test_the_same_question_joins_the_case_that_waits(store: Store) -> None:
    first = await ask(store, "anna")

    second = await ask(store, "ben", "how do I extend my parking  permit")

    joined, leading = await case(store, second), await case(store, first)
    assert (joined.joined_to, joined.due_at, joined.status.state) == (first, None, "open")
    assert (leading.joined_to, leading.askers, leading.version) == (None, 2, 1)
    assert joined.question == "how do I extend my parking  permit"
    assert await history(store, first) == ["open", "joined"]
    assert await history(store, second) == ["open"]


async def test_a_person_who_asks_again_is_counted_once(store: Store) -> None:
    first = await ask(store, "anna")
    again = replace(asked_by("anna"), id="m2", thread=Thread("slack", "default", "D-anna", "t2"))

    second = await hand_over(store, again)

    assert (await case(store, second)).joined_to == first
    assert (await case(store, first)).askers == 1


@pytest.mark.parametrize(
    "other",
    [
        asked_by("ben", "How do I extend my parking permit for a year?"),
        asked_by("ben", private=False, channel="C1"),
        replace(asked_by("ben"), thread=asked_by("anna").thread),
        replace(asked_by("ben"), thread=Thread("teams", "default", "D-ben", "t-ben")),
        replace(asked_by("ben"), author=Person("ben", outsider="guest")),
        replace(asked_by("ben"), attachments=(Attachment("p.pdf", "application/pdf", 1, ""),)),
    ],
    ids=["other words", "other readers", "same thread", "other platform", "a guest", "with a file"],
)
async def test_what_may_be_another_question_has_a_case_of_its_own(
    store: Store, other: Message
) -> None:
    await ask(store, "anna")

    assert (await case(store, await hand_over(store, other))).joined_to is None


async def test_questions_in_one_channel_join_and_in_another_do_not(store: Store) -> None:
    first = await ask(store, "anna", private=False, channel="C1")

    there = await ask(store, "ben", private=False, channel="C1")
    elsewhere = await ask(store, "carl", private=False, channel="C2")

    assert (await case(store, there)).joined_to == first
    assert (await case(store, elsewhere)).joined_to is None


async def test_cases_of_other_people_channels_are_not_joined(store: Store) -> None:
    await ask(store, "anna", people="CHR")

    assert (await case(store, await ask(store, "ben", people="CIT"))).joined_to is None


async def test_a_follow_up_in_the_same_words_is_another_question(store: Store) -> None:
    words = "and what does the second permit cost?"
    leaned = replace(route(Intent.DOMAIN, f"parking: {words}"), leaned_on=(InteractionId("i0"),))
    for name in ("anna", "ben"):
        found = await hand_over(store, asked_by(name, words), trace=Trace(leaned))
        assert (await case(store, found)).joined_to is None


async def test_words_that_say_nothing_alone_never_join(store: Store) -> None:
    await ask(store, "anna", "Help, please!")

    assert (await case(store, await ask(store, "ben", "help please"))).joined_to is None


async def test_who_asks_for_a_person_joins_with_the_question_before(store: Store) -> None:
    found = []
    for name in ("anna", "ben"):
        asked = asked_by(name)
        opened = await store.work.open(asked, "me")
        answered = replace(generic_outcome("Perhaps."), trace=Trace(route(Intent.DOMAIN, QUESTION)))
        await store.work.close(opened, answered, last=True)
        wish = replace(asked, id=person_request_id(asked.id), text=PERSON_REQUEST)
        opened = await store.work.open(wish, "me")
        response = Escalation("Of course.", "asked_for_human", QUESTION)
        wanted = Trace(route(Intent.HUMAN, QUESTION))
        outcome = replace(generic_outcome(""), response=response, trace=wanted)
        await store.work.close(opened, outcome, last=True)
        found.append(opened.id)

    assert (await case(store, found[1])).joined_to == found[0]


async def test_only_cases_of_some_days_are_joined(store: Store) -> None:
    await ask(store, "anna")
    long_ago = {"opened_at": datetime.now(UTC) - timedelta(days=8)}
    async with store.transactions.writing() as connection:
        await connection.execute(update(EscalationRow).values(**long_ago))

    assert (await case(store, await ask(store, "ben"))).joined_to is None


async def test_an_answered_case_is_joined_by_nobody_by_itself(store: Store) -> None:
    first = await ask(store, "anna")
    await answer(store, first)

    assert (await case(store, await ask(store, "ben"))).joined_to is None


async def test_who_joins_a_claimed_case_has_its_owner(store: Store) -> None:
    first = await ask(store, "anna")
    await store.escalations.act("default", first, "claim", CLARA)

    joined = await case(store, await ask(store, "ben"))

    assert (joined.joined_to, joined.status.owner_id) == (first, "clara")


async def test_with_no_days_no_case_is_joined(url: str) -> None:
    never = unopened(url)
    await ask(never, "anna")

    assert (await case(never, await ask(never, "ben"))).joined_to is None
    await never.close()


async def test_one_answer_goes_to_all_who_asked_in_their_threads(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    await deliver(store)

    await answer(store, first)

    told = to_askers(await deliver(store))
    assert told == sorted((each, "reply", "At the desk.") for each in (first, second))
    assert (await case(store, second)).status == (await case(store, first)).status


async def test_whoever_answers_a_joined_case_answers_the_leading_one(
    store: Store, url: str
) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    third = await ask(store, "carl")

    await answer(store, second)

    told = to_askers(await deliver(store))
    assert told == sorted((each, "reply", "At the desk.") for each in (first, second, third))


async def test_words_that_others_may_not_read_answer_one_and_leave_them_waiting(
    store: Store,
) -> None:
    first, second, third = [await ask(store, each) for each in ("anna", "ben", "carl")]
    await deliver(store)

    await store.escalations.act("default", first, "reply", CLARA, "As the closed page says.")

    answered, leading = await case(store, first), await case(store, second)
    assert (answered.status.state, answered.askers) == ("answered", 1)
    assert (leading.joined_to, leading.status.state, leading.askers) == (None, "open", 2)
    assert leading.due_at is not None
    assert (await case(store, third)).joined_to == second
    notices = await deliver(store)
    assert to_askers(notices) == [(first, "reply", "As the closed page says.")]
    assert ("lead", "people") in {(e.step, e.to) for e in notices if e.interaction_id == second}


@pytest.mark.parametrize("act", ["reply", "resolve", "decline"])
async def test_words_for_one_asker_who_joined_leave_the_leading_case_waiting(
    store: Store, act: Act
) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")

    await store.escalations.act("default", second, act, CLARA, "As the closed page says.")

    assert to_askers(await deliver(store)) == [(second, act, "As the closed page says.")]
    waiting = await case(store, first)
    assert (waiting.status.state, waiting.askers) == ("open", 1)
    assert (await case(store, second)).joined_to is None
    steps = [
        each for key in (first, second) for each in await store.escalations.steps("default", key)
    ]
    assert [each.interaction_id for each in steps if each.text] == [second]


async def test_who_joins_while_an_answer_is_checked_is_not_told_it(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    checked = await for_all(store)
    third = await ask(store, "carl")

    await store.escalations.act("default", first, "reply", CLARA, "At the desk.", checked)

    assert to_askers(await deliver(store)) == [(first, "reply", "At the desk.")]
    assert (await case(store, second)).joined_to is None
    assert (await case(store, third)).joined_to == second


async def test_a_correction_that_others_may_not_read_takes_its_place_there(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    await answer(store, first, "At the disk.")
    await deliver(store)
    (said,) = [e for e in await store.escalations.steps("default", first) if e.step == "reply"]

    about = ActDetail(about=said.number)
    await store.escalations.act("default", first, "amend", CLARA, "See the closed page.", about)

    told = {each: text for each, _, text in to_askers(await deliver(store))}
    assert told == {first: "See the closed page.", second: WITHHELD}
    (standing,) = standing_replies(await store.escalations.steps("default", second))
    assert standing.text == WITHHELD


async def test_words_that_others_may_not_read_are_left_out_of_a_reopening(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    await answer(store, first)
    await deliver(store)

    await store.escalations.act("default", first, "reopen", CLARA, "The closed page changed.")

    told = {(each, text) for each, _, text in to_askers(await deliver(store))}
    assert told == {(first, "The closed page changed."), (second, "")}


async def test_what_experts_write_among_themselves_stays_whole(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")

    await store.escalations.act("default", second, "note", CLARA, "On the closed page.")
    why = "It is on the closed page."
    await store.escalations.act("default", second, "assign", CLARA, why, ActDetail(DORA))

    steps = await store.escalations.steps("default", first)
    assert [each.text for each in steps if each.text] == ["On the closed page.", why]


async def test_a_reply_in_the_thread_of_one_asker_is_sent_to_the_others(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    there = replace(await for_all(store), in_thread=True)

    await store.escalations.act("default", second, "reply", CLARA, "At the desk.", there)

    told = [each for each in await deliver(store) if each.to == "asker"]
    assert {each.interaction_id: each.detail.in_thread for each in told} == {
        first: False,
        second: True,
    }


async def test_a_correction_reaches_each_reply_that_was_sent(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    await store.escalations.act("default", first, "claim", CLARA)
    await store.escalations.act("default", first, "note", CLARA, "Asked the desk.")
    await answer(store, first, "At the disk.")
    await deliver(store)
    (said,) = [e for e in await store.escalations.steps("default", first) if e.step == "reply"]

    about = replace(await for_all(store), about=said.number)
    await store.escalations.act("default", first, "amend", CLARA, "At the desk.", about)

    told = [each for each in await deliver(store) if each.to == "asker"]
    assert {each.interaction_id for each in told} == {first, second}
    for each in told:
        steps = await store.escalations.steps("default", each.interaction_id)
        (reply,) = [step for step in steps if step.step == "reply"]
        assert each.detail.about == reply.number


async def test_a_note_for_experts_stays_with_the_leading_case(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")

    await store.escalations.act("default", second, "note", CLARA, "Anna told me.")

    assert await history(store, first) == ["open", "joined", "note"]
    assert await history(store, second) == ["open"]
    assert to_askers(await deliver(store)) == []


@pytest.mark.parametrize("act", ["claim", "assign", "decline", "resolve"])
async def test_each_asker_is_told_what_becomes_of_the_question(store: Store, act: str) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    detail = ActDetail(DORA) if act == "assign" else await for_all(store)

    await store.escalations.act("default", first, act, CLARA, "Because.", detail)  # type: ignore[arg-type]

    assert {each for each, _, _ in to_askers(await deliver(store))} == {first, second}
    assert (await case(store, second)).status == (await case(store, first)).status


async def test_nobody_is_reminded_of_a_joined_case(store: Store) -> None:
    first, _ = await ask(store, "anna"), await ask(store, "ben")
    await deliver(store)
    later = datetime.now(UTC) + timedelta(hours=1)

    assert await store.notices.remind(later) == 1
    (reminder,) = await store.notices.due("me", later, 10)
    assert reminder.interaction_id == first


async def test_an_asker_who_closes_the_question_leaves_the_others(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    ben = Actor("ben", "Ben", "asker")

    await store.escalations.act("default", second, "resolve", ben)
    await answer(store, first)

    told = to_askers(await deliver(store))
    assert told == [(first, "reply", "At the desk.")]
    left = await case(store, second)
    assert (left.joined_to, left.status.state) == (None, "resolved")
    assert (await case(store, first)).askers == 1


@pytest.mark.parametrize("withdrawn", [True, False])
async def test_another_leads_when_the_leading_asker_goes(store: Store, *, withdrawn: bool) -> None:
    first, second, third = [await ask(store, each) for each in ("anna", "ben", "carl")]

    if withdrawn:
        await store.work.cancel(first)
    else:
        anna = Actor("anna", "Anna", "asker")
        await store.escalations.act("default", first, "resolve", anna)

    leading = await case(store, second)
    assert (leading.joined_to, leading.askers) == (None, 2)
    assert leading.due_at is not None
    assert (await case(store, third)).joined_to == second
    notices = await deliver(store)
    assert ("lead", "people") in {(e.step, e.to) for e in notices if e.interaction_id == second}
    await answer(store, second)
    told = to_askers(await deliver(store))
    assert told == sorted((each, "reply", "At the desk.") for each in (second, third))


async def test_a_withdrawn_joined_case_leaves_no_trace_at_the_leading_one(
    store: Store, url: str
) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")

    await store.work.cancel(second)

    assert (await case(store, first)).askers == 1
    steps = await store.escalations.steps("default", first)
    assert [(each.step, each.actor and each.actor.id) for each in steps] == [
        ("open", "anna"),
        ("joined", None),
        ("left", None),
    ]
    blank = rows(url, "SELECT question, join_key, joined_to FROM escalations WHERE question = ''")
    assert blank == [("", "", None)]


async def test_a_case_is_joined_by_hand_and_parted_again(store: Store) -> None:
    first = await ask(store, "anna")
    other = await ask(store, "ben", OTHER)

    joined = await store.escalations.join("default", other, first, CLARA)
    assert (joined.joined_to, (await case(store, first)).askers) == (first, 2)

    alone = await store.escalations.split("default", other, CLARA)
    assert (alone.joined_to, alone.status.state) == (None, "open")
    assert alone.due_at is not None
    assert (await case(store, first)).askers == 1
    assert await history(store, other) == ["open", "join", "split"]


async def test_who_is_joined_to_an_answered_case_gets_its_answer(store: Store) -> None:
    first = await ask(store, "anna")
    await answer(store, first)
    other = await ask(store, "ben", OTHER)
    await deliver(store)

    shared = (await for_all(store)).shared_with
    await store.escalations.join("default", other, first, DORA, shared)

    assert to_askers(await deliver(store)) == [(other, "reply", "At the desk.")]
    assert (await case(store, other)).status.state == "answered"


async def test_who_may_not_read_an_answer_is_not_joined_to_it(store: Store) -> None:
    first = await ask(store, "anna")
    shared = (await for_all(store)).shared_with
    await answer(store, first)
    other = await ask(store, "ben", OTHER)
    await deliver(store)

    for known in (frozenset[InteractionId](), shared, frozenset({other})):
        with pytest.raises(ActRefused):
            await store.escalations.join("default", other, first, DORA, known)

    assert to_askers(await deliver(store)) == []
    assert (await case(store, other)).joined_to is None


@pytest.mark.parametrize(
    "other",
    [
        asked_by("ben", OTHER, private=False, channel="C1"),
        replace(asked_by("ben", OTHER), thread=Thread("teams", "default", "D-ben", "t-ben")),
        replace(asked_by("ben", OTHER), author=Person("ben", outsider="guest")),
        replace(asked_by("ben", OTHER), author=Person("ben", outsider="other company")),
    ],
    ids=["elsewhere", "other platform", "guest", "other company"],
)
async def test_nobody_joins_by_hand_what_could_not_join_by_itself(
    store: Store, other: Message
) -> None:
    first, second = await ask(store, "anna"), await hand_over(store, other)

    for case_id, lead in ((second, first), (first, second)):
        with pytest.raises(ActRefused):
            await store.escalations.join("default", case_id, lead, CLARA)


async def test_cases_of_two_channels_or_two_groups_of_experts_are_not_joined(store: Store) -> None:
    first = await ask(store, "anna", private=False, channel="C1")
    there = await ask(store, "ben", OTHER, private=False, channel="C2")
    put_to_hr = await ask(store, "carl", OTHER, people="CHR", private=False, channel="C1")
    fits = await ask(store, "dan", OTHER, private=False, channel="C1")

    for case_id in (there, put_to_hr):
        with pytest.raises(ActRefused):
            await store.escalations.join("default", case_id, first, CLARA)
    joined = await store.escalations.join("default", fits, first, CLARA)
    assert joined.joined_to == first


async def test_two_guests_and_cases_of_before_the_update_are_not_joined(store: Store) -> None:
    guests = [
        replace(asked_by(each, text), author=Person(each, outsider="guest"))
        for each, text in (("anna", QUESTION), ("ben", OTHER))
    ]
    first, second = [await hand_over(store, each) for each in guests]
    third, fourth = await ask(store, "carl"), await ask(store, "dan", OTHER)
    async with store.transactions.writing() as connection:
        await connection.execute(update(EscalationRow).values(join_scope=""))

    for case_id, lead in ((second, first), (fourth, third)):
        with pytest.raises(ActRefused):
            await store.escalations.join("default", case_id, lead, CLARA)


@pytest.mark.parametrize("act", ["resolve", "decline"])
async def test_no_case_is_closed_unanswered_by_joining_a_closed_one(store: Store, act: Act) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben", OTHER)
    await store.escalations.act("default", first, act, CLARA, "Done.")

    with pytest.raises(ActRefused):
        await store.escalations.join("default", second, first, CLARA)


async def test_a_case_with_others_joins_with_them(store: Store) -> None:
    first = await ask(store, "anna")
    other = await ask(store, "ben", OTHER)
    third = await ask(store, "carl", OTHER)

    await store.escalations.join("default", other, first, CLARA)

    assert (await case(store, third)).joined_to == first
    assert (await case(store, first)).askers == 3


async def test_a_case_joins_neither_itself_nor_a_joined_nor_a_taken_one(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")
    other = await ask(store, "carl", OTHER)

    for case_id, lead in [(first, first), (other, second), (second, other)]:
        with pytest.raises(ActRefused):
            await store.escalations.join("default", case_id, lead, CLARA)
    with pytest.raises(ActRefused):
        await store.escalations.split("default", first, CLARA)
    with pytest.raises(ActRefused):
        await store.escalations.join("default", other, first, Actor("carl", "Carl", "asker"))
    await store.escalations.act("default", other, "claim", DORA)
    with pytest.raises(EscalationTaken):
        await store.escalations.join("default", other, first, CLARA)


async def test_lists_can_leave_joined_cases_out_and_find_them(store: Store) -> None:
    first, second = await ask(store, "anna"), await ask(store, "ben")

    leading = await store.escalations.find("default", CaseQuery(leading=True), limit=10)
    joined = await store.escalations.find("default", CaseQuery(joined_to=first), limit=10)

    assert [each.interaction_id for each in leading] == [first]
    assert [each.interaction_id for each in joined] == [second]


async def test_all_who_ask_at_once_are_one_case_and_all_are_answered(store: Store) -> None:
    names = [f"p{number}" for number in range(8)]

    found = await asyncio.gather(*(ask(store, each) for each in names))

    cases = [await case(store, each) for each in found]
    (leading,) = [each for each in cases if each.joined_to is None]
    assert leading.askers == len(names)
    await asyncio.gather(
        *(store.escalations.act("default", each, "claim", CLARA) for each in found),
        store.work.cancel(leading.interaction_id),
        return_exceptions=True,
    )
    (left,) = await store.escalations.find("default", CaseQuery(leading=True), limit=10)
    await answer(store, left.interaction_id)
    told = to_askers(await deliver(store))
    answered = {case_id for case_id, step, _ in told if step == "reply"}
    assert answered == set(found) - {leading.interaction_id}
