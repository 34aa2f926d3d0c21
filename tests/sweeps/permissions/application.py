"""Serve the whole application over a generated company, and collect all that leaves it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr
from sqlalchemy import update

from bot.app.build import LEARNING, build
from bot.app.components import Components, open_components
from bot.app.confluence import ConfluenceDirectory, LookUpPrincipals
from bot.store.database import Store, open_store, sqlite_url
from bot.store.tables import SessionRow
from ingestion.confluence.permissions import Rules
from ingestion.confluence.person_finder import EmailFinder
from ingestion.confluence.source import ConfluenceSource
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import Folder, sync, sync_folder
from rag.index.azure.index import Opening
from rag.types import EVERYONE, Principal
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.confluence.memory_wiki import SITE, SiteWiki
from tests.fakes.http_server import LOW, Client, settings_for
from tests.fakes.model_server import KEY, OpenAIServer, answer_json, answer_part, openai_server
from tests.fakes.model_server import completion as completed
from tests.fakes.openid_provider import CLIENT_ID, FakeIssuer
from tests.fakes.rag_ports import understood
from tests.fakes.search_service.service import SearchService
from tests.fakes.webhook_receiver import WebhookReceiver
from tests.sweeps.permissions.company import FOLDER_SPACE, WIKI_SPACES, Company
from tests.sweeps.permissions.plans import Plan

ADDRESS = "http://127.0.0.1:9"
TOKEN = "operator-token-0123456789"
_WEBHOOK_SECRET = f"whsec_{'topsecret' * 4}"
_PASSAGES = re.compile(r"<<passages \d+ \w+>>\n(.*?)\n<</passages \d", re.DOTALL)
_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_WIKI = re.compile(r"^<<wiki ", re.MULTILINE)
_MOST_PARTS = 12
_SETTLED = Opening(may_be_absent=True, settled_seconds=0)
"""Answers are saved of an index that was just written; the double shows at once what is written."""
_SAVED_GIVEN = "'answer_cache': 'hit'"


async def repeat_all(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
    """Be a model that repeats whatever it was sent, and cites whatever it may."""
    messages = body["messages"]
    assert isinstance(messages, list)
    prompt = str(messages[-1]["content"])
    whole = " ".join(str(message["content"]) for message in messages)
    lines = [line for text in _PASSAGES.findall(prompt) for line in _LINE.findall(text)]
    if _WIKI.search(prompt):
        said = understood("DOMAIN", search_query=f"{prompt[-300:]}")
    elif lines:
        parts = [answer_part(text, int(number)) for number, text in lines[:_MOST_PARTS]]
        said = answer_json(*parts, missing=prompt[-300:])
    else:
        said = whole[-3000:]
    return web.json_response(completed(said))


class Logged(logging.Handler):
    """Every line of the log from info on, of both kinds of loggers."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def write(self, _: object, method: str, event: MutableMapping[str, object]) -> str:
        """Keep a line of structlog; nothing is printed."""
        if method != "debug":
            self.lines.append(str(event))
        raise structlog.DropEvent

    @contextmanager
    def listening(self) -> Iterator[Logged]:
        before = structlog.get_config()
        structlog.configure(processors=[structlog.contextvars.merge_contextvars, self.write])
        logging.getLogger().addHandler(self)
        try:
            yield self
        finally:
            logging.getLogger().removeHandler(self)
            structlog.configure(**before)


