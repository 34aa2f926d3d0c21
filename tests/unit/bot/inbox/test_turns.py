"""Tests of whose question is begun next, and of what arriving messages are spared."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.domain.errors import InboxFull, InboxUnavailable
from bot.domain.messages import InteractionId
from bot.inbox.turns import Arrivals, FairLine, Turns, Waiting
from tests.fakes.escalations import until


async def _nothing(_: int = 0) -> None:
    """The work on a question is not of interest here."""


def asked(
    name: str, person: str = "ann", *, thread: str = "", channel: str = "c1", urgent: bool = False
) -> Waiting:
    return Waiting(
        InteractionId(name),
        thread or name,
        person,
        channel,
        begin=_nothing,
        tell=_nothing,
        urgent=urgent,
    )


def order_of(questions: Sequence[Waiting]) -> list[str]:
    """Return the order in which they are begun when each ends before the next begins."""
    line, order = FairLine(), []
    for question in questions:
        line.add(question)
    while (begun := line.next()) is not None:
        order.append(str(begun.id))
        line.release(begun.thread)
    return order


def test_who_asks_once_does_not_wait_for_who_asked_a_hundred_times() -> None:
    many = [asked(f"many{number}") for number in range(100)]

    order = order_of([*many, asked("bea", "bea"), asked("cem", "cem")])

    assert set(order[:3]) == {"many0", "bea", "cem"}
    assert order[3:] == [f"many{number}" for number in range(1, 100)]


def test_channels_alternate_among_those_who_ask_their_first() -> None:
    loud = [asked(f"loud{number}", f"person{number}", channel="loud") for number in range(5)]

    order = order_of([*loud, asked("quiet", "bea", channel="quiet")])

    assert order.index("quiet") == 1


def test_a_thread_keeps_its_order_whoever_asks() -> None:
    first = [asked(f"first{number}", thread="t") for number in range(3)]

    order = order_of([*first, asked("other", "bea", thread="t")])

    assert order == ["first0", "first1", "first2", "other"]


def test_the_next_of_a_thread_waits_until_the_one_before_has_ended() -> None:
    line = FairLine()
    line.add(asked("one", thread="t"))
    line.add(asked("two", thread="t"))

    assert line.next() is not None
    assert line.next() is None
    line.release("t")
    following = line.next()

    assert following is not None
    assert following.id == "two"


def test_what_is_urgent_overtakes_all_others() -> None:
    order = order_of([asked("one"), asked("two", "bea"), asked("now", "cem", urgent=True)])

    assert order[0] == "now"


def test_who_asks_later_has_no_older_claim_than_who_waits() -> None:
    line = FairLine()
    for number in range(3):
        line.add(asked(f"ann{number}"))
    taken = [line.next() for _ in range(2)]
    line.add(asked("bea", "bea"))

    order = [*taken, line.next(), line.next()]

    assert [each.id for each in order if each] == ["ann0", "ann1", "bea", "ann2"]


def test_who_waits_knows_how_many_are_before() -> None:
    line = FairLine()
    for question in (asked("a0"), asked("a1"), asked("b0", "bea")):
        line.add(question)

    assert [each.id for each in line.ordered()] == ["a0", "b0", "a1"]


@given(some.lists(some.tuples(some.integers(0, 4), some.integers(0, 3), some.integers(0, 5))))
def test_all_are_begun_once_and_nobody_waits_for_more_rounds(
    drawn: list[tuple[int, int, int]],
) -> None:
    questions = [
        asked(f"q{number}", f"p{person}", channel=f"c{channel}", thread=f"t{person}-{thread}")
        for number, (person, channel, thread) in enumerate(drawn)
    ]
    person_of = {str(each.id): each.person for each in questions}

    order = order_of(questions)

    assert sorted(order) == sorted(person_of)
    so_far: Counter[str] = Counter()
    left = Counter(person_of.values())
    for name in order:
        person = person_of[name]
        assert so_far[person] <= min(so_far[each] for each in left if left[each])
        so_far[person] += 1
        left[person] -= 1


async def _at_once() -> None:
    """Nothing arrives."""


class Begun:
    """Notes what was begun; the engine is away for the first ``failures`` attempts."""

    def __init__(self, failures: int = 0) -> None:
        self.names: list[str] = []
        self.told: list[tuple[str, int]] = []
        self._failures = failures

    def question(self, name: str, *, thread: str = "") -> Waiting:
        async def begin() -> None:
            if self._failures:
                self._failures -= 1
                raise InboxUnavailable("The engine is away.")
            self.names.append(name)

        async def tell(before: int) -> None:
            self.told.append((name, before))

        return Waiting(InteractionId(name), thread or name, name, "c1", begin=begin, tell=tell)


async def test_no_more_are_under_way_than_there_are_places() -> None:
    begun, turns = Begun(), Turns(2, _at_once)
    for name in "abc":
        turns.add(begun.question(name))
    await until(lambda: len(begun.names) == 2)
    await asyncio.sleep(0.02)
    assert begun.names == ["a", "b"]

    turns.ended(InteractionId("a"))

    await until(lambda: begun.names == ["a", "b", "c"])
    await turns.stop()


async def test_who_waits_for_an_earlier_one_lends_the_place() -> None:
    begun, turns = Begun(), Turns(1, _at_once)
    turns.add(begun.question("later", thread="t"))
    await until(lambda: begun.names)
    turns.add(begun.question("earlier", thread="t"))

    with turns.lent(InteractionId("later")):
        await until(lambda: begun.names == ["later", "earlier"])

    await turns.stop()


async def test_what_was_withdrawn_while_it_waited_is_not_begun() -> None:
    begun, turns = Begun(), Turns(1, _at_once)
    for name in "abc":
        turns.add(begun.question(name))
    await until(lambda: begun.names == ["a"])
    turns.drop(InteractionId("b"))
    turns.ended(InteractionId("a"))

    await until(lambda: begun.names == ["a", "c"])
    await turns.stop()


async def test_what_runs_in_another_process_keeps_no_place_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.inbox.turns._TAKEN_SECONDS", 0.01)
    begun, turns = Begun(), Turns(1, _at_once)
    turns.add(begun.question("elsewhere", thread="t"))
    turns.add(begun.question("following", thread="t"))

    await until(lambda: begun.names == ["elsewhere", "following"])
    await turns.stop()


async def test_what_could_not_be_begun_is_begun_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.turns._PAUSE_SECONDS", 0.0)
    begun, turns = Begun(failures=2), Turns(1, _at_once)
    turns.add(begun.question("a"))

    await until(lambda: begun.names == ["a"])
    await turns.stop()


async def test_who_waits_is_told_again_when_half_as_many_are_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.inbox.turns._TOLD_EVERY_SECONDS", 0.01)
    begun, turns = Begun(), Turns(1, _at_once)
    for name in "abcdef":
        turns.add(begun.question(name))
    await until(lambda: ("f", 4) in begun.told)

    for name in "abc":
        turns.ended(InteractionId(name))
        await until(lambda before=name: begun.names[-1] > before)  # type: ignore[misc]
    await until(lambda: ("f", 1) in begun.told or ("f", 2) in begun.told)

    assert ("f", 3) not in begun.told
    await turns.stop()


async def test_too_many_that_wait_to_be_recorded_are_refused() -> None:
    arrivals, recorded = Arrivals(1), asyncio.Event()

    async def record() -> InteractionId:
        await recorded.wait()
        return InteractionId("a")

    task = asyncio.create_task(record())
    arrivals.add(task)
    with pytest.raises(InboxFull, match="Send it again"):
        arrivals.check()
    recorded.set()
    await task

    arrivals.check()


async def test_other_work_goes_on_although_messages_arrive_all_the_time() -> None:
    arrivals, ended = Arrivals(10), asyncio.Event()

    async def record() -> InteractionId:
        await ended.wait()
        return InteractionId("a")

    arrivals.add(asyncio.create_task(record()))
    async with asyncio.timeout(60):
        await arrivals.let_pass()
    ended.set()
