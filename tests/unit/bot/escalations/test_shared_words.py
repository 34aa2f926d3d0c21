"""Tests of whether an expert's words may go to others who asked the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from bot.answering.visibility import RecordedPassage
from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.interactions import Escalation, Interaction, Reply, Trace
from bot.domain.messages import Intent, InteractionId
from bot.domain.ports import Interactions
from bot.escalations.shared_words import SharedWords, in_their_place, links_in
from rag.errors import IndexUnavailable
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, chunk, message, route
from tests.fakes.desk import VPN
from tests.fakes.escalations import MemoryRecord

OPEN = chunk("Restart.", chunk_id=VPN.chunk_id, page_id=VPN.page_id, url=VPN.url)
MOVED = replace(OPEN, page_id="another")
HOSTS = frozenset({"wiki.example.com"})


class Reads:
    """Implements ReadablePassages: pages for everyone, or an index that is away."""

    def __init__(self, *chunks: Chunk, away: bool = False) -> None:
        self.chunks = chunks
        self.away = away

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        assert readers == {EVERYONE}
        if self.away:
            raise IndexUnavailable("away")
        wanted = {each.chunk_id for each in found}
        return {each.id: each for each in self.chunks if each.id in wanted}


def asked(key: str = "m1", *, found: bool = True) -> Interaction:
    question = message("vpn?", message_id=key)
    reply = Reply("Restart [1].", "answer", (VPN,) if found else (), 0.9)
    outcome = replace(generic_outcome(""), response=reply)
    return Interaction(question.interaction_id, question, "done", NOON, outcome=outcome)


def handed_over(
    reason: str, *leaned_on: InteractionId, key: str = "m2", text: str = "and then?"
) -> Interaction:
    question = message(text, message_id=key)
    response = Escalation("Noted.", reason, "vpn?")  # type: ignore[arg-type]
    trace = Trace(replace(route(Intent.HUMAN, "vpn?"), leaned_on=leaned_on))
    outcome = replace(generic_outcome(""), response=response, trace=trace)
    return Interaction(question.interaction_id, question, "done", NOON, outcome=outcome)


def deciding(
    *record: Interaction, reads: Reads, hosts: frozenset[str] | None = HOSTS
) -> SharedWords:
    stored = MemoryRecord({each.id: each for each in record})
    return SharedWords(cast("Interactions", stored), reads, hosts)


async def may_go(
    text: str, *record: Interaction, reads: Reads, hosts: frozenset[str] | None = HOSTS
) -> bool:
    """Return whether a text about the last of some questions may go to others."""
    words = deciding(*record, reads=reads, hosts=hosts)
    return await words.are_open("default", [record[-1].id], text)


@pytest.mark.parametrize("reads", [Reads(), Reads(MOVED), Reads(OPEN, away=True)])
async def test_words_on_a_page_that_may_be_closed_go_to_nobody_else(reads: Reads) -> None:
    assert not await may_go("Restart it.", asked(), reads=reads)


async def test_words_on_pages_that_everyone_may_read_go_to_all() -> None:
    assert await may_go("Restart it.", asked(), reads=Reads(OPEN))
    assert await may_go("Ask the desk.", asked(found=False), reads=Reads())


async def test_a_closed_page_behind_one_of_the_cases_is_enough() -> None:
    open_, closed = asked("m1", found=False), asked("m2")
    words = deciding(open_, closed, reads=Reads())

    assert await words.are_open("default", [open_.id], "Restart it.")
    assert not await words.are_open("default", [open_.id, closed.id], "Restart it.")


@pytest.mark.parametrize("page", ["layoffs-2027", "x/AbC"])
async def test_words_with_a_link_into_the_wiki_that_is_not_known_stay(page: str) -> None:
    link = f"wiki.example.com/{page}"

    for text in (f"See https://{link}.", f"see {link}", f"SEE WWW.x.org, {link.upper()}"):
        assert not await may_go(text, asked(), reads=Reads(OPEN))


async def test_a_link_to_a_page_that_was_found_and_is_open_goes_along() -> None:
    assert await may_go(f"See {VPN.url}#step-2.", asked(), reads=Reads(OPEN))


async def test_a_link_elsewhere_is_an_experts_own_if_the_wikis_host_is_known() -> None:
    link = "https://vendor.example.com/reset"

    assert await may_go(link, asked(), reads=Reads(OPEN))
    assert not await may_go(link, asked(), reads=Reads(OPEN), hosts=None)
    assert not await may_go("https://[vendor/reset", asked(), reads=Reads(OPEN))


async def test_what_a_question_leaned_on_counts_as_found_for_it() -> None:
    before = asked()
    leaning = handed_over("low_confidence", before.id)

    assert not await may_go("Restart it.", before, leaning, reads=Reads())
    assert await may_go("Restart it.", before, leaning, reads=Reads(OPEN))


async def test_a_wish_for_a_person_has_the_pages_of_the_question_before() -> None:
    before = asked()
    key = person_request_id(before.message.id)
    wish = handed_over("asked_for_human", key=key, text=PERSON_REQUEST)

    assert not await may_go("Restart it.", before, wish, reads=Reads())
    assert await may_go("Restart it.", before, wish, reads=Reads(OPEN))


@pytest.mark.parametrize("reason", ["unavailable", "waited", "asked_for_human"])
async def test_where_nothing_was_searched_words_stay_with_one_asker(reason: str) -> None:
    assert not await may_go("Restart it.", handed_over(reason), reads=Reads())


async def test_what_is_gone_from_the_record_counts_as_closed() -> None:
    words = deciding(reads=Reads(OPEN))

    assert not await words.are_open("default", [InteractionId("gone")], "Restart it.")
    leaning = handed_over("low_confidence", InteractionId("gone"))
    assert not await may_go("Restart it.", leaning, reads=Reads(OPEN))


def test_links_are_found_as_they_are_written() -> None:
    text = "See https://a.example/x, (www.b.example/y) and HTTPS://c.example/z!"

    assert links_in(text) == {"https://a.example/x", "www.b.example/y", "HTTPS://c.example/z"}


def test_a_correction_is_replaced_and_other_words_are_left_out() -> None:
    assert in_their_place("amend")
    assert in_their_place("resolve") == ""
