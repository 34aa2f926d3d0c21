"""Open the database: lock the data directory, migrate the schema, create the stores."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError

from bot.domain.errors import DataDirInUse, StoreUnavailable
from bot.domain.settings import Settings
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.connections import (
    DAMAGE_CURE,
    Transactions,
    begin_immediate,
    is_damaged,
    set_up_sqlite,
)
from bot.store.corrections import StoredCorrections
from bot.store.digests import StoredDigests
from bot.store.escalations import StoredEscalations
from bot.store.forgetting import StoredForgetting
from bot.store.gap_reports import StoredGapReports
from bot.store.gaps import StoredGaps
from bot.store.insights import StoredInsights
from bot.store.interactions import StoredAskers, StoredGlances, StoredInteractions, StoredThreads
from bot.store.jobs import StoredJobs
from bot.store.key_values import (
    StoredAudits,
    StoredNotes,
    StoredPauses,
    StoredPolicies,
)
from bot.store.labels import StoredLabels, StoredSuspensions
from bot.store.leases import StoredReplicas
from bot.store.limits import StoredCounting, StoredUsage
from bot.store.migrations import HEAD
from bot.store.notices import StoredNotices
from bot.store.people import StoredPeople
from bot.store.postgres_driver import connect_arguments
from bot.store.question_files import StoredFiles
from bot.store.retention import StoredRetention
from bot.store.reviewed_answers import StoredAnswers
from bot.store.saved_answers import StoredSavedAnswers
from bot.store.search import StoredSearches
from bot.store.sessions import StoredSessions
from bot.store.shadow_drafts import StoredShadowDrafts
from bot.store.statistics import StoredStatistics
from bot.store.webhook_events import StoredWebhookEvents
from bot.store.work import StoredWork


@contextmanager
def lock_data_dir(data_dir: Path) -> Iterator[None]:
    """Lock a data directory for one server while the block runs.

    The lock is a transaction on a SQLite file: it works alike on every system, and is released
    when the process is killed.

    Raises:
        DataDirInUse: another server has the lock, or the directory is not writable.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataDirInUse(_unwritable_data_dir(data_dir, error.strerror)) from error
    with ExitStack() as closing_later:
        try:
            connection = sqlite3.connect(data_dir / "server.lock", timeout=0, isolation_level=None)
            closing_later.enter_context(closing(connection))
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise DataDirInUse(_lock_failure(data_dir, error)) from error
        yield


def _lock_failure(data_dir: Path, error: sqlite3.OperationalError) -> str:
    if "locked" in str(error):
        return (
            f"Another server runs on FRONTDESK_DATA_DIR={str(data_dir)!r}. Stop it, or name "
            "another folder; several servers share a PostgreSQL database (DATABASE_URL) instead."
        )
    return _unwritable_data_dir(data_dir, str(error))


def _unwritable_data_dir(data_dir: Path, why: str | None) -> str:
    return (
        f"FRONTDESK_DATA_DIR={str(data_dir)!r} can't be used: {why}. Name a folder that this user "
        "may write to, on a disk with free space."
    )


MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x66646B
"""PostgreSQL advisory lock that serializes migrations of processes starting together.

On SQLite the write lock does so. The number is arbitrary.
"""


