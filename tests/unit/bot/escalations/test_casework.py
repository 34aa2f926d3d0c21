"""Tests of what experts do and see, over a real record and a real index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.answering.reply_text import MISSING_INTRO
from bot.answering.visibility import ReadableInIndex
from bot.domain.cases import Act, Actor
from bot.domain.errors import ActRefused, DeliveryFailed, EscalationTaken, InteractionUnknown
from bot.domain.interactions import (
    Clarification,
    Escalation,
    EscalationReason,
    Outcome,
    Reply,
    Response,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import FoundPassage, Intent, InteractionId, Message
from bot.escalations.case_view import CaseView
from bot.escalations.casework import LONGEST_REPLY, Casework, QuestionLinks
from bot.store.database import Store, sqlite_url
from rag.errors import IndexUnavailable
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.types import EVERYONE, Chunk, ModelCall, Page, Principal, Readers
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import ALL, chunk, message
from tests.fakes.record_rows import rows

ANNA = Actor("u1", "Anna", "expert")
BEN = Actor("u2", "Ben", "expert")
COLLEAGUE = frozenset({EVERYONE})
HR = frozenset({EVERYONE, Principal("group:hr")})
VPN = "Restart the VPN client."
PAY = "Pay day is the 25th."


def source(page: str, quote: str) -> Source:
    return Source(
        chunk_id=page,
        page_id=f"{page}.md",
        title=page.upper(),
        url=f"https://wiki.example/{page}",
        section="",
        quote=quote,
        document_page=None,
        relevance=0.5,
        source_type="folder",
        source_id=f"{page}.md",
    )


def passage(page: str) -> FoundPassage:
    return FoundPassage(page, f"{page}.md", page.upper(), "", {"keyword": 3.0})


BOTH = (source("vpn", VPN), source("pay", PAY))
FOUND = (passage("vpn"), passage("pay"), passage("gone"))


async def keep(index: EmbeddedIndex, page: str, text: str, readers: Readers = ALL) -> None:
    part = chunk(text, chunk_id=page, page_id=f"{page}.md", title=page.upper(), readers=readers)
    await index.upsert_page(Page("default", "IT", f"{page}.md", text, readers), [part], None)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    await keep(opened, "vpn", VPN)
    await keep(opened, "pay", PAY, (frozenset({Principal("group:hr")}),))
    yield opened
    await opened.close()


@pytest.fixture
def casework(store: Store, index: EmbeddedIndex) -> Casework:
    return Casework(
        cases=store.escalations,
        interactions=store.interactions,
        readable=ReadableInIndex(index),
    )


def outcome(response: Response, *, searched: bool = True) -> Outcome:
    trace: Trace = generic_outcome("").trace
    if searched:
        trace = replace(trace, passages=FOUND, threshold=0.65, gate="stopped")
    return Outcome(response, trace)


def _rewritten(question: str) -> Route:
    return Route(Intent.DOMAIN, 1.0, "rule", question)


def escalated(reason: EscalationReason = "low_confidence") -> Escalation:
    return Escalation("I'll ask.", reason, "VPN?", BOTH, confidence=0.4)


async def ask(
    store: Store,
    text: str,
    what: Outcome,
    *leaned_on: InteractionId,
    message_id: str = "m1",
    thread: str = "t1",
    user: str = "u1",
) -> InteractionId:
    asked: Message = message(text, message_id=message_id, thread=thread, private=False)
    asked = replace(asked, author=replace(asked.author, id=user))
    route = replace(what.trace.route, leaned_on=leaned_on)
    what = replace(what, trace=replace(what.trace, route=route))
    opened = await store.work.open(asked, "me")
    await store.work.close(opened, what, last=True)
    return opened.id


async def view(
    casework: Casework, case_id: InteractionId, reader: frozenset[Principal] = COLLEAGUE
) -> CaseView:
    return await casework.view("default", case_id, reader)


async def test_a_case_comes_with_history_and_why_it_was_not_enough(
    casework: Casework, store: Store
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))
    await casework.act("default", case_id, "claim", ANNA)

    seen = await view(casework, case_id)

    assert seen.case.status.owner_id == "u1"
    assert [each.step for each in seen.steps] == ["open", "claim"]
    assert seen.finding is not None
    assert (seen.finding.gate, seen.finding.confidence) == ("stopped", 0.4)
    assert seen.finding.threshold == 0.65
    assert seen.finding.interaction_id == case_id
    assert seen.before == ()


async def test_pages_are_shown_to_those_who_may_read_them_and_counted_for_others(
    casework: Casework, store: Store
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    for reader, pages, hidden in ((COLLEAGUE, ["vpn.md"], 2), (HR, ["vpn.md", "pay.md"], 1)):
        seen = await view(casework, case_id, reader)
        assert seen.finding is not None
        assert [each.page_id for each in seen.finding.suggestions] == pages
        assert [each.page_id for each in seen.finding.passages] == pages
        assert seen.finding.hidden == hidden
        assert ("PAY" in repr(seen)) == (reader is HR)


async def test_a_quote_is_shown_only_while_it_is_on_the_page(
    casework: Casework, store: Store, index: EmbeddedIndex
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))
    await keep(index, "vpn", "Something else.")

    seen = await view(casework, case_id)

    assert seen.finding is not None
    assert [(each.title, each.quote) for each in seen.finding.suggestions] == [("VPN", "")]


async def test_another_page_under_the_same_id_tells_nothing_of_the_old_one(
    casework: Casework, store: Store, index: EmbeddedIndex
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))
    opened = chunk(PAY, chunk_id="pay", page_id="pay.md", title="Canteen")
    await index.upsert_page(Page("default", "IT", "pay.md", "2", ALL), [opened], None)

    seen = await view(casework, case_id)

    assert "PAY" not in repr(seen)


async def test_who_asked_for_a_person_is_explained_by_what_was_said_before(
    casework: Casework, store: Store
) -> None:
    first = await ask(store, "vpn?", outcome(escalated()))
    await ask(store, "thanks", outcome(Reply("Sure.", "generic"), searched=False), message_id="m2")
    human = outcome(Escalation("Of course.", "asked_for_human", "VPN?"), searched=False)
    case_id = await ask(store, "a human please", human, first, message_id="m3")
    await ask(store, "and now?", outcome(escalated()), message_id="m4")
    await ask(store, "elsewhere", outcome(escalated()), message_id="m5", thread="t2")

    seen = await view(casework, case_id)

    assert seen.finding is not None
    assert seen.finding.interaction_id == first
    assert [(each.question, each.answer) for each in seen.before] == [("vpn?", "I'll ask.")]


@pytest.mark.parametrize(("reader", "seen"), [(HR, "Who pays."), (COLLEAGUE, "")])
@pytest.mark.parametrize("cited", [BOTH, BOTH[:1]], ids=["all cited", "one only read"])
async def test_people_see_what_an_answer_lacks_where_they_may_read_its_pages(
    casework: Casework,
    store: Store,
    reader: frozenset[Principal],
    seen: str,
    cited: tuple[Source, ...],
) -> None:
    said = f"Restart [1].\n\n{MISSING_INTRO} Who pays."
    part = Reply(said, "answer", cited, 0.9, confidence_level="partial", missing="Who pays.")
    told = outcome(part)
    told = replace(told, trace=replace(told.trace, passages=FOUND[:2]))
    first = await ask(store, "vpn?", told)
    human = outcome(Escalation("Of course.", "asked_for_human", "VPN?"), searched=False)
    case_id = await ask(store, "a human please", human, first, message_id="m2")

    shown = await view(casework, case_id, reader)

    assert shown.finding is not None
    assert shown.finding.missing == seen
    assert ("Who pays" in str(shown)) is bool(seen)


@pytest.mark.mended(id="teams-1")
async def test_people_see_only_what_a_question_leaned_on_and_what_that_did(
    casework: Casework, store: Store
) -> None:
    await ask(store, "harassment?", outcome(escalated()))
    first = await ask(store, "vpn?", outcome(escalated()), message_id="m2")
    await ask(store, "sick pay?", outcome(escalated()), message_id="m3")
    second = await ask(store, "and on linux?", outcome(escalated()), first, message_id="m4")
    human = outcome(Escalation("Of course.", "asked_for_human", "and on linux?"), searched=False)
    wish = await ask(store, "a human please", human, second, message_id="m5")
    alone = await ask(store, "a bike?", outcome(escalated()), message_id="m6")

    seen = await view(casework, wish)

    assert [each.question for each in seen.before] == ["vpn?", "and on linux?"]
    assert (await view(casework, alone)).before == ()


@pytest.mark.mended(id="teams-1")
async def test_what_another_said_is_not_shown_even_if_leaned_on(
    casework: Casework, store: Store
) -> None:
    anna = await ask(store, "harassment?", outcome(escalated()), user="anna")
    leaning = outcome(escalated("asked_for_human"))
    leaning = replace(leaning, trace=replace(leaning.trace, route=_rewritten("(harassment)")))
    case_id = await ask(store, "and here?", leaning, anna, message_id="m2", user="bert")

    seen = await view(casework, case_id)

    assert seen.before == ()
    assert seen.finding is not None
    assert seen.finding.interaction_id == case_id
    assert "harassment" not in repr(seen)


async def test_a_record_that_says_nothing_of_it_shows_nothing_earlier(
    casework: Casework, store: Store, tmp_path: Path
) -> None:
    first = await ask(store, "vpn?", outcome(escalated()))
    case_id = await ask(store, "still", outcome(escalated()), first, message_id="m2")
    older = (
        "UPDATE interactions SET outcome = json_remove(outcome, '$.value.trace.route.leaned_on')"
    )
    rows(sqlite_url(tmp_path), older)

    seen = await view(casework, case_id)

    assert (seen.before, seen.finding is None) == ((), False)


@pytest.mark.parametrize(
    ("response", "answer", "withheld"),
    [
        (Reply("Restart [1].", "answer", BOTH[:1]), "Restart [1].", False),
        (Reply("Restart [1], on the 25th [2].", "answer", BOTH), "", True),
        (Reply("Hello!", "generic"), "Hello!", False),
        (Reply("Changed [1].", "answer", (source("vpn", "Gone."),)), "", True),
        (Clarification("Which?", ("PAY: secret",), BOTH), "", True),
    ],
    ids=["readable", "partly readable", "generic", "changed", "asked back"],
)
async def test_an_earlier_answer_is_shown_whole_or_not_at_all(
    casework: Casework, store: Store, response: Response, answer: str, *, withheld: bool
) -> None:
    first = await ask(store, "vpn?", outcome(response))
    case_id = await ask(store, "still", outcome(escalated()), first, message_id="m2")

    (before,) = (await view(casework, case_id)).before

    assert (before.answer, before.withheld) == (answer, withheld)


async def test_what_a_model_wrote_after_a_withheld_answer_is_withheld_too(
    casework: Casework, store: Store
) -> None:
    by_model = outcome(Reply("Am 25. ist Zahltag.", "generic"), searched=False)
    call = ModelCall("generic", "large", "generic@1", 9, 9, 7.0)
    by_model = replace(by_model, trace=replace(by_model.trace, calls=(call,)))
    pay = await ask(store, "pay?", outcome(Reply("On the 25th [1].", "answer", BOTH[1:])))
    german = await ask(store, "in German", by_model, message_id="m2")
    hello = await ask(store, "hello", outcome(Reply("Hello!", "generic")), message_id="m3")
    all_of_it = (pay, german, hello)
    case_id = await ask(store, "still", outcome(escalated()), *all_of_it, message_id="m4")

    before = (await view(casework, case_id)).before

    assert [each.answer for each in before] == ["", "", "Hello!"]
    assert [each.withheld for each in before] == [True, True, False]


class Broken:
    """An index that can't be read."""

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        raise IndexUnavailable("It is away.")

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        raise IndexUnavailable("It is away.")


