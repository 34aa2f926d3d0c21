"""Tests of labels: what is proposed, who decides, and the operator's questions file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.answering.asker_identity import Reader
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.visibility import ReadableInIndex
from bot.domain.cases import Actor
from bot.domain.errors import ActRefused, DeliveryFailed
from bot.domain.interactions import Interaction, new_feedback
from bot.domain.messages import InteractionId, Message
from bot.learning.label_review import LabelCollector, LabelReview
from bot.learning.labels import Label, LabelKey, LabelOrigin
from bot.learning.question_words import QuestionWords, Viewer
from bot.store.database import Store
from rag.types import EVERYONE, Principal
from tests.fakes.board_app import CLOSED, OPEN, SURE, TRACE, TwoPageIndex, ask, passage, source

FOUND_OPEN = replace(TRACE, passages=(passage(OPEN),))
FOUND_BOTH = replace(TRACE, passages=(passage(OPEN), passage(CLOSED)))
LENA = Viewer(frozenset({"lena"}), Reader(frozenset({EVERYONE})))
INES = Viewer(frozenset({"ines"}), Reader(frozenset({EVERYONE, Principal("group:hr")})))
MIKA = replace(LENA, ids=frozenset({"mika"}))
SOON = timedelta(minutes=1)
"""The record has its own clock; what it has written now is before this from now on."""


class PublicChannels:
    """Implements KnowsPublicChannels: every channel is public; ``away``: nobody knows."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away

    async def is_public(self, message: Message) -> bool:
        if self.away:
            raise DeliveryFailed("away")
        return not message.private


def collector(
    store: Store, channels: PublicChannels | None = None, ahead: timedelta = SOON
) -> LabelCollector:
    return LabelCollector(
        "default",
        labels=store.labels,
        interactions=store.interactions,
        marks=store.jobs,
        channels={} if channels is None else {"slack": channels},
        now=lambda: datetime.now(UTC) + ahead,
    )


def review(store: Store, path: Path) -> LabelReview:
    readable = ReadableInIndex(TwoPageIndex())  # type: ignore[arg-type]  # only what it reads
    return LabelReview(
        "default",
        labels=store.labels,
        interactions=store.interactions,
        words=QuestionWords(store.escalations, store.notes, readable),
        readable=readable,
        audits=store.audits,
        questions=path / "questions.jsonl",
        now=lambda: datetime.now(UTC),
    )


async def thumb(store: Store, asked: Interaction, vote: str, person: str = "mika") -> None:
    await store.interactions.rate(new_feedback(asked.id, person, "up" if vote == "up" else "down"))


async def candidates(store: Store) -> dict[LabelOrigin, Label]:
    found = await store.labels.find("default", "candidate", limit=10)
    return {each.key.origin: each for each in found}


async def public_thumb(store: Store, *, closed: bool = False) -> LabelKey:
    """Have an answer thumbed up in a public channel; return its candidate."""
    found = FOUND_BOTH if closed else FOUND_OPEN
    asked = await ask(store, response=SURE, trace=found)
    await thumb(store, asked, "up")
    await collector(store, PublicChannels()).run()
    return LabelKey(asked.id, "thumb")


@pytest.mark.parametrize(("vote", "truth"), [("up", "right"), ("down", "wrong")])
async def test_a_thumb_proposes_the_cited_pages(store: Store, vote: str, truth: str) -> None:
    asked = await ask(store, response=SURE, trace=FOUND_OPEN)
    await thumb(store, asked, vote)

    await collector(store).run()

    label = (await candidates(store))["thumb"]
    assert (label.truth, label.pages, label.question) == (truth, ("vpn.md",), "")


async def test_a_changed_mind_changes_the_candidate(store: Store) -> None:
    asked = await ask(store, response=SURE, trace=FOUND_OPEN)
    await thumb(store, asked, "up")
    await collector(store).run()
    await thumb(store, asked, "down")
    await collector(store, ahead=2 * SOON).run()

    assert (await candidates(store))["thumb"].truth == "wrong"


async def test_a_reopened_case_is_a_candidate(store: Store) -> None:
    asked = await ask(store)
    asker, expert = Actor("mika", "Mika", "asker"), Actor("lena", "Lena", "expert")
    for act, actor, text in (
        ("reply", expert, "So."),
        ("resolve", expert, ""),
        ("reopen", asker, ""),
    ):
        await store.escalations.act("default", asked.id, act, actor, text)  # type: ignore[arg-type]

    await collector(store).run()

    assert (await candidates(store))["reopened"].truth == "unanswerable"


async def test_answers_of_last_week_are_drawn_once(store: Store) -> None:
    asked = await ask(store, response=replace(SURE, confidence_level="sure"), trace=FOUND_OPEN)
    week = timedelta(days=7)

    await collector(store, ahead=week).run()
    assert (await candidates(store))["sampled"].key.interaction_id == asked.id
    await review_all(store, asked.id)
    await collector(store, ahead=week + SOON).run()
    assert not await candidates(store)


