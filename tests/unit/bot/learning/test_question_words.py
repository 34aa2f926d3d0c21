"""Tests of who may see the words of somebody else's question."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from bot.answering.asker_identity import Reader
from bot.domain.interactions import Escalation, Interaction, Outcome, Route, Trace
from bot.domain.messages import FoundPassage, Intent, InteractionId, Person
from bot.learning.question_words import QuestionWords, Spread, Viewer
from rag.types import EVERYONE, Principal
from tests.fakes.builders import ALL, NOON, chunk, message
from tests.fakes.chat_context import ReadsPages
from tests.fakes.learning import MemoryNotes

HR = Principal("group:hr")
VPN = chunk("", chunk_id="vpn-0", page_id="vpn", readers=ALL)
PAY = chunk("", chunk_id="pay-0", page_id="pay", readers=(frozenset({HR}),))
LENA = Viewer(frozenset({"lena", "slack:U1"}), Reader(frozenset({EVERYONE})))
LENA_OF_HR = replace(LENA, reader=Reader(frozenset({EVERYONE, HR})))
THREE, PUBLIC = Spread(askers=3), Spread(public=True)


class Workers:
    """Implements CaseWorkers: the same people worked on every case."""

    def __init__(self, *people: str) -> None:
        self.people = frozenset(people)

    async def workers(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, frozenset[str]]:
        return dict.fromkeys(ids, self.people) if self.people else {}


def asked(*passages: str) -> Interaction:
    """Return anna's question for which passages of pages (``page-number``) were found."""
    question = message("What does grade 7 earn?")
    found = tuple(FoundPassage(each, each.partition("-")[0], "", "", {}) for each in passages)
    route = Route(Intent.DOMAIN, 1.0, "rule", question.text)
    outcome = Outcome(
        Escalation("I don't know.", "low_confidence", question.text), Trace(route, found, heard=())
    )
    return Interaction(question.interaction_id, question, "done", NOON, outcome)


async def shown(
    question: Interaction,
    viewer: Viewer = LENA,
    *,
    spread: Spread | None = None,
    workers: Workers | None = None,
    notes: MemoryNotes | None = None,
) -> Collection[str]:
    words = QuestionWords(workers or Workers(), notes or MemoryNotes(), ReadsPages(VPN, PAY))
    known = {} if spread is None else {question.id: spread}
    return (await words.shown("default", [question], viewer, known)).values()


@pytest.mark.parametrize("spread", [None, Spread(askers=2)])
async def test_a_question_of_few_people_is_theirs_alone(spread: Spread | None) -> None:
    question = asked("vpn-0")

    assert not await shown(question, spread=spread)
    assert not await shown(question, workers=Workers("tomas"), spread=spread)
    assert await shown(question, replace(LENA, ids=frozenset({"anna"})), spread=spread)


@pytest.mark.parametrize("spread", [THREE, PUBLIC])
async def test_a_known_question_is_shown_to_readers_of_all_its_pages(spread: Spread) -> None:
    both = asked("vpn-0", "pay-0")

    assert list(await shown(asked("vpn-0"), spread=spread)) == ["What does grade 7 earn?"]
    assert not await shown(both, spread=spread)
    assert await shown(both, LENA_OF_HR, spread=spread)


async def test_who_worked_on_its_case_may_see_a_question() -> None:
    assert await shown(asked("vpn-0"), workers=Workers("slack:U1"))
    assert not await shown(asked("pay-0"), workers=Workers("slack:U1"))


async def test_an_asker_may_let_others_see_their_questions_and_stop_that() -> None:
    notes, question = MemoryNotes(), asked("vpn-0")
    words = QuestionWords(Workers(), notes, ReadsPages(VPN))

    await words.agree("default", Person("anna"), shares=True)
    assert await shown(question, notes=notes)
    assert not await shown(asked("pay-0"), notes=notes)
    await words.agree("default", Person("anna"), shares=False)
    assert not await shown(question, notes=notes)


async def test_a_mended_page_still_shows_who_asked_for_it() -> None:
    assert await shown(asked("vpn-0", "vpn-7"), spread=THREE)
    assert not await shown(asked("vpn-0", "gone-0"), spread=THREE)


async def test_a_withdrawn_question_is_shown_to_nobody() -> None:
    assert not await shown(replace(asked("vpn-0"), status="cancelled"), spread=THREE)