class Store:
    """The stores of one database.

    ``leases`` are separate connections for leases, because a burst of questions may take all the
    others; None to share them.
    """

    def __init__(
        self,
        transactions: Transactions,
        leases: Transactions | None = None,
        reminders: ReminderSchedule | None = None,
    ) -> None:
        self.transactions = transactions
        self._leases = leases
        self.interactions = StoredInteractions(transactions)
        self.work = StoredWork(transactions, reminders)
        self.replicas = StoredReplicas(leases or transactions)
        self.usage = StoredUsage(transactions)
        self.statistics = StoredStatistics(transactions)
        self.escalations = StoredEscalations(transactions, reminders)
        self.notices = StoredNotices(transactions, reminders)
        self.threads = StoredThreads(transactions)
        self.policies = StoredPolicies(transactions)
        self.audits = StoredAudits(transactions)
        self.retention = StoredRetention(transactions)
        self.counting = StoredCounting(transactions)
        self.pauses = StoredPauses(transactions)
        self.sessions = StoredSessions(transactions)
        self.searches = StoredSearches(transactions)
        self.watching = StoredGlances(transactions)
        self.notes = StoredNotes(transactions)
        self.askers = StoredAskers(transactions)
        self.jobs = StoredJobs(transactions)
        self.labels = StoredLabels(transactions)
        self.suspensions = StoredSuspensions(transactions)
        self.answers = StoredAnswers(transactions)
        self.corrections = StoredCorrections(transactions)
        self.gaps = StoredGaps(transactions)
        self.gap_reports = StoredGapReports(transactions, self.gaps)
        self.insights = StoredInsights(transactions)
        self.digests = StoredDigests(transactions)
        self.shadow_drafts = StoredShadowDrafts(transactions)
        self.webhook_events = StoredWebhookEvents(transactions)
        self.people = StoredPeople(transactions)
        self.forgetting = StoredForgetting(transactions, self.people, self.escalations)
        self.saved_answers = StoredSavedAnswers(transactions)
        self.files = StoredFiles(transactions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.transactions.close()
        if self._leases is not None:
            await self._leases.close()


def sqlite_url(data_dir: Path) -> str:
    """Return the URL of the SQLite file in a data directory."""
    return f"sqlite+aiosqlite:///{(data_dir / 'frontdesk.sqlite').absolute()}"


def database_url(settings: Settings) -> str:
    """Return the URL of the configured database, else of SQLite in the data directory."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return sqlite_url(settings.data_dir)


def reminders_of(settings: Settings) -> ReminderSchedule:
    """Return the configured schedule of reminders about open escalations."""
    return ReminderSchedule(
        after=timedelta(minutes=settings.escalation_ping_minutes),
        most=settings.escalation_pings,
        second_level=timedelta(minutes=settings.escalation_second_level_minutes),
        joins_within=timedelta(days=settings.escalation_join_days),
    )


async def open_store(url: str, reminders: ReminderSchedule | None = None) -> Store:
    """Migrate the schema and return the store. Raises StoreUnavailable."""
    await prepare(url)
    return unopened(url, reminders)


def unopened(url: str, reminders: ReminderSchedule | None = None) -> Store:
    """Return a store without connecting or migrating; see `prepare`."""
    transactions = Transactions(url)
    if transactions.dialect == "sqlite":
        return Store(transactions, reminders=reminders)
    # A burst of questions takes every connection; a lease waiting for one would expire.
    return Store(transactions, Transactions(url), reminders)


_ONE_AT_A_TIME = threading.Lock()
"""Alembic keeps the connection that it migrates in a module: two threads would share one."""


async def prepare(url: str) -> None:
    """Migrate the schema to the current revision. Raises StoreUnavailable."""
    try:
        await asyncio.to_thread(migrate, url)
    except (SQLAlchemyError, OSError) as error:
        raise StoreUnavailable(_database_failure(url, error)) from error


def migrate(url: str) -> None:
    """Apply pending migrations; blocking, so run it in a thread."""
    blocking = make_url(url.replace("sqlite+aiosqlite", "sqlite+pysqlite", 1))
    engine = create_engine(blocking, hide_parameters=True, connect_args=connect_arguments(url))
    if blocking.get_backend_name() == "sqlite" and blocking.database:
        Path(blocking.database).parent.mkdir(parents=True, exist_ok=True)
        event.listen(engine, "connect", set_up_sqlite)
        event.listen(engine, "begin", begin_immediate)
    try:
        with _ONE_AT_A_TIME, engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            if _schema_revision(connection) != HEAD:
                _upgrade(connection)
    finally:
        engine.dispose()


def _database_failure(url: str, error: Exception) -> str:
    """Return why a database can't be opened and how to fix it, in one line without secrets."""
    cause = getattr(error, "orig", None) or error
    said = " ".join(str(cause).split())
    address = make_url(url)
    # The query of a database URL may contain a password, too.
    where = address.set(query={}).render_as_string()
    if address.get_backend_name() == "postgresql":
        cure = "See that the server runs and takes DATABASE_URL's user, password and database."
    elif is_damaged(said):
        cure = DAMAGE_CURE
    else:
        cure = "Look at the data directory's permissions and free space."
    return f"The record at {where!r} can't be opened: {said}. {cure}"


def _schema_revision(connection: Connection) -> str | None:
    """Return the schema's Alembic revision, None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreUnavailable(
            f"The record has the schema of another version ({error}), this one reads {HEAD!r} and "
            "older. Start the version of Frontdesk that wrote it, or a newer one."
        ) from error
