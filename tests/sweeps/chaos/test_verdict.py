"""The verdict finds what a person would complain of, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

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


FIRST_WELL, SECOND_WELL, ALONE_WELL = ALL_WELL
ELSEWHERE = Seen(3.5, "C1", "9.0", "It is Quillfeather.")
SWAPPED = (reply(SECOND, 2.5), reply(FIRST, 3.5), ALONE_WELL)
SORRY = reply(FIRST, 2.5, "Something went wrong.", names=FIRST.interaction_id)
NAMES_THE_OTHER = reply(FIRST, 9.0, names=SECOND.interaction_id)
"""A person doesn't see what its metadata names."""

NOT_TAKEN = {**RECEIPTS, 2: Receipt(sent_at=3.0)}
TAKEN_LATE = {**RECEIPTS, 0: Receipt(sent_at=1.0, acknowledged_at=2.05)}
WELL = {"kept": True, "suspects": (), "pairs_in_order": 1, "waits": [1.5, 1.5, 1.0]}
CASES: Mapping[str, tuple[Sequence[Seen], Mapping[str, object]]] = {
    "each has its answer": (ALL_WELL, WELL),
    "no reply": ((FIRST_WELL, ALONE_WELL), {"lost": [1], "kept": False, "suspects": (1,)}),
    "reply in another thread": (
        (FIRST_WELL, ALONE_WELL, ELSEWHERE),
        {"lost": [1], "strays": [ELSEWHERE]},
    ),
    "two, by thread alone": (
        (*ALL_WELL, reply(ALONE, 9.0, "Hi!")),
        {"twice": [2], "kept": False},
    ),
    "two, by their text": ((*ALL_WELL, NAMES_THE_OTHER), {"twice": [0]}),
    "one twice, the other never": (
        (FIRST_WELL, ALONE_WELL, reply(FIRST, 3.5)),
        {"lost": [1], "twice": [0]},
    ),
    "an apology": (
        (SORRY, SECOND_WELL, ALONE_WELL),
        {"unexpected": [0], "lost": [], "kept": False},
    ),
    "before an earlier one": (SWAPPED, {"disorder": [(0, 1)], "kept": False}),
    "asked of people by nobody": (
        (*ALL_WELL, card("Where is the guest wifi?")),
        {"strays": [card("Where is the guest wifi?")], "kept": False},
    ),
    "shown to one alone": ((*ALL_WELL, reply(ALONE, 9.0, "psst", only_for="U2")), {"kept": True}),
}


@pytest.mark.parametrize(("seen", "told"), CASES.values(), ids=CASES)
def test_what_is_seen_is_judged(seen: Sequence[Seen], told: Mapping[str, object]) -> None:
    found = verdict(*seen)

    assert {name: getattr(found, name) for name in told} == told


@pytest.mark.parametrize(
    ("seen", "receipts", "told"),
    [
        (ALL_WELL[:2], NOT_TAKEN, {"not_accepted": [2], "lost": [], "kept": True}),
        ((*ALL_WELL, reply(ALONE, 5.0, "Hi!")), NOT_TAKEN, {"twice": [2]}),
        (SWAPPED, TAKEN_LATE, {"disorder": [], "pairs_in_order": 0, "kept": True}),
    ],
    ids=["never taken", "kept but never taken", "taken after the next was sent"],
)
def test_only_what_was_acknowledged_in_time_is_promised(
    seen: Sequence[Seen], receipts: dict[int, Receipt], told: Mapping[str, object]
) -> None:
    found = verdict(*seen, receipts=receipts)

    assert {name: getattr(found, name) for name in told} == told


def test_people_are_asked_once() -> None:
    asked, answered = (FOR_PEOPLE,), reply(FOR_PEOPLE, 5.0, "I asked them.")

    assert verdict(answered, card("locker 3?"), asked=asked).kept
    assert verdict(answered, asked=asked).cards_lost == [3]
    assert verdict(answered, *[card("locker 3?")] * 2, asked=asked).cards_twice == [3]


def test_who_is_told_that_nobody_was_reached_is_not_promised_a_person() -> None:
    told = reply(FOR_PEOPLE, 5.0, "I couldn't reach them.")
    found = verdict(told, asked=(FOR_PEOPLE,))

    assert (found.cards_lost, found.unexpected, found.kept) == ([], [3], False)


def test_a_late_last_answer_breaks_the_promise() -> None:
    late = reply(ALONE, 10.0 + LONGEST_SECONDS + 1)
    found = verdict(*ALL_WELL[:2], late, last_fault=10.0)

    assert found.seconds == LONGEST_SECONDS + 1
    assert not found.kept


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
