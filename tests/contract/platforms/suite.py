"""Run one case on one platform: in by HTTP, through the inbox, out by HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.asker_identity import AskerIdentification
from bot.answering.attachments import AttachmentReader
from bot.domain.messages import Message, Policy, Refusal
from bot.domain.ports import AnswersInquiries, Channel, Fetches, Inbox, Introduces
from bot.escalations.lifecycle import ReminderSchedule
from bot.inbox.ports import Admits
from bot.store.database import Store, open_store, sqlite_url
from bot.store.question_files import KEPT_HERE
from bot.store.tables import Table
from bot.web.auth.security import mount_security
from tests.contract.platforms.cases import Case
from tests.contract.platforms.driver import Missing, Opens, Platform, Platforms
from tests.contract.platforms.example_platform.double import on_pigeon
from tests.contract.platforms.gaps import MISSING
from tests.contract.platforms.rest_driver import on_rest
from tests.contract.platforms.scenario import Experts, HeldDesk, Scenario, WatchedInbox
from tests.contract.platforms.slack_driver import on_slack
from tests.contract.platforms.teams_driver import on_teams
from tests.contract.platforms.web_driver import on_web
from tests.fakes.bot_ports import PdfOfText
from tests.fakes.durable_inbox import inbox_over, running

PLATFORMS: Platforms = {
    "web": on_web,
    "rest": on_rest,
    "slack": on_slack,
    "teams": on_teams,
    "example": on_pigeon,
}


class Refusing:
    """An admission that turns every message away."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal

    async def admit(self, message: Message) -> Refusal:
        return self._refusal


@asynccontextmanager
async def opened_record(directory: Path) -> AsyncIterator[Store]:
    """Open the record of all cases: each begins with an empty one."""
    schedule = ReminderSchedule(joins_within=timedelta(days=7))
    store = await open_store(sqlite_url(directory), schedule)
    try:
        yield store
    finally:
        await store.close()


async def faults(case: Case, platform: str, store: Store, directory: Path) -> Sequence[str]:
    """Return in words what is not as it must be, or not as tests.contract.platforms.gaps says."""
    await _empty(store)
    found = await _found(case, PLATFORMS[platform], store, directory)
    if case.name not in MISSING.get(platform, {}):
        return found
    return [] if found else ["it is declared missing and works: take it out of missing.py"]


async def _empty(store: Store) -> None:
    async with store.transactions.writing(lasting=False) as connection:
        for table in reversed(Table.metadata.sorted_tables):
            await connection.execute(table.delete())


async def _found(case: Case, opens: Opens, store: Store, directory: Path) -> Sequence[str]:
    async with (
        opens(directory, store.notes) as platform,
        _scene(case, platform, store) as scene,
    ):
        try:
            await case.play(scene)
        except Missing:
            return [*scene.faults, "the platform has no such thing"]
        except (AssertionError, TimeoutError) as error:
            return [*scene.faults, f"{type(error).__name__}: {error}"]
        return scene.faults


@asynccontextmanager
async def _scene(case: Case, platform: Platform, store: Store) -> AsyncIterator[Scenario]:
    desk = HeldDesk(case.desk())
    async with AsyncExitStack() as stack:
        admission: Admits = _admission(store, platform.channel, case.open_spaces)
        if case.refusal:
            admission = Refusing(case.refusal)
        inbox = await stack.enter_async_context(
            opened_inbox(store, admission, desk, platform.channel)
        )
        watched = WatchedInbox(inbox, full=case.full)
        app = web.Application()
        security = mount_security(app, platform.settings)
        platform.mount(app, watched, store)
        security.exempt_webhooks(app)
        platform.client = await stack.enter_async_context(
            TestClient(TestServer(app, host="127.0.0.1"))
        )
        people = Experts(store, platform.another_channel, platform.settings.tenant)
        yield Scenario(platform, watched, store.interactions, desk, people)


@asynccontextmanager
async def opened_inbox(
    store: Store, admission: Admits, desk: AnswersInquiries, channel: Channel | None
) -> AsyncIterator[Inbox]:
    """Start the inbox that every platform is tried with; the one place that makes it."""
    channels = {} if channel is None else {channel.platform: channel}
    opened = inbox_over(store, desk=desk, admission=admission, channels=channels)
    async with running(opened) as inbox:
        yield inbox


def _admission(store: Store, channel: Channel | None, open_spaces: frozenset[str]) -> Admission:
    """Make the admission as the application does: the channel vouches for who asks."""
    channels = [] if channel is None else [channel]
    introducing = {each.platform: each for each in channels if isinstance(each, Introduces)}
    opened = dict.fromkeys(introducing, open_spaces)
    fetching: dict[str, Fetches] = dict.fromkeys(KEPT_HERE, store.files)
    fetching |= {each.platform: each for each in channels if isinstance(each, Fetches)}
    return Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=AskerIdentification(introducing, open_spaces=opened, notes=store.notes),
        reading=AttachmentReader(fetching, PdfOfText().text),
    )
