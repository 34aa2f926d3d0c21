"""The web chat with real security, inbox and record; only the desk and the index are fakes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.answering.admission import with_admission_results
from bot.answering.gate import load_gate
from bot.answering.visibility import ReadablePassages
from bot.domain.formatting import option_label
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Source, Trace
from bot.domain.messages import FoundPassage, Inquiry, Intent, Stage
from bot.domain.ports import AnswersInquiries, ReportStage
from bot.domain.settings_loading import load_settings
from bot.inbox.worker import WorkLimits
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from bot.web.auth.security import mount_security
from bot.web.chat.account import AccountPage
from bot.web.chat.routes import mount_chat
from rag.types import Chunk, Principal
from tests.fakes.builders import chunk, route
from tests.fakes.chat_context import ReadsEverything
from tests.fakes.durable_inbox import inbox_over, running
from tests.fakes.personal_data import personal_data
from tests.fakes.question_files import admission_with_files

VPN = chunk("Error 809 means that UDP 500 is blocked.\n\nCall IT.", url="/pages/IT/vpn.md")
QUOTE = "Error 809 means that UDP 500 is blocked."
SOURCE = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", QUOTE, None, 0.9, "folder", "vpn.md")


def set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class VpnDesk:
    """Knows one answer; anything else is handed over."""

    asked: list[Inquiry] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=set_event)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.asked.append(inquiry)
        await report(Stage.SEARCHING)
        await self.may_answer.wait()
        return with_admission_results(inquiry, self._outcome(inquiry.message.text))

    def _outcome(self, text: str) -> Outcome:
        trace = Trace(route=route(Intent.DOMAIN, text), threshold=0.65, heard=())
        if "809" in text:
            found = f"From the wiki:\n\n> {QUOTE} [1]"
            return Outcome(Reply(found, "found", (SOURCE,), confidence=0.8), trace)
        if "laptop" in text:
            offered = ("Laptops", '"new"'), ("Repairs", "")
            meant = tuple(FoundPassage("c", "p", *names, {}) for names in offered)
            options = tuple(map(option_label, meant))
            return Outcome(Clarification("Which?", options), replace(trace, passages=meant))
        if "person" in text:
            return Outcome(Escalation("Of course.", "asked_for_human", text), trace)
        unsure = Escalation("Not sure.", "low_confidence", text, confidence=0.2)
        return Outcome(unsure, trace)


@dataclass
class OnePageIndex:
    """Has the page that VpnDesk quotes; ``further`` are the sections below the quoted one."""

    readers: frozenset[Principal] = frozenset({Principal("everyone")})
    further: Sequence[Chunk] = ()

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        return {"IT": 1}

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        there = (space, page_id) == ("IT", "vpn.md") and readers & self.readers
        return [VPN, *self.further] if there else []


@asynccontextmanager
async def chat_app(
    data_dir: Path,
    store: Store,
    pages: OnePageIndex,
    desk: AnswersInquiries,
    *,
    drain_seconds: float = 5,
    readable: ReadablePassages | None = None,
) -> AsyncIterator[web.Application]:
    """Join the chat as the server does, but with a stand-in for the desk."""
    opened = inbox_over(
        store,
        desk=desk,
        admission=admission_with_files(store),
        limits=WorkLimits(drain_seconds=drain_seconds),
    )
    app = web.Application()
    mount_security(app, load_settings(FRONTDESK_DATA_DIR=data_dir))
    mount_chat(
        app,
        inbox=opened.inbox,
        interactions=store.interactions,
        cases=store.escalations,
        watches=store.watching,
        threads=store.threads,
        gate=load_gate(0.65),
        pages=pages,
        readable=readable or ReadsEverything(),
        tenant="default",
        data_dir=data_dir,
        starters=("vpn says error 809",),
    )
    readable = readable or ReadsEverything()
    words = QuestionWords(store.escalations, store.notes, readable)
    personal = personal_data(store, data_dir, partial(opened.inbox.cancel, keep_acts=True))
    AccountPage("default", words, store.digests, personal, lambda: None).mount(app)
    async with running(opened):
        yield app


def exchange_of(bubble: str) -> str:
    """Return the id of the exchange that a fragment shows."""
    found = re.search(r'id="x-([^"]+)"', bubble)
    assert found
    return found.group(1)


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
            path,
            data=form,
            headers={"Origin": origin, "HX-Request": "true"},
            allow_redirects=False,
        )
        assert response.status == status, await response.text()
        return await response.text()

    async def conversation(self) -> str:
        found = re.search(r'hx-post="/chat/([^"/]+)"', await self.get("/"))
        assert found
        return found.group(1)

    async def ask(self, question: str) -> tuple[str, str]:
        """Ask, and poll as the page does; return the path of the exchange and the answer."""
        conversation = await self.conversation()
        bubble = await self.post(f"/chat/{conversation}", question=question)
        path = f"/chat/{conversation}/{exchange_of(bubble)}"
        while 'class="answer working"' in (answer := await self.get(path)):
            pass
        return path, answer
