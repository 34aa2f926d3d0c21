"""Closed pages are in no prompt, own history, explanation or answer of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.answer_plan import ModelProfile
from bot.answering.asker_identity import Reader
from bot.answering.desk import Desk
from bot.answering.explanations.explainer import Explainer
from bot.answering.gate import load_gate
from bot.answering.grounded_answer import CORRECTED, READ_AS
from bot.answering.permitted_views import exchange_of
from bot.answering.reply_text import MISSING_INTRO
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.answering.visibility import PAGE_CLOSED, ReadableInIndex, ReadablePassages, Visibility
from bot.domain.formatting import option_label
from bot.domain.interactions import (
    Clarification,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import FoundPassage, Inquiry, Intent, Introduction, Message, Policy, Stage
from bot.domain.ports import ReportStage
from bot.store.database import Store
from bot.web.board.question_view import record_view
from bot.web.chat.answer_view import exchange_view
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.pipeline import Pipeline
from rag.ports import Prompt
from rag.types import EVERYONE, Chunk, Page, Principal, Turn
from tests.fakes.builders import ALL, chunk, message
from tests.fakes.chat_app import Browser, OnePageIndex, chat_app
from tests.fakes.chat_context import ReadsPages
from tests.fakes.durable_inbox import record_answer, stored_interaction
from tests.fakes.http_server import serving, settings_for
from tests.fakes.rag_ports import ScriptedModel, understood
from tests.unit.bot.answering.test_admission import ANNA, Registrar, introductions
from tests.unit.bot.answering.test_desk import WORDING, FirstLine, FixedGate, ListIndex

pytestmark = pytest.mark.attack

WORDS, TITLE, SECTION = "Canarytext is paid in May.", "Canarytitle", "Canarysection"
PAGE = chunk(WORDS, chunk_id="pay", page_id="pay.md", title=TITLE, section=SECTION)
FOUND = FoundPassage(PAGE.id, PAGE.page_id, TITLE, SECTION, {"keyword": 3.0})
CITED = Source(PAGE.id, PAGE.page_id, TITLE, "", SECTION, WORDS, None, 0.9, "folder", PAGE.page_id)
OTHER_PAGE = chunk("Open.", chunk_id="open", page_id="open.md", title="Open title", section="")
NOBODY = (frozenset({Principal("group:hr")}),)

mended = pytest.mark.mended(id="attack-2")


def told(question: str = "when is the bonus paid?") -> Outcome:
    """An answer that quotes the page."""
    route = Route(Intent.DOMAIN, 1.0, "rule", question)
    trace = Trace(route, (FOUND,), threshold=0.65, gate="passed", heard=())
    lacks = "whether the Canarytext is paid at once"
    said = f"From the wiki:\n\n> {WORDS} [1]\n\n{MISSING_INTRO} {lacks}"
    reply = Reply(said, "found", (CITED,), 0.9, confidence_level="partial", missing=lacks)
    return Outcome(reply, trace)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    await opened.upsert_page(Page("default", "IT", PAGE.page_id, "1", ALL), [PAGE], None)
    yield opened
    await opened.close()


async def close_page(index: EmbeddedIndex) -> None:
    await index.set_readers("default", "IT", PAGE.page_id, NOBODY)


class Obeying(ScriptedModel):
    """Takes everything for small talk, and repeats all that it was told."""

    def __init__(self) -> None:
        super().__init__(self._said)

    def _said(self, prompt: Prompt) -> str:
        told = prompt.messages[-1].content
        if prompt.id.startswith("understand"):
            return understood("GENERIC", "When is that bonus paid in France?")
        return told

    def purposes(self) -> set[str]:
        return {prompt.id.partition("@")[0] for prompt in self.prompts}

    def canaries(self) -> int:
        return sum("canary" in str(prompt.messages).lower() for prompt in self.prompts)


@dataclass
class Talk:
    """One thread: what is said in it is admitted, answered by the real desk, and recorded."""

    store: Store
    readable: ReadablePassages | None
    model: Obeying | None = field(default_factory=Obeying)
    said: int = 0

    async def admitted(self, text: str) -> tuple[Message, Inquiry]:
        self.said += 1
        asked = message(text, message_id=f"t{self.said}")
        admission = Admission(
            self.store.interactions,
            VouchedDirectory(),
            Policy(),
            self.store.policies,
            readable=self.readable,
        )
        inquiry = await admission.admit(asked)
        assert isinstance(inquiry, Inquiry)
        return asked, inquiry

    async def say(self, text: str) -> Interaction:
        asked, inquiry = await self.admitted(text)
        desk = Desk(
            ModelProfile(
                route=Router(None, None, self.model).route,
                reply_generically=GenericAnswers(self.model).reply,
                pipeline=Pipeline(ListIndex([]), None, FirstLine()),  # type: ignore[arg-type]  # only what the pipeline calls
            ),
            gate=FixedGate(0.2).judge,
            wording=WORDING,
        )
        return await record_answer(self.store, asked, await desk.handle(inquiry, silently))

    async def history(self) -> tuple[Turn, ...]:
        return (await self.admitted("and now?"))[1].history


async def silently(stage: Stage, pages: int = 0) -> None:
    """Report nothing."""


@mended
async def test_no_prompt_holds_what_a_closed_page_said(store: Store, index: EmbeddedIndex) -> None:
    await record_answer(store, message("when is the bonus paid?", message_id="m0"), told())
    talk, model = Talk(store, ReadableInIndex(index)), Obeying()
    talk.model = model
    await talk.say("Translate your last answer into French, please")
    assert model.canaries() == len(model.prompts) >= 2, "it is told while the page is open"
    model.prompts.clear()
    await close_page(index)

    for text in (
        "Say that in German please",
        "and that in France?",
        "Say it once more",
        "and now?",
    ):
        await talk.say(text)

    assert model.purposes() == {"generic", "understand"}
    assert model.canaries() == 0


@mended
async def test_an_open_turn_is_told_whole_and_a_closed_one_by_its_question(
    store: Store, index: EmbeddedIndex
) -> None:
    asked = message("when is the bonus paid?", message_id="m0")
    await record_answer(store, asked, told())
    talk = Talk(store, ReadableInIndex(index))

    assert WORDS in (await talk.history())[-1].text
    await close_page(index)
    history = await talk.history()

    assert history[0].text == asked.text
    assert "canary" not in str(history).lower()


@mended
async def test_a_option_of_a_closed_page_is_left_out(store: Store, index: EmbeddedIndex) -> None:
    await record_answer(store, message(f"{TITLE}: {SECTION}", message_id="m0"), told())
    await close_page(index)

    assert await Talk(store, ReadableInIndex(index)).history() == ()


async def test_an_option_whose_page_was_closed_before_the_answer_is_left_out(
    store: Store, index: EmbeddedIndex
) -> None:
    """Its exchange found no page, so that only the offer tells whose words they are."""
    option = f"{TITLE}: {SECTION}"
    route = Route(Intent.DOMAIN, 1.0, "rule", "pay")
    offer = Outcome(Clarification("Which?", (option,)), Trace(route, (FOUND,), heard=()))
    await record_answer(store, message("pay", message_id="m0"), offer)
    await close_page(index)
    talk = Talk(store, ReadableInIndex(index), model=None)
    chosen = await talk.say(option)

    assert chosen.outcome is not None
    assert chosen.outcome.trace.passages == ()
    assert "canary" not in str(await talk.history()).lower()


async def test_follow_ups_by_rules_go_on_from_open_ones(store: Store, index: EmbeddedIndex) -> None:
    await record_answer(store, message("when is the bonus paid?", message_id="m0"), told())

    open_ = await Talk(store, ReadableInIndex(index), model=None).say("and in France?")
    await close_page(index)
    closed = await Talk(store, ReadableInIndex(index), model=None, said=1).say("and in Spain?")

    for each in (open_, closed):
        assert each.outcome is not None
        assert "bonus" in each.outcome.trace.route.question


@dataclass
class Counting:
    """Counts how often the index is asked."""

    readable_: ReadablePassages
    asked: int = 0

    async def readable(self, *asked: object) -> object:
        self.asked += 1
        return await self.readable_.readable(*asked)  # type: ignore[arg-type]  # passed on as it is


async def test_the_index_is_asked_once_and_only_where_a_turn_cites(
    store: Store, index: EmbeddedIndex
) -> None:
    counting = Counting(ReadableInIndex(index))
    talk = Talk(store, counting)  # type: ignore[arg-type]  # counts, and passes on
    await record_answer(store, message("hi", message_id="m0"), "Hello.")
    await talk.history()
    assert counting.asked == 0

    await record_answer(store, message("bonus?", message_id="m1"), told())
    await record_answer(store, message("bonus, again?", message_id="m2"), told())
    await talk.history()
    assert counting.asked == 1


@mended
@pytest.mark.parametrize("there", [True, False], ids=["index away", "no index"])
async def test_what_can_not_be_checked_is_left_out(store: Store, *, there: bool) -> None:
    await record_answer(store, message("bonus?", message_id="m0"), told())
    broken = ReadsPages(PAGE)
    broken.broken = True

    history = await Talk(store, broken if there else None).history()

    assert "canary" not in str(history).lower()


class Knows:
    """Answers everything from the page; the question was rewritten with its words."""

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        answer = told(f"{inquiry.message.text} (Canarytext)")
        return replace(answer, trace=replace(answer.trace, heard=(FOUND,)))


@pytest.mark.mended(id="attack-3")
async def test_own_history_and_why_tell_of_a_closed_page(store: Store, tmp_path: Path) -> None:
    pages = ReadsPages(PAGE)
    async with (
        chat_app(tmp_path, store, OnePageIndex(), Knows(), readable=pages) as app,
        TestClient(TestServer(app)) as client,
    ):
        browser = Browser(client)
        path, _ = await browser.ask("when is the bonus paid?")
        places = (path, "/", f"{path}/why", f"/c/{path.split('/')[2]}")
        for place in places:
            assert "Canary" in await browser.get(place), place
        pages.chunks.clear()

        for place in places:
            page = await browser.get(place)
            assert "canary" not in page.lower(), place
            assert PAGE_CLOSED in page, place
        assert "when is the bonus paid?" in await browser.get("/")
        pages.broken = True
        assert "right now whether you have access" in await browser.get(path)


@pytest.mark.mended(id="attack-3")
async def test_lists_and_searches_show_no_closed_option(store: Store, tmp_path: Path) -> None:
    pages = ReadsPages(PAGE)
    async with (
        chat_app(tmp_path, store, OnePageIndex(), Knows(), readable=pages) as app,
        TestClient(TestServer(app)) as client,
    ):
        browser = Browser(client)
        path, _ = await browser.ask(f"{TITLE}: {SECTION}")
        places = ("/", "/history", "/history?q=canarytitle")
        for place in places:
            assert TITLE in await browser.get(place), place
        pages.chunks.clear()

        for place in places:
            assert TITLE not in await browser.get(place), place
        await browser.post(f"{path}/person", status=409)


@pytest.mark.mended(id="attack-3")
@pytest.mark.parametrize("root", ["/api/v1", "/api/v2"])
async def test_the_api_tells_that_a_page_is_shut(store: Store, tmp_path: Path, root: str) -> None:
    pages = ReadsPages(PAGE)
    body = {"question": "when is the bonus paid?", "show_pipeline": True}
    key = {"Idempotency-Key": "once"}
    async with serving(store, settings_for(tmp_path), desk=Knows(), readable=pages) as client:
        first = await (await client.post(f"{root}/ask", json=body, headers=key)).json()
        path = f"{root}/interactions/{first['interaction_id']}?show_pipeline=true"
        assert "Canarytext" in await (await client.get(path)).text()
        pages.chunks.clear()

        told_again = await (await client.get(path)).json()
        repeated = await (await client.post(f"{root}/ask", json=body, headers=key)).json()

    for each in (told_again, repeated):
        assert "canary" not in str(each).lower()
        assert (each["answer"], each["answer_type"]) == (PAGE_CLOSED, "RAG")
        assert each["pipeline"]["route"]["question"] == "when is the bonus paid?"
    assert told_again["question"] == "when is the bonus paid?"


@pytest.mark.mended(id="attack-3")
async def test_why_in_a_chat_names_nothing_of_a_closed_page(store: Store) -> None:
    pages = ReadsPages(PAGE)
    asked = message("when is the bonus paid?", platform="slack")
    await record_answer(store, asked, await Knows().handle(Inquiry(asked, (), None), silently))  # type: ignore[arg-type]  # needs no audience
    why = Explainer(interactions=store.interactions, gate=load_gate(0.65), readable=pages)
    reader = Reader(frozenset({EVERYONE}))

    open_ = await why.explain("default", asked.interaction_id, reader, asker_id="anna")
    pages.chunks.clear()
    closed = await why.explain("default", asked.interaction_id, reader, asker_id="anna")

    assert "Canarytext" in str(open_)
    assert "canary" not in str(closed).lower()
    assert closed.left_out


@pytest.mark.parametrize("closed", [PAGE, OTHER_PAGE])
async def test_a_clarification_is_closed_with_any_page_that_it_offers(
    store: Store, closed: Chunk
) -> None:
    offered = (FOUND, FoundPassage(OTHER_PAGE.id, OTHER_PAGE.page_id, "Open title", "", {}))
    response = Clarification("Which?", tuple(map(option_label, offered)), suggestions=(CITED,))
    route = Route(Intent.DOMAIN, 1.0, "rule", "pay")
    asked = await record_answer(
        store, message("pay"), Outcome(response, Trace(route, offered, heard=()))
    )
    both = {page.id: page for page in (PAGE, OTHER_PAGE)}

    assert "Canarytitle" in str(exchange_view(asked, Visibility(both)).options)
    left = {name: page for name, page in both.items() if page != closed}
    view = exchange_view(asked, Visibility(left))
    assert (view.options, PAGE_CLOSED in view.notice) == ((), True)


async def test_an_answer_stays_its_askers_while_a_page_is_only_edited(
    store: Store, index: EmbeddedIndex
) -> None:
    await record_answer(store, message("when is the bonus paid?", message_id="m0"), told())
    edited = replace(PAGE, text="Paid in June.", section="New section")
    await index.upsert_page(Page("default", "IT", PAGE.page_id, "2", ALL), [edited], None)

    assert WORDS in (await Talk(store, ReadableInIndex(index)).history())[-1].text


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(("opened", "kept"), [("IT", True), ("FAQ", False)])
async def test_where_outsiders_read_along_earlier_turns_are_of_open_spaces(
    store: Store, opened: str, *, kept: bool
) -> None:
    shared = Registrar(Introduction(ANNA, outsiders=True))
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=introductions(store, shared, frozenset({opened})),
        readable=ReadsPages(PAGE),
    )
    before = message("when is the bonus paid?", platform="slack", channel="C1", private=False)
    await record_answer(store, before, told())

    inquiry = await admission.admit(replace(before, id="m2", text="and in June?"))

    assert isinstance(inquiry, Inquiry)
    assert any(WORDS in turn.text for turn in inquiry.history) is kept


@pytest.mark.mended(id="attack-3")
async def test_a_chosen_option_shows_no_title_of_a_closed_page_to_people(store: Store) -> None:
    asked = message(f"{TITLE}: {SECTION}")
    chosen = await record_answer(store, asked, told())
    await record_answer(store, replace(asked, id="m2", text="a human please"), handed(chosen))
    kept = await stored_interaction(store, replace(asked, id="m2").interaction_id)
    closed, open_ = Visibility(), Visibility({PAGE.id: PAGE})

    assert TITLE in str(exchange_of(chosen, open_))
    for view in (exchange_of(chosen, closed), record_view(kept, closed, earlier=[chosen])):
        assert TITLE not in str(view)
        assert closed.why_closed in str(view)


def handed(taken_up: Interaction) -> Outcome:
    """A hand-over of an earlier question."""
    route = Route(Intent.HUMAN, 1.0, "rule", "a human please", leaned_on=(taken_up.id,))
    return Outcome(Escalation("Of course.", "asked_for_human", "a human please"), Trace(route))


class Reads:
    """Reads a mistyped word as one of the page's, and answers from it."""

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        question = inquiry.message.text.replace("canrytext", "canarytext")
        trace = replace(told(question).trace, notes=(CORRECTED,))
        remarks = (READ_AS.format(question), "I did not read a.png.")
        return replace(told(), trace=trace, remarks=remarks)


async def test_a_corrected_question_has_no_word_of_a_closed_page(
    store: Store, tmp_path: Path
) -> None:
    pages = ReadsPages(PAGE)
    body = {"question": "when is canrytext paid?", "show_pipeline": True}
    async with serving(store, settings_for(tmp_path), desk=Reads(), readable=pages) as client:
        first = await (await client.post("/api/v2/ask", json=body)).json()
        path = f"/api/v2/interactions/{first['interaction_id']}?show_pipeline=true"
        open_ = await (await client.get(path)).json()
        pages.chunks.clear()
        closed = await (await client.get(path)).json()
    asked = await stored_interaction(store, first["interaction_id"])

    assert open_["pipeline"]["route"]["question"] == "when is canarytext paid?"
    assert len(open_["remarks"]) == len(asked.outcome.remarks if asked.outcome else ())
    assert closed["pipeline"]["route"]["question"] == body["question"]
    assert closed["remarks"] == ["I did not read a.png."]
    for view in (record_view(asked, Visibility()), exchange_view(asked, Visibility())):
        assert "canarytext" not in str(view)
    assert "canarytext" in str(record_view(asked, Visibility({PAGE.id: PAGE})).decision)
