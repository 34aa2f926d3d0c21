"""Tests of which links of a reply others get who asked the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from bot.answering.visibility import RecordedPassage
from bot.domain.interactions import Interaction, Reply
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions
from bot.escalations.shared_links import LEFT_OUT, OpenLinks, links_in, with_open_links
from rag.errors import IndexUnavailable
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, chunk, message
from tests.fakes.desk import VPN
from tests.fakes.escalations import MemoryRecord

ASKED = message("vpn?")
OPEN = chunk("Restart.", chunk_id=VPN.chunk_id, page_id=VPN.page_id, url=VPN.url)
CLOSED = "https://wiki.example.com/layoffs-2027"
HOSTS = frozenset({"wiki.example.com"})


class Reads:
    """Implements ReadablePassages: one page, for everyone, or an index that is away."""

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


async def among(*texts: str, reads: Reads, hosts: frozenset[str] | None = HOSTS) -> frozenset[str]:
    reply = Reply("Restart [1].", "answer", (VPN,), 0.9)
    outcome = replace(generic_outcome(""), response=reply)
    asked = Interaction(ASKED.interaction_id, ASKED, "done", NOON, outcome=outcome)
    record = cast("Interactions", MemoryRecord({asked.id: asked}))
    return await OpenLinks(record, reads, hosts).among("default", asked.id, *texts)


async def test_a_link_to_a_page_that_everyone_may_read_is_open() -> None:
    link = f"{VPN.url}#step-2"

    assert await among(f"See {link}.", reads=Reads(OPEN)) == {link}


@pytest.mark.parametrize("reads", [Reads(), Reads(OPEN, away=True)], ids=["closed", "no index"])
async def test_a_link_to_a_page_that_may_be_closed_is_not_open(reads: Reads) -> None:
    assert await among(f"See {VPN.url} and {CLOSED}", reads=reads) == set()


async def test_a_link_elsewhere_is_open_where_the_wikis_address_is_known() -> None:
    link = "https://vendor.example.com/reset"

    assert await among(link, CLOSED, reads=Reads()) == {link}
    assert await among(link, reads=Reads(), hosts=None) == set()


def test_a_text_keeps_its_words_without_the_links_that_are_closed() -> None:
    text = "See https://a.example/x, (www.b.example/y) and HTTPS://c.example/z!"

    assert links_in(text) == {"https://a.example/x", "www.b.example/y", "HTTPS://c.example/z"}
    kept = with_open_links(text, frozenset({"https://a.example/x"}))
    assert kept == f"See https://a.example/x, ({LEFT_OUT}) and {LEFT_OUT}!"


async def test_what_is_gone_has_no_open_link() -> None:
    record = cast("Interactions", MemoryRecord())
    links = OpenLinks(record, Reads(OPEN), HOSTS)

    assert await links.among("default", InteractionId("gone"), VPN.url) == set()