async def review_all(store: Store, asked: InteractionId) -> None:
    """Reject every candidate about a question."""
    for origin, label in (await candidates(store)).items():
        assert label.key == LabelKey(asked, origin)
        await store.labels.decide(
            "default", replace(label, state="rejected", decided_at=datetime.now(UTC))
        )


async def test_only_those_who_may_see_a_question_decide_about_it(
    store: Store, tmp_path: Path
) -> None:
    asked = await ask(store, response=SURE, trace=FOUND_OPEN)
    await thumb(store, asked, "up")
    await collector(store).run()
    key, deciding = LabelKey(asked.id, "thumb"), review(store, tmp_path)

    assert await deciding.shown("candidate", LENA, limit=10) == ([], 1)
    with pytest.raises(ActRefused):
        await deciding.accept(key, "right", ["vpn.md"], LENA, actor="lena")
    (shown,), hidden = await deciding.shown("candidate", MIKA, limit=10)
    assert (shown.question, hidden) == ("vpn 809", 0)


async def test_a_closed_page_hides_even_a_public_question(store: Store, tmp_path: Path) -> None:
    await public_thumb(store, closed=True)

    assert await review(store, tmp_path).shown("candidate", LENA, limit=10) == ([], 1)
    shown, _ = await review(store, tmp_path).shown("candidate", INES, limit=10)
    assert len(shown) == 1


async def test_what_the_platform_cannot_tell_is_not_public(store: Store, tmp_path: Path) -> None:
    asked = await ask(store, response=SURE, trace=FOUND_OPEN)
    await thumb(store, asked, "up")
    await collector(store, PublicChannels(away=True)).run()

    assert await review(store, tmp_path).shown("candidate", LENA, limit=10) == ([], 1)


async def test_an_accepted_label_is_a_line_that_evaluate_reads(
    store: Store, tmp_path: Path
) -> None:
    own = '{"id": "mine", "question": "Where?", "kind": "far"}'
    (tmp_path / "questions.jsonl").write_text(f"{own}\n")
    key = await public_thumb(store)

    await review(store, tmp_path).accept(key, "right", ["vpn.md", ""], LENA, actor="board:lena")

    mine, learned = load_questions(tmp_path / "questions.jsonl")
    assert mine.id == "mine"
    assert (learned.question, learned.kind, learned.pages) == ("vpn 809", "answerable", ("vpn.md",))
    (audited,) = await store.audits.newest("default", 1)
    assert (audited.act, audited.actor) == ("label.accepted", "board:lena")


async def test_restricted_pages_are_labelled_with_who_reads_them(
    store: Store, tmp_path: Path
) -> None:
    both = replace(SURE, sources=(source(OPEN), source(CLOSED)))
    asked = await ask(store, response=both, trace=FOUND_BOTH)
    await thumb(store, asked, "up")
    await collector(store, PublicChannels()).run()

    label = await review(store, tmp_path).accept(
        LabelKey(asked.id, "thumb"), "right", ["plan.md"], INES, actor="ines"
    )

    assert label.groups == ("group:hr",)


async def test_an_unanswerable_question_names_no_page(store: Store, tmp_path: Path) -> None:
    key, deciding = await public_thumb(store), review(store, tmp_path)

    with pytest.raises(ActRefused):
        await deciding.accept(key, "wrong", [" "], LENA, actor="lena")
    await deciding.accept(key, "unanswerable", ["vpn.md"], LENA, actor="lena")

    (learned,) = load_questions(tmp_path / "questions.jsonl")
    assert (learned.kind, learned.pages) == ("near_miss", ())


async def test_the_first_decision_counts(store: Store, tmp_path: Path) -> None:
    key, deciding = await public_thumb(store), review(store, tmp_path)
    await deciding.reject(key, actor="lena")

    with pytest.raises(ActRefused):
        await deciding.accept(key, "right", ["vpn.md"], LENA, actor="tom")
    assert not (tmp_path / "questions.jsonl").exists()


async def test_a_withdrawn_question_leaves_the_file(store: Store, tmp_path: Path) -> None:
    key, deciding = await public_thumb(store), review(store, tmp_path)
    await deciding.accept(key, "right", ["vpn.md"], LENA, actor="lena")
    await store.work.cancel(key.interaction_id)

    assert await deciding.write() == 0
    assert (tmp_path / "questions.jsonl").read_text() == ""


async def test_a_broken_line_of_the_operator_stays(store: Store, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"id": "use-x"}\n{broken\n')

    await review(store, tmp_path).write()

    assert (tmp_path / "questions.jsonl").read_text() == "{broken\n"
