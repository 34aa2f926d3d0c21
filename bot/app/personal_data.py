"""Build what exports and forgets persons, for the server and for the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol, runtime_checkable

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.app.documents import DocumentServices
from bot.app.learning import LearningServices
from bot.domain.ports import Inbox
from bot.domain.settings import Settings
from bot.inbox.ports import DurableEngine
from bot.store.database import Store, database_url, open_store, reminders_of
from bot.store.personal_data import JOB, ForgetWork, PersonalData
from bot.web.board.personal_data import PersonalDataPage
from bot.web.chat.account import AccountPage
from ingestion.config import Settings as IngestionSettings
from ingestion.records.ledger import records_of
from ingestion.uploads import Uploads
from rag.types import ANSWERS_SPACE


def build_personal_data(
    settings: Settings,
    store: Store,
    inbox: Inbox,
    engine: DurableEngine,
    documents: DocumentServices,
) -> PersonalData:
    """Return what a running server has of persons; questions under way are stopped in it."""
    return PersonalData(
        settings.tenant,
        settings.data_dir,
        store,
        documents.library.uploads,
        documents.records.ledger,
        partial(inbox.cancel, keep_acts=True),
        engine.forget_work,
        partial(_erase_pages, documents),
    )


@runtime_checkable
class ErasesRemovals(Protocol):
    """An index in a file of our own, in which removed pages leave traces."""

    async def erase_removals(self) -> None:
        """Leave no word of a removed page in the file. Raises IndexUnavailable."""
        ...


async def _erase_pages(documents: DocumentServices) -> bool:
    """Erase replaced pages of answers, unless they are still to be indexed."""
    library = documents.library
    active = await documents.records.ledger.active()
    if active or ANSWERS_SPACE in await library.to_mend():
        return False
    if isinstance(library.index, ErasesRemovals):
        await library.index.erase_removals()
    return True


@asynccontextmanager
async def open_personal_data(
    settings: Settings, forget_work: ForgetWork
) -> AsyncIterator[PersonalData]:
    """Open the same beside a server that may be running."""
    records = records_of(settings, settings.database_url)
    async with await open_store(database_url(settings), reminders_of(settings)) as store:
        try:
            yield PersonalData(
                settings.tenant,
                settings.data_dir,
                store,
                Uploads(settings.data_dir, settings.tenant),
                records.ledger,
                partial(store.work.cancel, keep_acts=True),
                forget_work,
            )
        finally:
            records.close()


def mount_personal_data(
    app: web.Application,
    settings: Settings,
    personal: PersonalData,
    learning: LearningServices,
    further: Sequence[BaseSettings],
) -> None:
    """Add one's own page, and the admins' page of personal data."""
    hurry = partial(learning.runner.hurry, JOB)
    AccountPage(settings.tenant, learning.words, personal.store.digests, personal, hurry).mount(app)
    PersonalDataPage(
        personal=personal,
        hurry=hurry,
        settings=settings,
        ingestion=next((each for each in further if isinstance(each, IngestionSettings)), None),
    ).mount(app)
