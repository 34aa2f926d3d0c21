"""The board over a real record and real security; sign-in, index and component states are fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from pathlib import Path
from typing import cast

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.typedefs import Handler

from bot.answering.visibility import ReadableInIndex
from bot.domain.health import ComponentStatus
from bot.domain.interactions import Escalation, Interaction, Outcome, Reply, Response, Source, Trace
from bot.domain.messages import FoundPassage, Intent, Message, Person
from bot.domain.settings import Settings
from bot.domain.settings_loading import SettingOrigin, load_settings
from bot.domain.users import SignedIn
from bot.escalations.casework import Casework, QuestionLinks
from bot.learning.gap_views import GapViews
from bot.learning.insights import InsightViews
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from bot.store.search import StoredSearches
from bot.web.api.gaps import GapsApi
from bot.web.api.insights import InsightsApi
from bot.web.auth.identity import SIGNED_IN
from bot.web.auth.security import mount_security
from bot.web.board import mount_state_pages, mount_work_pages
from bot.web.board.channels import ChannelPage
from bot.web.board.digests import DigestsPage
from bot.web.board.gaps import GapPages
from bot.web.board.insights import InsightsPage
from bot.web.board.layout import mount_layout
from bot.web.languages import UI_LANGUAGE
from rag.errors import IndexUnavailable
from rag.ports import SearchIndex
from rag.types import EVERYONE, Chunk, ModelCall, PageSummary, Principal
from tests.fakes.builders import chunk, message, route
from tests.fakes.chat_context import MemoryDocuments, draft_review
from tests.fakes.digests import MONDAY_MORNING

Client = TestClient[web.Request, web.Application]
WHO: web.AppKey[str] = web.AppKey("who", str)

HR = frozenset({Principal("group:hr")})
SECRET = "Redundancy plan"
OPEN = chunk("Error 809: UDP 500 is blocked.", chunk_id="o-0", page_id="vpn.md", title="VPN guide")
CLOSED = chunk(
    "Twelve people leave in May.",
    chunk_id="c-0",
    page_id="plan.md",
    title=SECRET,
    section="Dates of it",
    readers=(HR,),
    space="HR",
)
PEOPLE: Mapping[str, SignedIn] = {
    "mika": SignedIn("oidc", "asker", Person("mika", "Mika Salo")),
    "anna": SignedIn("oidc", "expert", Person("anna", "Anna Lopez")),
    "ben": SignedIn("oidc", "expert", Person("ben", "Ben Okafor")),
    "nameless": SignedIn("oidc", "expert", Person("nameless")),
    "ines": SignedIn("oidc", "expert", Person("ines", "Ines Moreau", principals=HR | {EVERYONE})),
    "admin": SignedIn("oidc", "admin", Person("root", "Ada Root")),
}


def source(of: Chunk) -> Source:
    return Source(
        chunk_id=of.id,
        page_id=of.page_id,
        title=of.title,
        url=f"/pages/{of.space}/{of.page_id}",
        section=of.section,
        quote=of.text,
        document_page=None,
        relevance=0.9,
        source_type="folder",
        source_id=of.page_id,
    )


def passage(of: Chunk) -> FoundPassage:
    return FoundPassage(of.id, of.page_id, of.title, of.section, {"keyword": 5.0, "fused": 0.5})


CALL = ModelCall("answer", "large", "answer@3", 900, 80, 700.0, cost_micro_usd=1_500)
TRACE = Trace(
    route=route(Intent.DOMAIN, "vpn 809"),
    passages=(passage(OPEN), passage(CLOSED)),
    features={"score_best": 0.9},
    threshold=0.65,
    gate="stopped",
    calls=(CALL,),
    timings_ms={"search": 12.5},
    notes=("limit:none",),
    heard=(),
)
UNSURE = Escalation(
    "I'll ask.", "low_confidence", "vpn 809?", (source(OPEN), source(CLOSED)), confidence=0.2
)
SURE = Reply("It is blocked [1].", "answer", (source(OPEN),), confidence=0.9)
TOLD_ALL = Reply(f"It is so [1], see {SECRET} [2].", "answer", (source(OPEN), source(CLOSED)), 0.9)


@dataclass
class TwoPageIndex:
    """The part of an index that is read, over two pages; may be away."""

    held: Sequence[Chunk] = (OPEN, CLOSED)
    away: bool = field(default=False)

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        if self.away:
            raise IndexUnavailable("The index is away.")
        return {each.space: 1 for each in self.held}

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        return [
            each
            for each in self.held
            if (each.tenant, each.space, each.page_id) == (tenant, space, page_id)
            and all(readers & needed for needed in each.readers)
        ]

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        for each in self.held:
            if (each.tenant, each.space, each.page_id) == (tenant, space, page_id):
                return PageSummary(space, page_id, each.title, each.url, each.readers, 1, "folder")
        return None


class SlackLinks:
    """Implements bot.escalations.ports.LinksBack."""

    async def link(self, message: Message) -> str | None:
        return f"https://slack.example/{message.thread.channel}/{message.id}"


@dataclass
class BoardBrowser:
    """The board as one person's browser uses it; ``who`` is that one."""

    client: Client
    store: Store
    who: str = "anna"

    async def get(self, path: str, status: int = 200) -> str:
        headers = {"Accept": "text/html", "X-Who": self.who}
        response = await self.client.get(path, headers=headers, allow_redirects=False)
        text = await response.text()
        assert response.status == status, text
        return text

    async def post(self, path: str, status: int = 200, *, htmx: bool = True, **form: str) -> str:
        headers = {
            "Accept": "text/html",
            "X-Who": self.who,
            "Origin": str(self.client.make_url("/")).rstrip("/"),
        }
        if htmx:
            headers["HX-Request"] = "true"
        response = await self.client.post(path, data=form, headers=headers, allow_redirects=False)
        text = await response.text()
        assert response.status == status, text
        return text

    def of(self, who: str) -> BoardBrowser:
        """Return the same board as another one uses it."""
        return replace(self, who=who)