@dataclass
class Served:
    """An application over a company; of prompts and events those that were seen are counted."""

    company: Company
    client: Client
    engine: MemoryEngine
    parts: Components
    store: Store
    model: OpenAIServer
    issuer: FakeIssuer
    webhook: WebhookReceiver
    log: Logged
    wiki: SiteWiki
    data_dir: Path
    seen_prompts: int = 0
    seen_events: int = 0
    directory: ConfluenceDirectory = field(default_factory=ConfluenceDirectory)

    def new_prompts(self) -> str:
        """Return what the model was sent since this was called last."""
        sent, self.seen_prompts = self.model.seen[self.seen_prompts :], len(self.model.seen)
        return json.dumps([each.body for each in sent])

    async def index(self) -> None:
        """Bring the index up to date with the company."""
        for space in WIKI_SPACES:
            source = ConfluenceSource(self.wiki, space, Rules(), now=lambda: self.company.site.now)
            await sync(
                source,
                self.parts.index,
                self.parts.embedder,
                tenant="default",
                allow_mass_delete=True,
                progress=NoProgress(),
            )
        await sync_folder(
            Folder(self.company.folder / FOLDER_SPACE, FOLDER_SPACE, base_url=f"{SITE}/files"),
            self.parts.index,
            self.parts.embedder,
            tenant="default",
            data_dir=self.data_dir,
        )

    async def let_sessions_age(self) -> None:
        """Let the issuer be asked again about everybody with their next request."""
        then = datetime.now(UTC) - timedelta(minutes=15)
        async with self.store.transactions.writing() as connection:
            await connection.execute(update(SessionRow).values(confirmed_at=then))

    async def run_jobs(self) -> None:
        """Run all that learns from use."""
        runner = self.client.server.app[LEARNING].runner  # type: ignore[attr-defined]  # a TestServer
        for job in runner.jobs:
            while await runner.call(job):
                pass

    @property
    def saved_answers_given(self) -> int:
        """Return how many questions were answered by a saved answer."""
        return sum(_SAVED_GIVEN in line for line in self.log.lines)

    def new_events(self) -> str:
        """Return what was posted to the ticket system since this was called last."""
        sent, self.seen_events = self.webhook.bodies[self.seen_events :], len(self.webhook.bodies)
        return json.dumps(sent)


@asynccontextmanager
async def serving(
    company: Company, data_dir: Path, plan: Plan, **changes: object
) -> AsyncIterator[Served]:
    """Serve until the block ends, on the plan's index and with its settings and the ``changes``."""
    async with AsyncExitStack() as opened:
        log = opened.enter_context(Logged().listening())
        issuer = await opened.enter_async_context(FakeIssuer().serving())
        issuer.redirect_uris.add(f"{ADDRESS}/session/oidc/callback")
        server = await opened.enter_async_context(openai_server(repeat_all))
        receiver = WebhookReceiver()
        hook = await opened.enter_async_context(receiver.serving())
        given: dict[str, object] = {
            "host": "0.0.0.0",  # noqa: S104 - the case that needs signing in
            "public_url": ADDRESS,
            "admin_token": TOKEN,
            "oidc_issuer": issuer.url,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": issuer.secret,
            "oidc_admin_groups": "desk-admins",
            "oidc_expert_groups": "desk-experts",
            "case_webhook_url": hook,
            "case_webhook_secret": SecretStr(_WEBHOOK_SECRET),
            "confidence_threshold": LOW,
            "rate_per_user_per_minute": 0,
            "rate_per_channel_per_minute": 0,
        }
        if plan.index == "azure":
            service = await opened.enter_async_context(SearchService().serving())
            given |= {"azure_search_endpoint": service.url}
            given |= {"azure_search_key": SecretStr(service.access.admin_key)}
        if plan.model:
            given |= {"openai_base_url": server.url, "openai_api_key": KEY, "openai_model": "echo"}
        settings = settings_for(data_dir, **{**given, **changes, **plan.settings})
        store = await open_store(sqlite_url(data_dir))
        opened.push_async_callback(store.close)
        parts = await opened.enter_async_context(
            open_components(settings, fills=True, saved=store.saved_answers, azure=_SETTLED)
        )
        wiki = SiteWiki(company.site)
        directory = ConfluenceDirectory(_look_up(wiki))
        engine = MemoryEngine()
        app = build(settings, parts, store, engine, directory=directory)
        served = Served(
            company,
            TestClient(TestServer(app, host="127.0.0.1")),
            engine,
            parts,
            store,
            server,
            issuer,
            receiver,
            log,
            wiki,
            data_dir,
            directory=directory,
        )
        await served.index()
        await opened.enter_async_context(served.client)
        # What is done in the background is done when the test says so: then it is known for whom.
        await app[LEARNING].runner.stop()
        yield served


def _look_up(wiki: SiteWiki) -> LookUpPrincipals:
    finder = EmailFinder(wiki)

    async def principals(email: str) -> frozenset[Principal]:
        """Find an account as the product does, without keeping it for some minutes."""
        return (await finder.find(email) or frozenset()) | {EVERYONE}

    return principals
