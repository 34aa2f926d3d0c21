"""The web chat over real HTTP; doors, inbox and record are real, the desk is a stand-in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.adapters.web.pages import WebChat
from bot.admission import Admission, VouchedDirectory
from bot.config import load_settings
from bot.delivery import Deliverer
from bot.doors import mount_doors
from bot.identity import person_of
from bot.inbox import InProcessInbox, Limits
from bot.ports import ReportStage
from bot.store import Store, open_store, sqlite_url
from bot.types import Escalation, Inquiry, Intent, Outcome, Policy, Reply, Source, Stage, Trace
from rag.types import Chunk, Principal
from tests.builders import chunk, route

VPN = chunk("Error 809 means that UDP 500 is blocked.\n\nCall IT.", url="/pages/IT/vpn.md")
QUOTE = "Error 809 means that UDP 500 is blocked."
SOURCE = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", QUOTE, None, 0.9, "folder", "vpn.md")


@dataclass
class KnowsVpn:
    """Knows one answer; anything else is handed over."""

    asked: list[Inquiry] = field(default_factory=list)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.asked.append(inquiry)
        await report(Stage.SEARCHING)
        text = inquiry.message.text
        trace = Trace(route=route(Intent.DOMAIN, text), threshold=0.65)
        if "809" in text:
            found = f"From the wiki:\n\n> {QUOTE} [1]"
            return Outcome(Reply(found, "found", (SOURCE,), confidence=0.8), trace)
        if "person" in text:
            return Outcome(Escalation("Of course.", "asked_for_human", text), trace)
        unsure = Escalation("Not sure.", "low_confidence", text, confidence=0.2)
        return Outcome(unsure, trace)


@dataclass
class OnePage:
    readers: frozenset[Principal] = frozenset({Principal("everyone")})

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        return [VPN] if (space, page_id) == ("IT", "vpn.md") and readers & self.readers else []


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url(tmp_path))
    yield opened
    await opened.close()


@pytest.fixture
def pages() -> OnePage:
    return OnePage()


@pytest.fixture
async def client(tmp_path: Path, store: Store, pages: OnePage) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]  # generic only in stubs
    inbox = InProcessInbox(
        interactions=store.interactions,
        admission=Admission(store.interactions, VouchedDirectory(), Policy()),
        desk=KnowsVpn(),
        deliver=Deliverer({}, store.interactions),
        limits=Limits(),
    )
    app = web.Application()
    mount_doors(app, load_settings(FRONTDESK_DATA_DIR=tmp_path))
    WebChat(
        inbox=inbox,
        interactions=store.interactions,
        conversations=store.interactions,
        pages=pages,
        identify=person_of,
        tenant="default",
        starters=("vpn says error 809",),
    ).mount(app)
    async with TestClient(TestServer(app)) as opened:
        opened.session.headers["Accept"] = "text/html"
        yield opened
    await inbox.close()


@dataclass
class Browser:
    """One visitor: keeps cookies, sends the Origin a browser sends."""

    client: TestClient  # type: ignore[type-arg]  # generic only in stubs

    async def get(self, path: str, status: int = 200) -> str:
        response = await self.client.get(path)
        assert response.status == status, await response.text()
        return await response.text()

    async def post(self, path: str, status: int = 200, **form: str) -> str:
        origin = str(self.client.make_url("/")).rstrip("/")
        response = await self.client.post(
            path, data=form, headers={"Origin": origin}, allow_redirects=False
        )
        assert response.status == status, await response.text()
        return await response.text()

    async def conversation(self) -> str:
        found = re.search(r'hx-post="/chat/([^"]+)"', await self.get("/"))
        assert found
        return found.group(1)

    async def ask(self, question: str) -> tuple[str, str]:
        """Ask, and poll as the page does; return the path of the exchange and the answer."""
        conversation = await self.conversation()
        bubble = await self.post(f"/chat/{conversation}", question=question)
        found = re.search(r'id="x-([^"]+)"', bubble)
        assert found
        path = f"/chat/{conversation}/{found.group(1)}"
        while 'class="answer working"' in (answer := await self.get(path)):
            pass
        return path, answer


@pytest.fixture
def browser(client: TestClient) -> Browser:  # type: ignore[type-arg]  # generic only in stubs
    return Browser(client)


async def test_an_answer_shows_its_quote_and_a_link_that_highlights_it(browser: Browser) -> None:
    _, answer = await browser.ask("vpn says error 809")

    assert f"<blockquote>{QUOTE}</blockquote>" in answer
    link = re.search(r'href="(/pages/[^"]+)"', answer)
    assert link
    page = await browser.get(link.group(1).replace("&amp;", "&"))
    assert f"<mark>{QUOTE}</mark>" in page


async def test_what_is_not_known_says_so_and_offers_a_person(browser: Browser) -> None:
    path, answer = await browser.ask("pet insurance?")

    assert "No confirmed answer" in answer
    assert "Why no answer" in answer
    assert "Did this help?" not in answer
    handed = await browser.post(f"{path}/person")
    assert "ask a person" in handed


async def test_a_page_that_may_not_be_read_looks_like_one_that_is_not_there(
    browser: Browser, pages: OnePage
) -> None:
    pages.readers = frozenset({Principal("group:hr")})

    hidden = await browser.get("/pages/IT/vpn.md", status=404)
    absent = await browser.get("/pages/IT/none.md", status=404)

    assert hidden == absent
    assert "809" not in hidden


async def test_a_thumb_is_kept_replaced_and_taken_back(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    interaction = path.rpartition("/")[2]

    async def votes() -> list[str]:
        kept = await store.interactions.feedback(interaction)  # type: ignore[arg-type]  # from a page
        return [feedback.vote for feedback in kept]

    assert 'aria-pressed="true"' in await browser.post(f"{path}/vote", vote="up")
    assert await votes() == ["up"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == ["down"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == []


async def test_a_vote_that_is_none_is_refused(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/vote", status=422, vote="sideways")


async def test_why_is_told_in_words(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    why = await browser.get(f"{path}/why")

    assert "80% sure, and 65% is needed" in why


async def test_the_conversation_is_there_after_a_reload(browser: Browser) -> None:
    await browser.ask("error 809")

    page = await browser.get("/")

    assert "error 809" in page
    assert QUOTE in page


async def test_a_new_conversation_starts_empty(browser: Browser) -> None:
    await browser.ask("error 809")

    await browser.post("/conversations", status=303)

    assert "What can I look up for you?" in await browser.get("/")


async def test_another_visitor_sees_nothing_of_it(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.get(f"{path}/why")

    browser.client.session.cookie_jar.clear()

    await browser.get(path, status=404)
    await browser.get(f"{path}/why", status=404)
    await browser.post(f"{path}/vote", status=404, vote="up")


@pytest.mark.parametrize("question", ["", "   ", "\n"])
async def test_an_empty_question_is_refused_with_a_hint(browser: Browser, question: str) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question=question)

    assert "Type a question first" in refused


async def test_a_question_over_the_limit_is_refused_with_the_limit(browser: Browser) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question="x" * 4001)

    assert "4,000" in refused


async def test_a_question_is_shown_as_text(browser: Browser) -> None:
    _, answer = await browser.ask("<script>alert(1)</script> error 809")

    assert "<script>alert" not in answer + await browser.get("/")


@pytest.mark.parametrize("path", ["/chat/x/y", "/chat/x/y/why", "/chat/x/00000000"])
async def test_made_up_ids_are_not_found(browser: Browser, path: str) -> None:
    await browser.get(path, status=404)


async def test_a_page_of_ours_loads_nothing_from_elsewhere(browser: Browser) -> None:
    page = await browser.get("/")

    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "<style" not in page
    assert not re.search(r"\son\w+=", page)


async def test_styles_and_scripts_are_served(browser: Browser) -> None:
    for path in ("/static/style.css", "/static/chat.js", "/static/htmx-2.0.11.min.js"):
        assert await browser.get(path)


async def test_a_form_from_elsewhere_is_refused(browser: Browser) -> None:
    conversation = await browser.conversation()

    response = await browser.client.post(
        f"/chat/{conversation}",
        data={"question": "hi"},
        headers={"Origin": "https://evil.example"},
    )

    assert response.status == 403