@asynccontextmanager
async def board(
    data_dir: Path,
    store: Store,
    shelf: TwoPageIndex | None = None,
    *,
    tenant: str = "default",
    searches: StoredSearches | None = None,
) -> AsyncIterator[BoardBrowser]:
    """Serve the working pages until the block ends."""
    app = board_app(data_dir, store, shelf, tenant=tenant, searches=searches)
    async with TestClient(TestServer(app)) as client:
        yield BoardBrowser(client, store)


def board_app(
    data_dir: Path,
    store: Store,
    shelf: TwoPageIndex | None = None,
    *,
    tenant: str = "default",
    who: str = "",
    searches: StoredSearches | None = None,
) -> web.Application:
    """Join the working pages; ``who`` looks where a request does not say."""
    app = web.Application()
    settings = load_settings(_env_file=None, data_dir=data_dir, admin_token="x" * 20)
    mount_security(app, settings)
    app[WHO] = who
    app.middlewares.append(_signed_in)
    mount_layout(app)
    shelf = shelf or TwoPageIndex()
    readable = ReadableInIndex(shelf)  # type: ignore[arg-type]  # only what it reads
    mount_work_pages(
        app,
        tenant=tenant,
        works=Casework(cases=store.escalations, interactions=store.interactions, readable=readable),
        cases=store.escalations,
        searches=searches or store.searches,
        record=store.interactions,
        readable=readable,
        index=cast("SearchIndex", shelf),
        origins=QuestionLinks(store.interactions, {"slack": SlackLinks()}),
        patience=timedelta(minutes=30),
        joins_within=timedelta(days=7),
    )
    words = QuestionWords(store.escalations, store.notes, readable)
    views = GapViews(tenant, store.gap_reports, words, readable)
    GapPages(tenant=tenant, views=views, states=store.gaps).mount(app)
    insights = InsightViews(tenant, store.statistics, store.insights, shelf, UTC)
    InsightsPage(tenant=tenant, views=insights).mount(app)
    DigestsPage(
        tenant=tenant, record=store.digests, pages=insights, schedule=MONDAY_MORNING, mail=True
    ).mount(app)
    app.router.add_get("/api/v2/insights", InsightsApi(tenant=tenant, views=insights).show)
    gaps = GapsApi(tenant=tenant, views=views, states=store.gaps)
    app.router.add_get("/api/v2/gaps", gaps.list)
    app.router.add_get("/api/v2/gaps/{id}", gaps.one)
    app.router.add_put("/api/v2/gaps/{id}/state", gaps.set_state)
    return app


@web.middleware
async def _signed_in(request: web.Request, handler: Handler) -> web.StreamResponse:
    who = PEOPLE.get(request.headers.get("X-Who", request.app[WHO]))
    if who is not None:
        request[SIGNED_IN] = who
    return await handler(request)


async def ask(
    store: Store,
    name: str = "m1",
    text: str = "vpn says error 809",
    *,
    response: Response = UNSURE,
    trace: Trace = TRACE,
    private: Reply | None = None,
    asked: Message | None = None,
) -> Interaction:
    """Record a question of Mika's with its outcome."""
    question = asked or replace(
        message(text, message_id=name, platform="slack", channel="C1", private=False),
        author=Person("mika", "Mika Salo"),
    )
    opened = await store.work.open(question, "me")
    await store.work.close(opened, Outcome(response, trace, private=private), last=True)
    recorded = await store.interactions.get(opened.id)
    assert recorded is not None
    return recorded


COMPONENTS = (
    ComponentStatus("knowledge", "ready", "120 chunks (HR 40, IT 80)"),
    ComponentStatus("model", "absent", "answers are verbatim quotes.", "Add OPENAI_MODEL to .env"),
    ComponentStatus("limits", "absent", "nothing is limited.", "Set a rate: docs/limits.md"),
)


@dataclass
class BoardState:
    """What the parts and platforms say, where settings come from, and what is indexed."""

    parts: Sequence[ComponentStatus] = COMPONENTS
    platforms: Sequence[object] = ()
    sources: dict[str, SettingOrigin] = field(default_factory=dict)
    documents: MemoryDocuments = field(default_factory=MemoryDocuments)
    pages: Sequence[Chunk] = ()


@asynccontextmanager
async def state_pages(store: Store, settings: Settings, told: BoardState) -> AsyncIterator[Client]:
    """Serve the pages until the block ends."""
    app = web.Application()
    app[UI_LANGUAGE] = settings.ui_language
    mount_security(app, settings, sessions=store.sessions, audits=store.audits)
    mount_layout(app)

    async def check_parts() -> Sequence[ComponentStatus]:
        return told.parts

    mount_state_pages(
        app,
        record=store,
        settings=settings,
        sources=told.sources,
        check_parts=check_parts,
        platforms=told.platforms,
    )
    ChannelPage(
        settings=settings,
        policies=store.policies,
        documents=told.documents,
        drafts=draft_review(store, settings.tenant),
    ).mount(app)
    views = InsightViews(
        settings.tenant, store.statistics, store.insights, TwoPageIndex(told.pages), settings.zone
    )
    InsightsPage(tenant=settings.tenant, views=views).mount(app)
    DigestsPage(
        tenant=settings.tenant,
        record=store.digests,
        pages=views,
        schedule=MONDAY_MORNING,
        mail=True,
    ).mount(app)
    async with TestClient(TestServer(app)) as client:
        client.session.headers["Accept"] = "text/html"
        yield client
