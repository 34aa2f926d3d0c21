"""The answer cache: who gets an answer again, for how long, and who never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.answer_cache import SavedAnswer
from bot.answering.grounded_answer import READ_AS
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Outcome, Reply
from bot.domain.messages import Attachment, Audience, Inquiry, Policy
from rag.errors import ModelUnavailable
from rag.types import EVERYONE, Principal, Turn
from tests.fakes.builders import inquiry, message
from tests.fakes.cached_desk import CachedDesk, cached_desk
from tests.fakes.passages import ANYONE, Draft, put

QUESTION = "How do I reset the VPN token?"
VPN = Draft("vpn", ("Reset the VPN token in the portal.",), tenant="default")
MORE = Draft("more", ("The VPN token is reset twice a year.",), tenant="default", space="hr")
HR, ANNA, BEN = Principal("group:hr"), Principal("user:anna"), Principal("user:ben")
FOR_HR = replace(VPN, readers=(frozenset({HR}),))


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[CachedDesk]:
    async with cached_desk(tmp_path) as opened:
        await put(opened.index, VPN)
        yield opened


def asked(text: str = QUESTION, *principals: Principal, private: bool = True) -> Inquiry:
    readers = frozenset({EVERYONE, *principals})
    return inquiry(message(text, private=private, principals=readers))


def result(outcome: Outcome) -> str:
    return outcome.trace.cache.result if outcome.trace.cache else ""


async def results(room: CachedDesk, *inquiries: Inquiry) -> list[str]:
    desk = room.desk()
    return [result(await room.handle(desk, each)) for each in inquiries]


async def test_the_same_question_gets_the_same_answer_without_a_call(room: CachedDesk) -> None:
    desk = room.desk()
    first = await room.handle(desk, asked())
    room.later(hours=2, minutes=59)
    again = await room.handle(desk, asked("how do I  reset the vpn token"))

    assert (result(first), result(again)) == ("saved", "hit")
    assert again.response == first.response
    assert (room.composer.composed, again.trace.calls) == (1, ())
    assert any("2 hours ago" in each for each in again.remarks)
    assert not first.remarks
    assert again.trace.passages == first.trace.passages
    assert again.trace.route.question == "how do I  reset the vpn token"


@pytest.mark.parametrize("other", ["How do I reset the VPN?", "reset the VPN token how do I"])
async def test_other_words_are_another_question(room: CachedDesk, other: str) -> None:
    assert await results(room, asked(), asked(other)) == ["saved", "saved"]


async def test_readers_of_the_same_pages_share_an_answer_and_no_others(room: CachedDesk) -> None:
    await put(room.index, replace(MORE, readers=(frozenset({HR}),)))

    found = await results(room, asked(QUESTION, ANNA), asked(QUESTION, BEN), asked(QUESTION, HR))

    assert found == ["saved", "hit", "saved"]


async def test_an_answer_is_never_another_tenants(room: CachedDesk) -> None:
    await put(room.index, replace(VPN, tenant="other"))
    theirs = asked()
    thread = replace(theirs.message.thread, tenant="other")
    theirs = replace(theirs, message=replace(theirs.message, thread=thread))

    assert await results(room, asked(), theirs, theirs) == ["saved", "saved", "hit"]


async def test_a_private_answer_is_never_a_channels(room: CachedDesk) -> None:
    assert await results(room, asked(), asked(private=False), asked(private=False)) == [
        "saved",
        "saved",
        "hit",
    ]


async def test_a_page_closed_to_the_second_asker_is_not_shown_to_them(room: CachedDesk) -> None:
    desk = room.desk()
    await room.handle(desk, asked(QUESTION, HR))
    await room.index.set_readers("default", "it", "vpn", (frozenset({HR}),))

    outcome = await room.handle(desk, asked(QUESTION, ANNA))

    assert result(outcome) == "miss"
    assert not isinstance(outcome.response, Reply)


async def test_a_page_that_its_source_has_closed_is_not_given_again(room: CachedDesk) -> None:
    desk = room.desk()
    await room.handle(desk, asked())
    room.closed.add("vpn")

    outcome = await room.handle(desk, asked())

    assert result(outcome) == "miss"
    assert not isinstance(outcome.response, Reply)


async def test_pages_are_checked_at_their_source_for_each_asker(room: CachedDesk) -> None:
    await results(room, asked(), asked(), asked())

    assert room.rechecked == 3


async def test_pages_that_a_partial_answer_was_written_from_are_checked_too(
    room: CachedDesk,
) -> None:
    await put(room.index, MORE)
    room.composer.missing = "What it costs."
    desk = room.desk()
    first = await room.handle(desk, asked())
    assert isinstance(first.response, Reply)
    cited = {each.page_id for each in first.response.sources}
    room.closed |= {"vpn", "more"} - cited

    assert result(first) == "saved"
    assert result(await room.handle(desk, asked())) == "miss"


Change = Callable[[CachedDesk], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "its page is written": lambda room: put(room.index, replace(VPN, version="2")),
    "another page is written": lambda room: put(room.index, MORE),
    "its page goes": lambda room: room.index.delete_pages("default", "it", ["vpn"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_after_a_change_of_the_spaces_an_answer_is_composed(
    room: CachedDesk, change: Change
) -> None:
    desk = room.desk()
    await room.handle(desk, asked())
    await change(room)

    assert result(await room.handle(desk, asked())) != "hit"


async def test_a_change_in_a_space_that_is_not_searched_leaves_an_answer(
    room: CachedDesk,
) -> None:
    only_it = replace(asked(), policy=Policy(spaces=frozenset({"it"})))
    desk = room.desk()
    await room.handle(desk, only_it)
    await put(room.index, MORE)

    assert result(await room.handle(desk, only_it)) == "hit"


@pytest.mark.parametrize(
    ("hours", "later", "found"),
    [(24, {"hours": 11.9}, "hit"), (24, {"hours": 12}, "saved"), (2, {"hours": 2}, "saved")],
    ids=["the same day", "after midnight UTC", "after ANSWER_CACHE_HOURS"],
)
async def test_an_answer_is_given_for_so_long(
    room: CachedDesk, hours: int, later: dict[str, float], found: str
) -> None:
    room.hours = hours
    desk = room.desk()
    await room.handle(desk, asked())
    room.later(**later)

    assert result(await room.handle(desk, asked())) == found


async def test_an_answer_is_no_younger_for_having_been_given_again(room: CachedDesk) -> None:
    room.hours = 2
    desk = room.desk()
    for _ in range(2):
        await room.handle(desk, asked())
        room.later(hours=1.5)

    assert result(await room.handle(desk, asked())) == "saved"


NOT_FOR_OTHERS: dict[str, Inquiry] = {
    "a follow-up": inquiry(message("and the VPN token?"), Turn("user", "VPN", "e1")),
    "a file that was not read": replace(asked(), remarks=("I can't read a.png.",)),
    "an attachment": replace(
        asked(), message=replace(message(QUESTION), attachments=(Attachment("a", "", 0, ""),))
    ),
    "shadow mode": replace(asked(), message=replace(message(QUESTION), shadow=True)),
}


@pytest.mark.parametrize("special", NOT_FOR_OTHERS.values(), ids=NOT_FOR_OTHERS.keys())
async def test_what_is_its_askers_alone_is_not_looked_for(
    room: CachedDesk, special: Inquiry
) -> None:
    assert await results(room, special, special) == ["", ""]


async def test_an_earlier_turn_that_is_not_used_changes_nothing(room: CachedDesk) -> None:
    later = inquiry(message(QUESTION), Turn("user", "What is the VPN?", "e1"))

    assert await results(room, asked(), later) == ["saved", "hit"]


async def test_a_guess_is_not_saved(room: CachedDesk) -> None:
    room.sure = 0.5

    assert await results(room, asked(), asked()) == ["miss", "miss"]


async def test_an_answer_without_a_model_that_failed_is_not_saved(room: CachedDesk) -> None:
    room.composer.error = ModelUnavailable("slow")
    desk = room.desk()
    first = await room.handle(desk, asked())
    again = await room.handle(desk, asked())

    assert isinstance(first.response, Reply)
    assert (result(first), result(again)) == ("miss", "miss")


async def test_an_answer_with_a_private_addition_is_not_saved(room: CachedDesk) -> None:
    await put(room.index, replace(MORE, texts=(QUESTION,), readers=(frozenset({HR}),)))
    in_channel = asked(QUESTION, HR, private=False)
    desk = room.desk()
    first = await room.handle(desk, in_channel)

    assert first.private is not None
    assert result(first) == "miss"


async def test_a_saved_answer_gets_its_askers_private_addition(room: CachedDesk) -> None:
    await put(room.index, replace(MORE, texts=(QUESTION,), readers=(frozenset({HR}),)))
    plain = asked(private=False)
    desk = room.desk()
    await room.handle(desk, plain)
    of_hr = replace(asked(QUESTION, HR, private=False), audience=plain.audience)
    outcome = await room.handle(desk, of_hr)

    assert result(outcome) == "hit"
    assert outcome.private is not None
    assert {each.page_id for each in outcome.private.sources} == {"more"}
    assert len(outcome.trace.calls) == 1


async def test_nothing_about_the_earlier_asker_is_told(room: CachedDesk) -> None:
    """The record adds what admission said to an asker; here, what it could have said."""
    desk = room.desk()
    first = await room.handle(desk, asked())
    (key,) = room.saved.entries
    told = replace(
        first,
        remarks=(READ_AS.format("x"), "I can't read payslip.png."),
        trace=replace(first.trace, notes=("asker:unknown",)),
    )
    room.saved.entries[key] = SavedAnswer(told, room.now)

    again = await room.handle(desk, asked())

    assert not any("payslip" in each for each in again.remarks)
    assert again.remarks[0] == READ_AS.format("x")
    assert again.trace.notes == ()


async def test_many_who_ask_at_once_wait_for_one_answer(room: CachedDesk) -> None:
    desk = room.desk()
    outcomes = await asyncio.gather(*(room.handle(desk, asked()) for _ in range(20)))

    assert room.composer.composed == 1
    assert sorted(map(result, outcomes)) == [*["hit"] * 19, "saved"]


async def test_who_waits_is_answered_when_the_first_question_is_withdrawn(
    room: CachedDesk,
) -> None:
    begun = asyncio.Event()

    async def hold(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    desk = room.desk()
    first = asyncio.create_task(desk.handle(asked(), hold))
    await begun.wait()
    second = asyncio.create_task(room.handle(desk, asked()))
    await asyncio.sleep(0)
    first.cancel()

    assert isinstance((await second).response, Reply)


class Away:
    async def find(self, tenant: str, key: str, since: datetime) -> SavedAnswer | None:
        raise StoreUnavailable("away")


async def test_without_the_record_an_answer_is_composed(room: CachedDesk) -> None:
    room.saved.find = Away().find  # type: ignore[method-assign]  # the record is away

    assert isinstance((await room.handle(room.desk(), asked())).response, Reply)


PEOPLE = st.frozensets(st.sampled_from([HR, ANNA, BEN]), max_size=2)
READERS = st.sampled_from([ANYONE, (frozenset({HR}),), (frozenset({ANNA, BEN}),), ()])
PAGES = st.builds(
    Draft,
    id=st.sampled_from(["a", "b"]),
    texts=st.sampled_from([("VPN token one",), ("VPN token two", "VPN more"), ("Leave",)]),
    tenant=st.sampled_from(["default", "other"]),
    space=st.sampled_from(["it", "hr"]),
    readers=READERS,
    version=st.sampled_from(["1", "2"]),
)
SPACES = st.sampled_from([None, frozenset({"it"})])
ASKERS = st.tuples(PEOPLE, st.booleans(), SPACES, st.sampled_from(["VPN token", "vpn  token?"]))
CLOSED = st.frozensets(st.sampled_from(["a", "b"]), max_size=1)


Asker = tuple[frozenset[Principal], bool, frozenset[str] | None, str]


def _inquiry(asker: Asker) -> Inquiry:
    who, private, spaces, text = asker
    asked_ = inquiry(message(text, private=private, principals=who | {EVERYONE}))
    audience = Audience("private", who | {EVERYONE}) if private else asked_.audience
    return replace(asked_, audience=audience, policy=Policy(spaces=spaces))


@given(st.lists(st.one_of(PAGES, ASKERS, CLOSED), min_size=4, max_size=14))
async def test_a_reply_is_always_one_that_its_asker_could_get_without_the_cache(
    events: list[object],
) -> None:
    with TemporaryDirectory() as folder:
        async with cached_desk(Path(folder)) as room:
            cached, plain = room.desk(), room.desk(cached=False)
            for event in events:
                room.later(minutes=1)
                match event:
                    case Draft():
                        await put(room.index, event)
                    case frozenset():
                        room.closed = set(event)
                    case tuple():
                        asker = _inquiry(cast("Asker", event))
                        given_ = await room.handle(cached, asker)
                        assert _shown(given_) == _shown(await room.handle(plain, asker))


def _shown(outcome: Outcome) -> tuple[object, ...]:
    """Return what is shown of pages, without how well they fit the words of others."""
    response, private = outcome.response, outcome.private
    sources = response.sources if isinstance(response, Reply) else response.suggestions
    quotes = [(each.chunk_id, each.quote) for each in sources]
    return response.kind, response.text, quotes, private and private.text
