"""The whole application with a fast embedder, over an index of the marked pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp.test_utils import TestClient, TestServer

from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.app.build import build
from bot.app.components import Components
from bot.domain.handoff import HandoffWording
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.sync.sync import Folder, sync_folder
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import fingerprint_of, open_index
from rag.pipeline import Pipeline
from tests.bot.fakes import MemoryEngine
from tests.bot.house import Client
from tests.fakes import WordEmbedder
from tests.whole.pages import SPACES, write


@asynccontextmanager
async def over_marked_pages(settings: Settings) -> AsyncIterator[Client]:
    """Serve until the block ends; every question that finds something is answered."""
    embedder, folder = WordEmbedder(), settings.data_dir
    write(folder / "pages")
    index = await open_index(folder / "index.sqlite", fingerprint_of(embedder))
    for space in SPACES:
        url = f"https://wiki.example.com/{space}/"
        wiki = Folder(folder / "pages" / space, space, base_url=url)
        await sync_folder(wiki, index, embedder, tenant="default", data_dir=folder)
    pipeline = Pipeline(index, embedder, ExtractiveComposer(embedder))
    desk = Desk(
        router=Router(embedder, None, None),
        generic=GenericAnswers(None),
        pipeline=pipeline,
        gate=load_gate(0.0),
        wording=HandoffWording(not_found="Not found.", uncertain="Not sure."),
    )
    store = await open_store(sqlite_url(folder))
    parts = Components(index, None, "", None, pipeline, desk)
    app = build(settings, parts, store, MemoryEngine())
    async with TestClient(TestServer(app, host="127.0.0.1")) as served:
        yield served
    await store.close()
    await index.close()
