"""Run durable workflows by DBOS Transact; the only module that imports it (docs/adr/0003).

The engine records which work was begun and not ended, so that work of a dead process is known.
Content, claim and result of the work are in the store; the engine holds ids only, no texts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from dbos import DBOS, DBOSClient, DBOSConfig, SetWorkflowID, WorkflowSerializationFormat
from sqlalchemy import Engine as SqlEngine
from sqlalchemy import create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import ConnectionPoolEntry

from bot.domain.errors import EngineUnavailable, InboxUnavailable
from bot.domain.messages import InteractionId
from bot.domain.settings import Settings
from bot.domain.urls import IDLE_IN_TRANSACTION_SECONDS
from bot.inbox.ports import RunWork

log = structlog.get_logger(__name__)

_NAME = "frontdesk"
_SCHEMA = f"{_NAME}_engine"
_VERSION = "1"
"""The workflow's version. Fixed: what one version began, another may cancel and begin anew."""

_ONLY_PROCESS = "local"
"""The executor of every process on a file until version 0.2.0."""

_RUNNING, _CANCELLED = "PENDING", "CANCELLED"
_ENDED_STATUSES = frozenset({"SUCCESS", "ERROR", _CANCELLED, "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})
_ENDED_KEPT_FOR = timedelta(days=2)
_DELETED_PER_QUERY = 500
_BEGIN_SECONDS = 10.0
_ABANDON_SECONDS = 30.0
_BEGUN_LATELY = timedelta(hours=1)
_PRAGMAS = (
    "busy_timeout = 30000",
    "foreign_keys = ON",
    "journal_mode = WAL",
    "secure_delete = ON",
)
_DAMAGE_MESSAGES = ("not a database", "malformed", "encrypted")


class DbosEngine:
    """Runs work as DBOS workflows; one per process, as DBOS is a singleton.

    Implements `DurableEngine`.

    Work is started directly, not through a queue: queues are polled, which costs 26 ms and a
    quarter of a core at 20 ms (docs/adr/0003), and the process that stores a message begins its
    work.

    Args:
        url: The database of the engine's state; see engine_url.
        executor: The name of this process; unique among those that share the database.
    """

    def __init__(self, url: str, executor: str) -> None:
        self._url = url
        self.executor = executor
        self._run: RunWork | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._workflow: Callable[[str], Coroutine[Any, Any, None]] | None = None

    async def start(self, run: RunWork) -> None:
        """Launch DBOS on this event loop.

        A damaged SQLite file is moved away, because its state can be rebuilt from the store. Raises
        EngineUnavailable.
        """
        self._run = run
        try:
            await self._launched()
        except EngineUnavailable as error:
            if not self._moved_away(error.__cause__):
                raise
            await self._launched()

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        if self._workflow is None:
            raise InboxUnavailable("The engine is not running. Send it again in a minute.")
        try:
            with SetWorkflowID(work_id):
                async with asyncio.timeout(_BEGIN_SECONDS):
                    await DBOS.start_workflow_async(self._workflow, str(interaction_id))
        except Exception as error:
            log.warning("engine.not_begun", work_id=work_id, error=type(error).__name__)
            raise InboxUnavailable(
                f"Work {work_id!r} could not be begun ({type(error).__name__}). Send it again."
            ) from error

    async def abandon(self, executors: Sequence[str]) -> frozenset[InteractionId]:
        """Cancel the work that dead processes had begun; return what it was about.

        DBOS would resume it through a queue that every process reads, even one without a claim.
        Raises EngineUnavailable.
        """
        old = [_ONLY_PROCESS] if make_url(self._url).get_backend_name() == "sqlite" else []
        try:
            # DBOS itself retries forever.
            async with asyncio.timeout(_ABANDON_SECONDS):
                return await _cancel_work([*executors, *old])
        except Exception as error:
            raise EngineUnavailable(
                f"Work of dead servers could not be taken over ({type(error).__name__}). It is "
                "tried again; if this stays, look at the engine's database."
            ) from error

    async def forget(self) -> None:
        """Delete workflows that ended long ago, in batches."""
        before = (datetime.now(UTC) - _ENDED_KEPT_FOR).isoformat()
        while ended := await DBOS.list_workflows_async(
            status=sorted(_ENDED_STATUSES),
            end_time=before,
            limit=_DELETED_PER_QUERY,
            load_input=False,
            load_output=False,
        ):
            await DBOS.delete_workflows_async([workflow.workflow_id for workflow in ended])

    async def forget_work(self, ids: Sequence[InteractionId]) -> None:
        """Delete the workflows of interactions that have ended."""
        await _delete_ended(DBOS, ids)

    async def stop(self) -> None:
        """Stop without ending work in progress: others, or the next start, take it over."""
        self._workflow = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # In a separate thread: destroy() waits for threads that may wait for this loop. DBOS has
        # replaced the loop's default executor and shuts it down too.
        with ThreadPoolExecutor(1) as thread:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(thread, lambda: DBOS.destroy(destroy_registry=True))
        loop.set_default_executor(ThreadPoolExecutor())

    async def _launched(self) -> None:
        try:
            self._launch()
        except Exception as error:
            await self.stop()
            raise EngineUnavailable(
                f"The engine's state can't be opened ({type(error).__name__}). Look at the "
                "permissions and the free space of the data directory, or at the database server."
            ) from error

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": _NAME,
            "system_database_url": self._url,
            "dbos_system_schema": _SCHEMA,
            "executor_id": self.executor,
            "application_version": _VERSION,
            "use_listen_notify": False,
            "enable_otlp": False,
            "sys_db_pool_size": 5,
            "sys_db_idle_transaction_timeout_sec": IDLE_IN_TRANSACTION_SECONDS,
            "console_log_level": "CRITICAL",
        }
        if make_url(self._url).get_backend_name() == "sqlite":
            config["system_database_engine"] = _open_sqlite(self._url)
        DBOS(config=config)

        @DBOS.workflow(
            name="answer",
            max_recovery_attempts=None,
            serialization_type=WorkflowSerializationFormat.PORTABLE,
        )
        async def answer(interaction_id: str) -> None:
            await self._answer(InteractionId(interaction_id))

        self._workflow = answer
        DBOS.launch()

    async def _answer(self, interaction_id: InteractionId) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._tasks.add(task)
        try:
            # Neither a step nor a durable sleep: the store records the progress, and a restarted
            # process retries at once.
            while self._run and (pause := await self._run(interaction_id)) is not None:  # noqa: ASYNC110 - a pause between attempts, nothing is polled
                await asyncio.sleep(pause)
        finally:
            self._tasks.discard(task)

    def _moved_away(self, error: BaseException | None) -> bool:
        database = make_url(self._url).database
        damage = isinstance(error, DatabaseError) and any(
            sign in str(error) for sign in _DAMAGE_MESSAGES
        )
        if database is None or not damage:
            return False
        damaged = Path(database)
        kept = damaged.with_suffix(f".damaged-{int(time.time())}")
        for each in (damaged, *(damaged.with_name(f"{damaged.name}{s}") for s in ("-wal", "-shm"))):
            if each.exists():
                each.rename(kept.with_name(each.name.replace(damaged.name, kept.name)))
        log.error("engine.begun_anew", damaged=kept.name, cure="Delete it when it isn't needed.")
        return True


async def _cancel_work(executors: Sequence[str]) -> frozenset[InteractionId]:
    """Cancel the running work of processes; return what that and earlier cancelled work is about.

    Who took over the earlier ones may have died before it began them anew.
    """
    left: list[str] = []
    for executor in executors:
        left += await _workflow_ids(_RUNNING, executor=executor)
    if left:
        await DBOS.cancel_workflows_async(left)
    left += await _workflow_ids(_CANCELLED, since=datetime.now(UTC) - _BEGUN_LATELY)
    # Work on an interaction has its id, or begins with it.
    return frozenset(InteractionId(each.partition(":")[0]) for each in left)


async def _workflow_ids(
    status: str, *, executor: str | None = None, since: datetime | None = None
) -> list[str]:
    found = await DBOS.list_workflows_async(
        status=status,
        executor_id=executor,
        start_time=since.isoformat() if since else None,
        load_input=False,
        load_output=False,
    )
    return [each.workflow_id for each in found]


async def forget_work_at(url: str, ids: Sequence[InteractionId]) -> None:
    """Delete ended workflows of interactions from the state at a URL, without an engine.

    Does nothing where no engine has ever run.
    """
    address = make_url(url)
    alone = address.get_backend_name() == "sqlite"
    if alone and not await asyncio.to_thread(Path(address.database or "").exists):
        return
    engine = _open_sqlite(url) if alone else None
    client = DBOSClient(
        system_database_url=url,
        system_database_engine=engine,
        dbos_system_schema=_SCHEMA,
        retry_connection_errors=False,
    )
    try:
        await _delete_ended(client, ids)
    except DatabaseError:
        log.warning("engine.work_not_forgotten", interactions=len(ids))
    finally:
        client.destroy()
        if engine is not None:
            engine.dispose()


async def _delete_ended(api: DBOSClient | type[DBOS], ids: Sequence[InteractionId]) -> None:
    for begin in range(0, len(ids), _DELETED_PER_QUERY):
        # Work on an interaction has its id, or begins with it.
        ended = await api.list_workflows_async(
            workflow_id_prefix=list(map(str, ids[begin : begin + _DELETED_PER_QUERY])),
            status=sorted(_ENDED_STATUSES),
            load_input=False,
            load_output=False,
        )
        if ended:
            await api.delete_workflows_async([workflow.workflow_id for workflow in ended])


def engine_url(settings: Settings) -> str:
    """Return the database URL of the engine's state: beside the store's."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{(settings.data_dir / 'engine.sqlite').absolute()}"


def _open_sqlite(url: str) -> SqlEngine:
    """Open the SQLite file so that a commit does not wait for the disk.

    State lost in a power failure is rebuilt from the store, whose commits do wait.
    """
    engine = create_engine(url)

    def set_up(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = "IMMEDIATE"
        cursor = connection.cursor()
        for pragma in (*_PRAGMAS, "synchronous = NORMAL"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine, "connect", set_up)
    return engine
