"""COMPOSITION of the server: every part is joined here, once; it alone knows ingestion."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot import startup
from bot.adapters import rest
from bot.adapters.web.pages import WebChat
from bot.admission import Admission, VouchedDirectory
from bot.config import Settings
from bot.delivery import Deliverer
from bot.doors import mount_doors
from bot.identity import person_of
from bot.inbox import InProcessInbox, Limits
from bot.parts import Parts
from bot.ports import Channel, Inbox
from bot.startup import Part
from bot.store import Store
from bot.types import Platform, Policy
from ingestion.progress import progress_on
from ingestion.report import report_lines
from ingestion.run import Folder, sync_folder
from rag.errors import RagError

SAMPLE = Path(__file__).parents[1] / "infra" / "sample"
SAMPLE_SPACES = {"SAMPLE-IT": "it", "SAMPLE-HR": "hr"}
STARTERS = (
    "vpn says error 809, what now?",
    "How do I reset my password?",
    "Who approves travel?",
    "Can I talk to a human?",
)


class FolderReindex:
    """Implements Reindex over folders: each space is filled from one of them."""

    def __init__(self, parts: Parts, settings: Settings, folders: Mapping[str, Path]) -> None:
        self._parts = parts
        self._settings = settings
        self._folders = folders

    async def run(self, space: str | None = None, *, dry_run: bool = False) -> Sequence[str]:
        """Bring one space or all up to date; return the report's lines."""
        lines: list[str] = []
        for key, folder in self._folders.items():
            if space in {None, key}:
                report = await sync_folder(
                    Folder(folder, key),
                    self._parts.index,
                    self._parts.embedder,
                    tenant=self._settings.tenant,
                    data_dir=self._settings.data_dir,
                    dry_run=dry_run,
                    progress=progress_on(sys.stderr),
                )
                lines += report_lines(report)
        return lines


async def reindex_sample(settings: Settings, parts: Parts) -> Sequence[str]:
    """Bring the sample company's pages up to date; once there are others, remove them.

    An invented company's rules must not answer real colleagues.
    """
    indexed = set(await parts.index.spaces(settings.tenant))
    own = sorted(indexed - set(SAMPLE_SPACES))
    if own:
        return await _forget_sample(settings, parts, own)
    folders = {key: SAMPLE / name for key, name in SAMPLE_SPACES.items()}
    done = await FolderReindex(parts, settings, folders).run()
    return [line for line in done if line.startswith(("Space", "Failed", "Warning"))]


async def _forget_sample(settings: Settings, parts: Parts, own: Sequence[str]) -> Sequence[str]:
    removed = 0
    for space in SAMPLE_SPACES:
        pages = await parts.index.pages(settings.tenant, space)
        removed += await parts.index.delete_pages(settings.tenant, space, list(pages))
    gone = f" Its {removed} pages are removed." if removed else ""
    return [f"The sample company is left out, because {', '.join(own)} is indexed.{gone}"]


async def status(settings: Settings, parts: Parts) -> Sequence[Part]:
    """Return what is configured and what is not; quick enough for every readiness probe."""
    name = parts.embedder.name if parts.embedder else None
    return (
        await _knowledge(settings, parts),
        startup.embedder(name, parts.embedder_trouble),
        startup.model(settings),
        startup.slack(settings),
        startup.teams(settings),
        startup.confluence(),
        startup.azure_search(),
        startup.doors(settings),
    )


async def _knowledge(settings: Settings, parts: Parts) -> Part:
    try:
        return startup.knowledge(await parts.index.spaces(settings.tenant))
    except RagError as error:
        return Part("knowledge", "failed", str(error))


def build(settings: Settings, parts: Parts, store: Store) -> web.Application:
    """Join all parts into one application. Raises SettingInvalid."""
    app = web.Application()
    mount_doors(app, settings)
    platforms = [*_slack(settings), *_teams(settings, store)]
    inbox = _inbox(settings, parts, store, [platform.channel for platform in platforms])
    for platform in platforms:
        platform.mount(app, inbox)
    rest.mount(
        app,
        inbox=inbox,
        interactions=store.interactions,
        settings=settings,
        check_parts=lambda: status(settings, parts),
    )
    WebChat(
        inbox=inbox,
        interactions=store.interactions,
        conversations=store.interactions,
        pages=parts.index,
        identify=person_of,
        tenant=settings.tenant,
        starters=STARTERS,
    ).mount(app)
    app.cleanup_ctx.append(_running(inbox))
    return app


@dataclass(frozen=True, slots=True)
class Connected:
    """A configured platform: its channel, and how its endpoint is mounted."""

    channel: Channel
    mount: Callable[[web.Application, Inbox], None]


def _slack(settings: Settings) -> Iterator[Connected]:
    if settings.slack_configured:
        from bot.adapters import slack

        channel = slack.connect(settings)
        yield Connected(channel, lambda app, inbox: slack.mount(app, channel, inbox))


def _teams(settings: Settings, store: Store) -> Iterator[Connected]:
    if settings.teams_configured:
        from bot.adapters import teams

        channel = teams.connect(settings)
        kept = store.interactions
        yield Connected(
            channel, lambda app, inbox: teams.mount(app, channel, inbox, interactions=kept)
        )


def _inbox(
    settings: Settings, parts: Parts, store: Store, channels: Sequence[Channel]
) -> InProcessInbox:
    connected: dict[Platform, Channel] = {each.platform: each for each in channels}
    policy = Policy(spaces=settings.index_spaces)
    return InProcessInbox(
        interactions=store.interactions,
        admission=Admission(store.interactions, VouchedDirectory(), policy),
        desk=parts.desk,
        deliver=Deliverer(connected, store.interactions, public_url=settings.public_url),
        limits=Limits(),
        log_questions=settings.log_questions,
    )


def _running(inbox: InProcessInbox) -> Callable[[web.Application], AsyncIterator[None]]:
    async def run(_: web.Application) -> AsyncIterator[None]:
        await inbox.start()
        yield
        await inbox.close()

    return run