async def test_nothing_is_shown_while_it_is_not_known_what_may_be_read(store: Store) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))
    blind = Casework(
        cases=store.escalations,
        interactions=store.interactions,
        readable=ReadableInIndex(Broken()),  # type: ignore[arg-type]  # only what it reads
    )

    with pytest.raises(IndexUnavailable):
        await view(blind, case_id)


async def test_what_is_withdrawn_or_anothers_is_unknown(casework: Casework, store: Store) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    with pytest.raises(InteractionUnknown):
        await casework.view("other", case_id, COLLEAGUE)
    await store.work.cancel(case_id)
    with pytest.raises(InteractionUnknown, match="withdrawn"):
        await view(casework, case_id)


async def test_an_act_is_done_with_the_words_that_were_said(
    casework: Casework, store: Store
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    answered = await casework.act("default", case_id, "reply", ANNA, " Restart it.\n")

    assert answered.status.state == "answered"
    steps = await store.escalations.steps("default", case_id)
    assert steps[-1].text == "Restart it."
    with pytest.raises(EscalationTaken):
        await casework.act("default", case_id, "claim", BEN)


@pytest.mark.parametrize(
    ("act", "text", "words"),
    [
        ("reply", " \n", "The reply is empty"),
        ("decline", "", "Enter a reason. It is sent to the asker"),
        ("reply", "x" * (LONGEST_REPLY + 1), "4,001 characters; the maximum is 4,000"),
        ("reopen", "x" * (LONGEST_REPLY + 1), "4,001 characters; the maximum is 4,000"),
    ],
)
async def test_words_that_can_not_be_sent_are_refused_with_the_cure(
    casework: Casework, store: Store, act: Act, text: str, words: str
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    with pytest.raises(ActRefused, match=words):
        await casework.act("default", case_id, act, ANNA, text)

    assert len(await store.escalations.steps("default", case_id)) == 1


async def test_a_reply_of_the_greatest_length_is_sent_and_a_claim_says_nothing(
    casework: Casework, store: Store
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    await casework.act("default", case_id, "claim", ANNA, "hm")
    await casework.act("default", case_id, "reply", ANNA, "x" * LONGEST_REPLY)

    texts = [each.text for each in await store.escalations.steps("default", case_id)]
    assert texts == ["", "", "x" * LONGEST_REPLY]


async def test_how_it_stands_is_shown_also_while_the_index_is_away(store: Store) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))
    blind = Casework(
        cases=store.escalations,
        interactions=store.interactions,
        readable=ReadableInIndex(Broken()),  # type: ignore[arg-type]  # only what it reads
    )
    await blind.act("default", case_id, "claim", ANNA)

    seen = await blind.shown("default", case_id, COLLEAGUE)

    assert seen.case.status.state == "claimed"
    assert [step.step for step in seen.steps] == ["open", "claim"]
    assert (seen.finding, seen.before) == (None, ())
    with pytest.raises(InteractionUnknown):
        await blind.shown("other", case_id, COLLEAGUE)


async def test_with_an_index_what_is_shown_is_what_may_be_read(
    casework: Casework, store: Store
) -> None:
    case_id = await ask(store, "vpn?", outcome(escalated()))

    shown = await casework.shown("default", case_id, COLLEAGUE)

    assert shown == await view(casework, case_id)
    bare = await casework.bare("default", case_id)
    assert (bare.case, bare.steps, bare.finding) == (shown.case, shown.steps, None)


@dataclass
class Linking:
    """Gives a link, or what else is set."""

    gives: str | None = "https://slack.example/m1"
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def link(self, message: Message) -> str | None:
        self.asked.append(message.id)
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return self.gives


@pytest.fixture
def channel() -> Linking:
    linking = Linking()
    linking.may_answer.set()
    return linking


@pytest.fixture
async def asked(store: Store) -> InteractionId:
    return (await store.work.open(message("hi", platform="slack", channel="C1"), "me")).id


async def test_a_link_is_asked_for_once(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    origins = QuestionLinks(store.interactions, {"slack": channel})

    assert [await origins.of(asked) for _ in range(2)] == ["https://slack.example/m1"] * 2
    assert channel.asked == ["m1"]


async def test_what_gives_no_link_has_none(store: Store, asked: InteractionId) -> None:
    assert await QuestionLinks(store.interactions, {"teams": Linking()}).of(asked) is None
    assert await QuestionLinks(store.interactions, {}).of(InteractionId("nothing")) is None


@pytest.mark.parametrize("gives", [None, "", "javascript:alert(1)", "http://slack.example"])
async def test_only_a_secure_address_is_a_link(
    store: Store, channel: Linking, asked: InteractionId, gives: str | None
) -> None:
    channel.gives = gives

    assert await QuestionLinks(store.interactions, {"slack": channel}).of(asked) is None


async def test_a_platform_that_fails_is_asked_again_the_next_time(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    origins = QuestionLinks(store.interactions, {"slack": channel})
    channel.error = DeliveryFailed("Slack is away.")
    assert await origins.of(asked) is None

    channel.error = None
    assert await origins.of(asked) == "https://slack.example/m1"


async def test_a_platform_that_is_slow_holds_up_no_page(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    channel.may_answer.clear()
    origins = QuestionLinks(store.interactions, {"slack": channel}, patience_seconds=0.01)

    assert await origins.of(asked) is None
