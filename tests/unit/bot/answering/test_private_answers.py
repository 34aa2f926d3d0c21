"""Tests of the last permission check before a page is quoted, in public or in private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.answer_plan import ModelProfile
from bot.answering.asker_identity import Reader
from bot.answering.desk import Desk
from bot.answering.private_answers import (
    NOTHING_MORE,
    PAGES_CHANGED,
    READABILITY_NOT_KNOWN,
    PrivateAnswers,
)
from bot.domain.interactions import Clarification, Escalation, Interaction, Outcome, Reply, Source
from bot.domain.messages import Intent, Stage
from bot.domain.urls import link_to_quote
from rag.errors import IndexUnavailable
from rag.pipeline import Pipeline
from rag.types import EVERYONE, Chunk, ModelCall, Passage, Principal, Question
from tests.fakes.builders import NOON, chunk, inquiry, message
from tests.fakes.chat_context import ReadsPages
from tests.fakes.desk import ANSWER, LOCAL, TRACE, VPN
from tests.unit.bot.answering.test_desk import (
    WORDING,
    FirstLine,
    FixedGate,
    FixedRouter,
    Greeter,
    ListIndex,
)

HR = Principal("group:hr")
CALL = ModelCall("answer", "m", "p@1", 10, 5, 1.0)


@dataclass
class Closed:
    """Implements RechecksPermissions: closed pages may not be read; remembers what was asked."""

    pages: set[str]
    asked: list[tuple[frozenset[str], frozenset[Principal]]] = field(default_factory=list)

    async def readable_chunk_ids(
        self, tenant: str, chunks: Sequence[Chunk], readers: frozenset[Principal]
    ) -> frozenset[str]:
        assert tenant == "default"
        self.asked.append((frozenset(each.page_id for each in chunks), readers))
        return frozenset(each.id for each in chunks if each.page_id not in self.pages)


@dataclass
class ExcludingIndex(ListIndex):
    """A list that leaves out the pages it is told to."""

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        found = await super().search(question, readers, k)
        return tuple(one for one in found if one.chunk.page_id not in question.excluded_pages)


@dataclass
class GoneTheSecondTime(ExcludingIndex):
    """Can be searched only once."""

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        self.broken = bool(self.searched)
        return await super().search(question, readers, k)


@dataclass
class GoneWhileItIsRead(ExcludingIndex):
    """Knows no words any more."""

    async def vocabulary(self, *_: object) -> None:
        raise IndexUnavailable("gone")


def page(number: int, *readers: Principal) -> Chunk:
    return chunk(
        f"Text of page {number}.",
        chunk_id=f"c{number}",
        page_id=f"p{number}",
        title=f"Page {number}",
        readers=(frozenset(readers or (EVERYONE,)),),
    )


@dataclass
class Bench:
    """A desk over some pages, with a last look at them."""

    chunks: list[Chunk]
    recheck: Closed
    sure: float = 0.9
    composer: FirstLine = field(default_factory=lambda: FirstLine(calls=(CALL,)))
    index: type[ListIndex] = ExcludingIndex

    async def ask(
        self, *, private: bool = True, own: frozenset[Principal] = frozenset()
    ) -> Outcome:
        desk = Desk(
            ModelProfile(
                route=FixedRouter(Intent.DOMAIN).route,
                reply_generically=Greeter().reply,
                pipeline=Pipeline(self.index(self.chunks), None, self.composer),  # type: ignore[arg-type]  # only what the pipeline calls
            ),
            gate=FixedGate(self.sure).judge,
            wording=WORDING,
            recheck=self.recheck,
        )
        asked = message("what is page text", private=private, principals=own | {EVERYONE})
        return await desk.handle(inquiry(asked), _quiet)


async def _quiet(_: Stage, __: int = 0) -> None:
    pass


async def test_an_answer_whose_pages_stand_costs_one_look_and_nothing_else() -> None:
    bench = Bench([page(1), page(2)], Closed(set()))

    outcome = await bench.ask()

    assert isinstance(outcome.response, Reply)
    assert [pages for pages, _ in bench.recheck.asked] == [{"p1"}]
    assert bench.composer.composed == 1
    assert outcome.trace.notes == ()


async def test_a_page_that_fails_is_left_out_and_the_question_asked_once_more() -> None:
    bench = Bench([page(1), page(2)], Closed({"p1"}))

    outcome = await bench.ask()

    assert isinstance(outcome.response, Reply)
    assert [source.page_id for source in outcome.response.sources] == ["p2"]
    assert "Page 1" not in repr(outcome)
    assert outcome.trace.calls == (CALL, CALL)
    assert outcome.trace.notes == ("pages that failed the last check were left out: 1",)


@pytest.mark.mended(id="mission-A5")
@pytest.mark.parametrize("index", [GoneTheSecondTime, GoneWhileItIsRead])
async def test_what_a_model_took_counts_if_the_index_fails_then(
    index: type[ListIndex],
) -> None:
    outcome = await Bench([page(1), page(2)], Closed({"p1"}), index=index).ask()

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.error == "index_unavailable"
    assert CALL in outcome.trace.calls


async def test_when_the_second_answer_fails_too_people_are_asked_and_nothing_is_named() -> None:
    bench = Bench([page(1), page(2), page(3)], Closed({"p1", "p2"}))

    outcome = await bench.ask()

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.suggestions == ()
    assert bench.composer.composed == 2
    assert outcome.trace.calls == (CALL, CALL)


@pytest.mark.parametrize("sure", [0.1, 0.9])
@pytest.mark.parametrize("closed", [{"p1"}, {"p2"}, {"p1", "p2"}, {"p1", "p2", "p3", "p4"}])
async def test_nothing_of_a_closed_page_is_offered_instead(sure: float, closed: set[str]) -> None:
    outcome = await Bench([page(n) for n in range(1, 5)], Closed(closed), sure=sure).ask()

    response = outcome.response
    assert isinstance(response, Reply | Clarification | Escalation)
    sources = response.sources if isinstance(response, Reply) else response.suggestions
    assert {source.page_id for source in sources}.isdisjoint(closed)
    assert not any(f"Page {number[1:]}" in repr(response) for number in closed)


async def test_a_model_that_fails_names_no_closed_page_either() -> None:
    bench = Bench([page(1), page(2)], Closed({"p1"}), composer=FirstLine(fails=True))

    outcome = await bench.ask()

    assert isinstance(outcome.response, Escalation)
    assert [source.page_id for source in outcome.response.suggestions] == ["p2"]


async def test_the_fuller_reply_is_looked_at_for_its_asker() -> None:
    closed = Closed({"p2"})
    chunks = [page(2, HR), page(3, HR), page(1)]

    outcome = await Bench(chunks, closed).ask(private=False, own=frozenset({HR}))

    assert outcome.private is not None
    assert [source.page_id for source in outcome.private.sources] == ["p3"]
    own = frozenset({EVERYONE, HR})
    looks = [("p1", frozenset({EVERYONE})), ("p2", own), ("p3", own)]
    assert closed.asked == [(frozenset({one}), readers) for one, readers in looks]
    assert outcome.trace.calls == (CALL, CALL, CALL)


async def test_there_is_no_fuller_reply_when_its_pages_fail_twice() -> None:
    chunks = [page(2, HR), page(3, HR), page(4, HR), page(1)]

    outcome = await Bench(chunks, Closed({"p2", "p3"})).ask(private=False, own=frozenset({HR}))

    assert outcome.private is None
    assert isinstance(outcome.response, Reply)


@pytest.mark.parametrize("closed", [False, True])
async def test_what_was_kept_for_an_asker_is_looked_at_again_when_wanted(*, closed: bool) -> None:
    there = replace(
        chunk(VPN.quote, chunk_id=VPN.chunk_id, page_id=VPN.page_id, title=VPN.title),
        section=VPN.section,
    )
    asked = message("vpn?", platform="slack", private=False)
    kept = Outcome(ANSWER, TRACE, replace(ANSWER, sources=(VPN,)))
    interaction = Interaction(asked.interaction_id, asked, "done", NOON, kept)
    fuller = PrivateAnswers(ReadsPages(there), recheck=Closed({VPN.page_id} if closed else set()))

    found = await fuller.of(interaction, Reader(frozenset({EVERYONE})))

    assert (found.reply is None) == closed
    assert found.why_not == (PAGES_CHANGED if closed else "")


@pytest.mark.parametrize(("sure", "missing"), [(0.5, None), (0.9, "when")], ids=["guess", "part"])
async def test_of_a_guess_or_part_all_found_is_looked_at(sure: float, missing: str | None) -> None:
    composer = FirstLine(calls=(CALL,), missing=missing)
    bench = Bench([page(1), page(2), page(3)], Closed({"p2"}), sure, composer)

    outcome = await bench.ask()

    assert bench.recheck.asked[0][0] == {"p1", "p2", "p3"}
    assert "Page 2" not in repr(outcome)


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
