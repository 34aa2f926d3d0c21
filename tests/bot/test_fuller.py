"""The fuller answer is handed out whole, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.asker_identity import Reader
from bot.answering.permitted_views import (
    NOTHING_MORE,
    PAGES_CHANGED,
    READABILITY_NOT_KNOWN,
    PrivateAnswers,
)
from bot.domain.interactions import Interaction, Outcome, Reply, Source
from bot.domain.text.source_links import link_to_quote
from rag.types import EVERYONE, Chunk, Principal
from tests.bot.adapters.outcomes import ANSWER, LOCAL, TRACE, VPN
from tests.bot.offices import ReadsPages
from tests.builders import NOON, chunk, message

HERS = Reader(frozenset({EVERYONE, Principal("user:alice@acme.example")}))


def _page(source: Source, *readers: str) -> Chunk:
    return chunk(
        f"Before. {source.quote} After.",
        chunk_id=source.chunk_id,
        page_id=source.page_id,
        title=source.title,
        section=source.section,
        readers=tuple(frozenset({Principal(each)}) for each in readers),
    )


def _asked(private: Reply | None) -> Interaction:
    asked = message("vpn?", platform="slack", private=False)
    outcome = Outcome(ANSWER, TRACE, private)
    return Interaction(asked.interaction_id, asked, "done", NOON, outcome)


BOTH = replace(ANSWER, text="See [1] and [2].", sources=(VPN, LOCAL))


async def test_what_may_be_read_is_handed_out_with_links_that_open() -> None:
    pages = ReadsPages(_page(VPN, "user:alice@acme.example"), _page(LOCAL, EVERYONE))
    found = await PrivateAnswers(pages, public_url="https://desk.example").of(_asked(BOTH), HERS)
    assert found.reply is not None
    assert found.reply.text == BOTH.text
    assert [each.url for each in found.reply.sources] == [
        VPN.url,
        f"https://desk.example{link_to_quote(LOCAL.url, LOCAL.chunk_id, [LOCAL.quote])}",
    ]


@pytest.mark.parametrize("left", [(VPN,), (LOCAL,), ()])
async def test_one_page_that_is_gone_withholds_all(left: tuple[Source, ...]) -> None:
    pages = ReadsPages(*(_page(each, EVERYONE) for each in left))
    found = await PrivateAnswers(pages).of(_asked(BOTH), HERS)
    assert (found.reply, found.why_not) == (None, PAGES_CHANGED)


@pytest.mark.mended(id="slack-2")
async def test_what_is_not_in_the_spaces_open_to_a_reader_is_withheld() -> None:
    pages = ReadsPages(_page(VPN, EVERYONE), _page(LOCAL, EVERYONE))
    spaces = frozenset({"FAQ"})
    found = await PrivateAnswers(pages).of(_asked(BOTH), Reader(HERS.principals, spaces))
    assert (found.reply, found.why_not) == (None, PAGES_CHANGED)


async def test_an_answer_without_sources_is_withheld() -> None:
    found = await PrivateAnswers(ReadsPages()).of(_asked(replace(ANSWER, sources=())), HERS)
    assert found.reply is None


async def test_where_nothing_was_kept_that_is_said() -> None:
    fuller = PrivateAnswers(ReadsPages())
    assert (await fuller.of(_asked(None), HERS)).why_not == NOTHING_MORE
    withdrawn = replace(_asked(BOTH), outcome=None)
    assert (await fuller.of(withdrawn, HERS)).why_not == NOTHING_MORE


async def test_while_it_cannot_be_known_nothing_is_handed_out() -> None:
    pages = ReadsPages(_page(VPN, EVERYONE), _page(LOCAL, EVERYONE))
    pages.broken = True
    found = await PrivateAnswers(pages).of(_asked(BOTH), HERS)
    assert (found.reply, found.why_not) == (None, READABILITY_NOT_KNOWN)


groups = st.frozensets(st.sampled_from(["everyone", "user:a", "group:x"]), min_size=1)


@given(vpn=groups, local=groups, reader=groups)
async def test_nobody_is_handed_what_they_may_not_read(
    vpn: frozenset[str], local: frozenset[str], reader: frozenset[str]
) -> None:
    pages = ReadsPages(_page(VPN, *vpn), _page(LOCAL, *local))
    readers = Reader(frozenset(map(Principal, reader)))
    found = await PrivateAnswers(pages).of(_asked(BOTH), readers)
    assert (found.reply is not None) == (vpn <= reader and local <= reader)
