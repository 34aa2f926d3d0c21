"""The desk reads mistyped words, knows the names of pages, and asks back for broad words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.routing.router import Router
from bot.domain.interactions import Clarification, Outcome, Reply, Route
from bot.domain.messages import Intent, InteractionId, Stage
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.pipeline import Pipeline
from rag.types import EVERYONE, Principal, Readers, Turn
from tests.fakes.builders import inquiry, message
from tests.fakes.passages import ANYONE, Draft, put
from tests.unit.bot.answering.test_desk import WORDING, FirstLine, FixedGate, Greeter

HR = Principal("group:hr")
HIDDEN = (frozenset({HR}),)


@dataclass
class Classifier:
    """A router whose classifier takes every message for general knowledge, or for the wiki's."""

    intent: Intent = Intent.DOMAIN
    translation: str = ""
    language: str = ""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        return Route(
            intent=self.intent,
            score=0.9,
            decided_by="classifier",
            question=text,
            language="de" if self.translation else self.language,
            search_query=self.translation,
        )


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    yield opened
    await opened.close()


def page(page_id: str, text: str, title: str = "Handbook", readers: Readers = ANYONE) -> Draft:
    """Return a page of the tenant in whose name ``message`` asks."""
    tenant = message("").thread.tenant
    return Draft(page_id, (text,), tenant=tenant, title=title, readers=readers)


async def ask(
    index: EmbeddedIndex,
    text: str,
    *,
    intent: Intent = Intent.DOMAIN,
    readers: str = "",
    translation: str = "",
    language: str = "",
    history: tuple[Turn, ...] = (),
) -> Outcome:
    composer = FirstLine()
    router = Router(None, None, None) if history else Classifier(intent, translation, language)
    desk = Desk(
        ModelProfile(
            route=router.route,
            reply_generically=Greeter().reply,
            pipeline=Pipeline(index, None, composer, is_word="tower".__eq__),  # type: ignore[arg-type]  # a composer by its methods
        ),
        gate=FixedGate(0.9).judge,
        wording=WORDING,
    )

    async def report(stage: Stage, pages: int = 0) -> None: ...

    asked = replace(inquiry(message(text)), history=history)
    if readers:
        audience = replace(asked.audience, principals=frozenset({EVERYONE, Principal(readers)}))
        asked = replace(asked, audience=audience)
    return await desk.handle(asked, report)


async def test_the_asker_is_told_how_a_mistyped_question_was_read(index: EmbeddedIndex) -> None:
    await put(index, page("a", "The printer is on the first floor."), vectors=False)

    mistyped, clean = await ask(index, "the prnter"), await ask(index, "the printer")

    assert isinstance(mistyped.response, Reply)
    assert mistyped.remarks == ("I read it as \u201cthe printer\u201d.",)
    assert mistyped.trace.route.question == "the printer"
    assert clean.remarks == ()
    assert clean.trace.route.question == "the printer"


async def test_words_of_another_language_are_not_corrected(index: EmbeddedIndex) -> None:
    await put(index, page("a", "The printer is on the first floor."), vectors=False)

    outcome = await ask(index, "der prnter", language="de")

    assert outcome.remarks == ()
    assert outcome.trace.route.question == "der prnter"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("what is the router", Intent.UNKNOWN),
        ("what is the ruoter", Intent.UNKNOWN),
        ("what is a wombat", Intent.GENERIC),
        ("are you a router", Intent.GENERIC),
    ],
    ids=["named", "mistyped", "not named", "about the bot"],
)
async def test_what_names_a_page_is_not_general_knowledge(
    index: EmbeddedIndex, text: str, intent: Intent
) -> None:
    await put(index, page("a", "It routes questions.", title="Router"), vectors=False)

    outcome = await ask(index, text, intent=Intent.GENERIC)

    assert outcome.trace.route.intent is intent


@pytest.mark.parametrize(
    ("text", "translation", "intent"),
    [
        ("Was ist TOIL?", "What is TOIL?", Intent.UNKNOWN),
        ("Was ist die Bandbreite?", "What is bandwidth?", Intent.UNKNOWN),
        ("Was ist ein Wombat?", "What is a wombat?", Intent.GENERIC),
        ("Bist du TOIL?", "Are you TOIL?", Intent.GENERIC),
    ],
)
async def test_a_translated_question_names_a_page_in_the_wikis_words(
    index: EmbeddedIndex, text: str, translation: str, intent: Intent
) -> None:
    for name in ("TOIL", "Bandwidth"):
        await put(index, page(name, "As agreed.", title=name), vectors=False)

    outcome = await ask(index, text, intent=Intent.GENERIC, translation=translation)

    assert outcome.trace.route.intent is intent


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("printer", "printer"),
        ("The printers?", "The printers?"),
        ("scanners", "scanners (printer jams)"),
        ("ordering?", "ordering? (printer jams)"),
        ("what about the printer", "what about the printer (jams)"),
        ("cost?", "cost? (printer jams)"),
    ],
)
async def test_a_word_that_titles_name_is_a_new_question_in_a_conversation(
    index: EmbeddedIndex, text: str, searched: str
) -> None:
    await put(index, page("a", "They print.", title="Printers: ordering"), vectors=False)
    await put(index, page("b", "They scan.", title="Scanners", readers=HIDDEN), vectors=False)
    earlier = Turn("user", "the printer jams", InteractionId("one"), own=True)

    outcome = await ask(index, text, history=(earlier,))

    assert outcome.trace.route.question == searched


async def test_a_title_that_the_audience_cannot_read_overrules_nothing(
    index: EmbeddedIndex,
) -> None:
    hidden = page("a", "It routes.", title="Router", readers=HIDDEN)
    await put(index, hidden, vectors=False)

    of_everyone = await ask(index, "what is the router", intent=Intent.GENERIC)
    of_hr = await ask(index, "what is the router", intent=Intent.GENERIC, readers=HR)

    assert of_everyone.trace.route.intent is Intent.GENERIC
    assert of_hr.trace.route.intent is Intent.UNKNOWN


async def test_a_word_that_several_titles_share_is_asked_back(index: EmbeddedIndex) -> None:
    for number, title in enumerate(("Annual leave", "Parental leave")):
        await put(index, page(f"p{number}", "How leave works.", title), vectors=False)

    outcome = await ask(index, "leave")

    assert isinstance(outcome.response, Clarification)
    assert set(outcome.response.options) == {"Annual leave", "Parental leave"}
    assert isinstance((await ask(index, "how does leave work for us")).response, Reply)


async def test_pages_that_the_word_itself_names_are_offered_first(index: EmbeddedIndex) -> None:
    said = tuple(f"Leave and leaving, leave and leaving: {n}." for n in range(3))
    for title in ("Leaving Cork", "Leaving Porto"):
        await put(index, replace(page(title, "", title), texts=said), vectors=False)
    for title in ("Annual leave", "Sick leave"):
        await put(index, page(title, "Some of us leave each year.", title), vectors=False)

    response = (outcome := await ask(index, "leave")).response

    assert isinstance(response, Clarification)
    assert set(response.options[:2]) == {"Annual leave", "Sick leave"}
    assert set(response.options[2:]) == {"Leaving Cork", "Leaving Porto"}
    assert set(response.options) == {found.title for found in outcome.trace.passages}


async def test_a_page_with_the_word_as_its_title_owns_it(index: EmbeddedIndex) -> None:
    for number, title in enumerate(("Annual leave", "Parental leave", "Leave")):
        await put(index, page(f"p{number}", "How leave works.", title), vectors=False)

    assert isinstance((await ask(index, "leave")).response, Reply)
