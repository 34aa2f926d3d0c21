"""The verdict finds what a person would complain of, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.sweeps.chaos.event_delivery import Receipt
from tests.sweeps.chaos.questions import PEOPLE, Question, draw_questions
from tests.sweeps.chaos.verdict import LONGEST_SECONDS, Seen, Verdict, judge

FIRST = Question(0, "C1", "1.0", "1.0", "U1", "Where is the guest wifi?", "Heronry")
SECOND = Question(1, "C1", "1.0", "2.0", "U1", "Who runs the payroll?", "Quillfeather")
ALONE = Question(2, "C1", "3.0", "3.0", "U2", "hello")
FOR_PEOPLE = Question(3, "C1", "4.0", "4.0", "U3", "A human, please", "asked", "locker 3?")
ASKED = (FIRST, SECOND, ALONE)
RECEIPTS = {
    0: Receipt(sent_at=1.0, acknowledged_at=1.1),
    1: Receipt(sent_at=2.0, acknowledged_at=2.1),
    2: Receipt(sent_at=3.0, acknowledged_at=3.1),
    3: Receipt(sent_at=4.0, acknowledged_at=4.1),
}


def reply(question: Question, at: float, text: str = "", **more: str) -> Seen:
    return Seen(at, question.channel, question.thread, text or f"It is {question.mark}.", **more)


def card(text: str) -> Seen:
    return Seen(5.0, PEOPLE, None, text)


ALL_WELL = (reply(FIRST, 2.5), reply(SECOND, 3.5), reply(ALONE, 4.0))


def verdict(
    *seen: Seen,
    asked: Sequence[Question] = ASKED,
    receipts: dict[int, Receipt] | None = None,
    last_fault: float = 0.0,
) -> Verdict:
    given = receipts or {question.number: RECEIPTS[question.number] for question in asked}
    return judge(asked, given, seen, last_fault)


def test_all_is_well_when_each_question_has_its_answer_in_its_thread() -> None:
    found = verdict(*ALL_WELL)

    assert found.kept
    assert found.suspects == ()
    assert found.pairs_in_order == 1
    assert found.waits == [1.5, 1.5, 1.0]


def test_an_acknowledged_question_without_a_reply_is_lost() -> None:
    found = verdict(ALL_WELL[0], ALL_WELL[2])

    assert (found.lost, found.kept, found.suspects) == ([1], False, (1,))


def test_a_reply_in_another_thread_is_no_reply() -> None:
    elsewhere = Seen(3.5, "C1", "9.0", "It is Quillfeather.")
    found = verdict(ALL_WELL[0], ALL_WELL[2], elsewhere)

    assert found.lost == [1]
    assert found.strays == [elsewhere]


def test_two_replies_to_one_question_are_seen_by_thread_alone() -> None:
    found = verdict(*ALL_WELL, reply(ALONE, 9.0, "Hi!"))

    assert (found.twice, found.kept) == ([2], False)


def test_two_replies_to_one_question_of_a_thread_are_seen_by_their_text() -> None:
    """Its metadata names the other question: a person doesn't see that."""
    found = verdict(*ALL_WELL, reply(FIRST, 9.0, names=SECOND.interaction_id))

    assert found.twice == [0]


def test_the_answer_to_another_question_is_no_answer_to_this_one() -> None:
    """A thread of two questions with one of them answered twice: the other is lost."""
    found = verdict(ALL_WELL[0], ALL_WELL[2], reply(FIRST, 3.5))

    assert (found.lost, found.twice) == ([1], [0])


def test_a_question_that_was_never_acknowledged_is_counted_apart() -> None:
    receipts = {**RECEIPTS, 2: Receipt(sent_at=3.0)}
    found = verdict(ALL_WELL[0], ALL_WELL[1], receipts=receipts)

    assert (found.not_accepted, found.lost, found.kept) == ([2], [], True)


def test_a_question_that_was_kept_but_never_acknowledged_may_not_be_answered_twice() -> None:
    receipts = {**RECEIPTS, 2: Receipt(sent_at=3.0)}
    found = verdict(*ALL_WELL, reply(ALONE, 5.0, "Hi!"), receipts=receipts)

    assert found.twice == [2]


def test_an_apology_is_not_the_answer() -> None:
    found = verdict(
        *ALL_WELL[1:], reply(FIRST, 2.5, "Something went wrong.", names=FIRST.interaction_id)
    )

    assert (found.unexpected, found.lost, found.kept) == ([0], [], False)


def test_an_answer_before_that_of_an_earlier_question_is_out_of_order() -> None:
    found = verdict(reply(SECOND, 2.5), reply(FIRST, 3.5), ALL_WELL[2])

    assert (found.disorder, found.kept) == ([(0, 1)], False)


def test_order_is_asked_only_of_what_was_acknowledged_before_the_next_was_sent() -> None:
    receipts = {**RECEIPTS, 0: Receipt(sent_at=1.0, acknowledged_at=2.05)}
    found = verdict(reply(SECOND, 2.5), reply(FIRST, 3.5), ALL_WELL[2], receipts=receipts)

    assert (found.disorder, found.pairs_in_order, found.kept) == ([], 0, True)


def test_people_are_asked_once() -> None:
    asked, answered = (FOR_PEOPLE,), reply(FOR_PEOPLE, 5.0, "I asked them.")

    assert verdict(answered, card("locker 3?"), asked=asked).kept
    assert verdict(answered, asked=asked).cards_lost == [3]
    assert verdict(answered, *[card("locker 3?")] * 2, asked=asked).cards_twice == [3]


def test_who_is_told_that_nobody_was_reached_is_not_promised_a_person() -> None:
    told = reply(FOR_PEOPLE, 5.0, "I couldn't reach them.")
    found = verdict(told, asked=(FOR_PEOPLE,))

    assert (found.cards_lost, found.unexpected, found.kept) == ([], [3], False)


def test_people_are_not_asked_what_nobody_wanted_them_to_be() -> None:
    found = verdict(*ALL_WELL, card("Where is the guest wifi?"))

    assert len(found.strays) == 1
    assert not found.kept


def test_a_late_last_answer_breaks_the_promise() -> None:
    late = reply(ALONE, 10.0 + LONGEST_SECONDS + 1)
    found = verdict(*ALL_WELL[:2], late, last_fault=10.0)

    assert found.seconds == LONGEST_SECONDS + 1
    assert not found.kept


def test_what_one_person_alone_sees_is_no_second_reply() -> None:
    assert verdict(*ALL_WELL, reply(ALONE, 9.0, "psst", only_for="U2")).kept


def test_the_same_seed_asks_the_same_and_no_two_questions_are_one_message() -> None:
    drawn = draw_questions(300, np.random.default_rng(3))

    assert drawn == draw_questions(300, np.random.default_rng(3))
    assert len({question.interaction_id for question in drawn}) == 300
    assert {question.private for question in drawn} == {True, False}
    assert any(question.card for question in drawn)


def test_no_two_questions_of_a_thread_have_the_same_answer() -> None:
    drawn = draw_questions(300, np.random.default_rng(4))
    known = [(question.thread, question.mark) for question in drawn if question.mark]
    threads = {question.thread for question in drawn}
    several = {q.thread for q in drawn if q.thread != q.ts}

    assert len(set(known)) == len(known)
    assert all(question.mark for question in drawn if question.thread in several)
    assert 0 < len(several) < len(threads) < len(drawn)
