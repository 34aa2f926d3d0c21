"""Check every configured component by using it, and print each error with its cure."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from bot.answering.limit_reports import limits_status
from bot.app.components import Components, open_components
from bot.app.language_models import PROBE
from bot.domain import health
from bot.domain.errors import BotError
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.domain.urls import OWN_PAGES
from bot.store.database import database_url, open_store
from rag.errors import RagError
from rag.file_modes import restrict_to_owner
from rag.ports import ChatModel, Prompt
from rag.search_planning import SEARCH_TOOL
from rag.search_scope import Scope
from rag.types import EVERYONE

_FREE_BYTES = 500 * 1024**2
_QUESTION = "how do I get access"

Checks = Callable[[], Awaitable[Sequence[ComponentStatus]]]


async def doctor(settings: Settings, *further: Checks) -> int:
    """Print a line per component; return 0 when nothing that is configured is broken, else 1.

    ``further`` are checks from outside this module, such as those of ingestion's sources.
    """
    unlinked: Sequence[str] = ()
    found = [await asyncio.to_thread(_data_dir, settings.data_dir), *await _store(settings)]
    try:
        async with open_components(settings) as parts:
            found += [await _knowledge(settings, parts), await _embedder(settings, parts)]
            found += [*await _models(settings, parts), *await _outsiders(settings, parts)]
            found += [health.calibration(settings, parts.uncalibrated)]
            unlinked = await _spaces_without_public_url(settings, parts)
    except (BotError, RagError) as error:
        found.append(ComponentStatus("index", "failed", str(error)))
    found += await _azure_search(settings)
    for checks in further:
        found += await checks()
    found += [*await slack_checks(settings), *await teams_checks(settings)]
    found += [*health.sources_linked(settings, unlinked), health.web_access(settings)]
    for part in found:
        print(part.line())
    broken = [part.name for part in found if part.state == "failed"]
    print(f"\nBroken: {', '.join(broken)}." if broken else "\nAll that is configured works.")
    return 1 if broken else 0


def _data_dir(path: Path) -> ComponentStatus:
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".doctor"
        probe.write_text("written")
        probe.unlink()
    except OSError as error:
        cure = "Set FRONTDESK_DATA_DIR to a folder that this user may write to."
        return ComponentStatus(
            "data", "failed", f"{path} can't be written: {error.strerror}.", cure
        )
    free = shutil.disk_usage(path).free
    if free < _FREE_BYTES:
        return ComponentStatus(
            "data", "failed", f"{path} has {free // 1024**2} MB left.", "Make room."
        )
    try:
        sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE probe USING fts5(text)").close()
    except sqlite3.OperationalError:
        cure = "Use a Python whose sqlite3 has FTS5 (python.org, Debian and conda do)."
        return ComponentStatus(
            "data", "failed", f"SQLite {sqlite3.sqlite_version} has no FTS5.", cure
        )
    left = f"{path}, {free // 1024**3} GB free"
    if opened := restrict_to_owner(path):
        others = f"{left}, but other accounts of this machine may read {opened[0]}."
        cure = "Make it yours alone: chmod 700, or the mode of the share that it is on."
        return ComponentStatus("data", "limited", others, cure)
    return ComponentStatus("data", "ready", left)


async def _store(settings: Settings) -> Sequence[ComponentStatus]:
    try:
        store = await open_store(database_url(settings))
    except BotError as error:
        return [ComponentStatus("record", "failed", str(error))]
    async with store:
        limits = await limits_status(settings, store.counting, store.pauses.current)
    return [ComponentStatus("record", "ready", "opens, schema is current"), limits]


async def _knowledge(settings: Settings, parts: Components) -> ComponentStatus:
    """Check the index by a real search, and time it."""
    started = time.perf_counter()
    scope = Scope(settings.tenant, frozenset({EVERYONE}), settings.index_spaces)
    try:
        indexed = health.knowledge(await parts.index.spaces(settings.tenant))
        started = time.perf_counter()
        await parts.pipeline.without_planning().retrieve(_QUESTION, scope)
    except RagError as error:
        return ComponentStatus("knowledge", "failed", str(error))
    if indexed.state == "absent":
        return indexed
    took = (time.perf_counter() - started) * 1000
    return ComponentStatus(
        indexed.name, indexed.state, f"{indexed.detail}; a search took {took:.0f} ms", indexed.cure
    )


async def _spaces_without_public_url(settings: Settings, parts: Components) -> Sequence[str]:
    """Return the served spaces with pages whose links open on this server only."""
    index, tenant = parts.index, settings.tenant
    if settings.public_url is not None:
        return []
    spaces = [each.space for each in await index.space_summaries(tenant, None)]
    served = settings.index_spaces
    return [
        space
        for space in spaces
        if (served is None or space in served)
        and any(
            page.url.startswith(OWN_PAGES)
            for page in await index.page_summaries(tenant, space, None)
        )
    ]


async def _embedder(settings: Settings, parts: Components) -> ComponentStatus:
    """Check the embedder by one vector, and time it."""
    embedder = parts.embedder
    if embedder is None:
        return health.embedder(settings, None, parts.embedder_trouble)
    started = time.perf_counter()
    try:
        await embedder.embed_query(_QUESTION)
    except RagError as error:
        return ComponentStatus("embedder", "failed", str(error))
    took = (time.perf_counter() - started) * 1000
    known = health.embedder(settings, embedder.name)
    return replace(known, detail=f"{known.detail}; a vector took {took:.0f} ms")


async def _azure_search(settings: Settings) -> Sequence[ComponentStatus]:
    """Check every operation on the service, also those that only indexing needs."""
    known = health.azure_search(settings)
    if known.state == "absent":
        return [known]
    from rag.index.azure.diagnostics import check_service

    states: dict[bool | None, Literal["ready", "absent", "failed"]]
    states = {True: "ready", None: "absent", False: "failed"}
    return [
        known,
        *(
            ComponentStatus(f"{health.AZURE_SEARCH}: {one.name}", states[one.works], one.detail)
            for one in await check_service(settings)
        ),
    ]


async def _models(settings: Settings, parts: Components) -> Sequence[ComponentStatus]:
    """Check every model by asking for one word."""
    known = health.models(settings)
    parts_of = {health.model_part(each): each.name for each in settings.further_models}
    found = []
    for part in known:
        name = parts_of.get(part.name, settings.openai_model or "")
        opened = parts.models.get(name)
        probe = replace(PROBE, tools=(SEARCH_TOOL,) if settings.search == "planned" else ())
        found.append(part if opened is None else await model_answers(part.name, opened.chat, probe))
    return found


async def model_answers(part: str, model: ChatModel, probe: Prompt) -> ComponentStatus:
    """Check one model by asking for one word, and time it."""
    try:
        call = (await model.complete(probe)).call
    except RagError as error:
        return ComponentStatus(part, "failed", str(error))
    took = f"{call.duration_ms:.0f} ms, {call.input_tokens} + {call.output_tokens} tokens"
    return ComponentStatus(part, "ready", f"{call.answered_by} answered ({took})")


async def _outsiders(settings: Settings, parts: Components) -> Sequence[ComponentStatus]:
    """Return for each platform what outsiders may ask; a space without pages is named."""
    slack, teams = settings.slack_outsider_spaces, settings.teams_outsider_spaces
    given = []
    if settings.slack_configured:
        given.append(("Slack", slack, health.slack_outsiders(settings)))
    if settings.teams_configured:
        given.append(("Teams", teams, health.teams_outsiders(settings)))
    try:
        indexed = await parts.index.spaces(settings.tenant) if slack or teams else {}
    except RagError:
        # The knowledge component reports this error.
        return [ComponentStatus(f"{name} outsiders", "ready", told) for name, _, told in given]
    return [_outsider_spaces(name, spaces, told, indexed) for name, spaces, told in given]


def _outsider_spaces(
    name: str, spaces: Sequence[str], told: str, indexed: Collection[str]
) -> ComponentStatus:
    missing = [space for space in spaces if space not in indexed]
    if not missing:
        return ComponentStatus(f"{name} outsiders", "ready", told)
    cure = f"Correct {name.upper()}_OUTSIDER_SPACES (as the spaces are written), or index them."
    detail = f"{told}; nothing is indexed in {', '.join(missing)}."
    return ComponentStatus(f"{name} outsiders", "limited", detail, cure)


async def slack_checks(settings: Settings) -> Sequence[ComponentStatus]:
    """Check every operation on Slack; nothing is posted."""
    if not settings.slack_configured:
        return [health.slack(settings)]
    from bot.platforms import slack

    try:
        return await slack.connect(settings).checks()
    except BotError as error:
        return [ComponentStatus("Slack", "failed", str(error))]


async def teams_checks(settings: Settings) -> Sequence[ComponentStatus]:
    """Check every operation on Teams; nothing is posted."""
    if not settings.teams_configured:
        return [health.teams(settings)]
    from bot.platforms import teams

    try:
        channel = teams.connect(settings)
        try:
            return await channel.checks()
        finally:
            await channel.client.close()
    except BotError as error:
        return [ComponentStatus("Teams", "failed", str(error))]
