"""What Confluence says of people and pages decides what the application answers from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.app.build import build
from bot.app.components import Components
from bot.app.confluence import ConfluenceAccess, ConfluenceDirectory, open_confluence
from bot.domain.errors import SettingInvalid
from bot.domain.handoff import HandoffWording
from bot.domain.messages import Person
from bot.store.database import open_store, sqlite_url
from ingestion.config import Settings
from ingestion.confluence.assembly import confluence_site
from ingestion.confluence.permissions import rules_of
from ingestion.confluence.source import ConfluenceSource
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import fingerprint_of, open_index
from rag.pipeline import Pipeline
from rag.types import EVERYONE, Principal
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.confluence.memory_wiki import wiki_settings
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.http_server import Client, settings_for
from tests.fakes.rag_ports import WordEmbedder

ANN = "ann@acme.example"
SECRET = "zebra471"


class Accounts:
    """Looks accounts up; remembers who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def principals(self, email: str) -> frozenset[Principal]:
        self.asked.append(email)
        return frozenset({EVERYONE, Principal("user:confluence:1")})


async def test_what_a_platform_vouches_for_and_what_confluence_says_are_joined() -> None:
    person = Person("U1", "Ann", ANN, frozenset({EVERYONE, Principal(f"user:{ANN}")}))

    found = await ConfluenceDirectory(Accounts().principals).principals("acme", person)

    assert found == {EVERYONE, f"user:{ANN}", "user:confluence:1"}


async def test_nobody_without_a_verified_address_is_looked_up() -> None:
    accounts = Accounts()
    assert await ConfluenceDirectory(accounts.principals).principals(
        "acme", Person("U1", "Ann")
    ) == {EVERYONE}
    assert accounts.asked == []


@pytest.mark.parametrize("accounts", [None, Accounts()], ids=["without", "with"])
async def test_nobody_else_says_who_is_in_a_group_of_confluence(accounts: Accounts | None) -> None:
    forged = frozenset(map(Principal, ("group:confluence:board", "user:confluence:ceo", EVERYONE)))

    directory = ConfluenceDirectory(None if accounts is None else accounts.principals)
    found = await directory.principals("acme", Person("U1", principals=forged))

    assert found == {EVERYONE}


async def test_a_last_check_without_confluence_is_refused_with_the_cure() -> None:
    settings = Settings(_env_file=None, confluence_last_check=True)
    with pytest.raises(SettingInvalid, match="Set CONFLUENCE_URL"):
        async with open_confluence(settings):
            pass


async def test_without_confluence_people_are_who_their_platform_says() -> None:
    for settings in (None, Settings(_env_file=None)):
        async with open_confluence(settings) as known:
            assert known.recheck is None
            assert await known.directory.principals("t", Person("U1", email=ANN)) == {EVERYONE}


@dataclass
class Served:
    """A bot that follows a site; ``secret`` is a page for the group staff, Ann's."""

    site: Site
    server: LocalConfluence
    client: Client
    known: ConfluenceAccess
    secret: str

    async def ask(self, email: str | None) -> str:
        """Ask about the secret page, and return all that is told."""
        asked = {
            "question": f"Who feeds the {SECRET}?",
            "user": {"id": email or "nobody", "email": email},
            "show_pipeline": True,
        }
        response = await self.client.post("/api/v1/ask", json=asked)
        text = await response.text()
        assert response.status == 200, text
        return text.replace(f"Who feeds the {SECRET}?", "")


@asynccontextmanager
async def served(data_dir: Path, *, last_check: bool) -> AsyncIterator[Served]:
    site = Site()
    site.add_person("ann", email=ANN, email_shown=True)
    site.add_group("staff", ["ann", ADMIN])
    site.add_space("IT", anonymous=True)
    secret = site.create("IT", f"Care of {SECRET}", f"<p>The {SECRET} is fed by Zoe.</p>")
    site.restrict(secret.id, groups=["staff"])
    embedder, bot = WordEmbedder(), settings_for(data_dir, dev_identities=True)
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(LocalConfluence(site).serving())
        settings = wiki_settings(server, last_check=last_check)
        known = await opened.enter_async_context(open_confluence(settings))
        index = await open_index(data_dir / "index.sqlite", fingerprint_of(embedder))
        opened.push_async_callback(index.close)
        wiki = confluence_site(settings)
        assert wiki is not None
        opened.push_async_callback(wiki.close)
        source = ConfluenceSource(wiki, "IT", rules_of(settings), now=lambda: site.now)
        await sync(source, index, embedder, tenant=bot.tenant, progress=NoProgress())
        pipeline = Pipeline(index, embedder, ExtractiveComposer(embedder))
        desk = Desk(
            ModelProfile(
                route=Router(embedder, None, None).route,
                reply_generically=GenericAnswers(None).reply,
                pipeline=pipeline,
            ),
            gate=load_gate(0.0).judge,
            wording=HandoffWording(not_found="Not found.", uncertain="Not sure."),
            recheck=known.recheck,
        )
        parts = Components(index, None, "", {}, pipeline, desk, load_gate(), known.recheck)
        store = await open_store(sqlite_url(data_dir))
        opened.push_async_callback(store.close)
        app = build(bot, parts, store, MemoryEngine(), directory=known.directory)
        client = await opened.enter_async_context(TestClient(TestServer(app, host="127.0.0.1")))
        yield Served(site, server, client, known, secret.id)


@pytest.mark.parametrize("last_check", [False, True], ids=["index alone", "last check"])
async def test_only_its_readers_are_answered_from_it(tmp_path: Path, *, last_check: bool) -> None:
    async with served(tmp_path, last_check=last_check) as bot:
        assert "fed by Zoe" in await bot.ask(ANN)
        assert "fed by Zoe" in await bot.ask(ANN.upper())
        for other in ("bob@acme.example", None):
            told = await bot.ask(other)
            assert SECRET not in told
            assert "Zoe" not in told


@pytest.mark.parametrize("how", ["restricted", "deleted", "closed", "down"])
async def test_what_was_closed_is_at_once_in_no_reply_or_offer(tmp_path: Path, how: str) -> None:
    async with served(tmp_path, last_check=True) as bot:
        assert "fed by Zoe" in await bot.ask(ANN)
        match how:
            case "restricted":
                bot.site.restrict(bot.secret, users=[ADMIN])
            case "deleted":
                bot.site.trash(bot.secret)
            case "closed":
                bot.site.revoke_space("IT", anonymous=True)
            case _:
                bot.server.faults.go_blind("IT")

        told = await bot.ask(ANN)

        assert SECRET not in told
        assert "Zoe" not in told
        assert "failed the last check" in told


async def test_without_last_checks_confluence_is_asked_about_people_alone(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, last_check=False) as bot:
        bot.server.requests.clear()
        await bot.ask(ANN)
        await bot.ask(ANN)
        assert {one.kind for one in bot.server.requests} <= {"search-user", "memberof"}
        assert len(bot.server.requests) <= 3
