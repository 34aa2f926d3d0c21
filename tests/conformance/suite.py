"""Runs one case on one platform, the whole way: in by HTTP, through the inbox, out by HTTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.admission import Admission, VouchedDirectory
from bot.delivery import Deliverer
from bot.inbox import InProcessInbox, Limits
from bot.ports import ReportStage
from bot.store import Store, open_store, sqlite_url
from bot.types import Escalation, Inquiry, Outcome, Policy, Stage
from tests.bot.adapters.outcomes import TRACE
from tests.conformance.cases import Case
from tests.conformance.platforms import PLATFORMS, Platform, client_of

_LIVE = re.compile(r"<[!@#a-z]|\]\((?!https://wiki\.example\.com/)|(?<!`)https?://evil")
_OURS = re.compile(
    r"<https://(?:wiki\.example\.com|acme\.slack\.com)/[^|<>]*\|[^<>]*>|<@U0ALICE00>"
)
"""Links and names that code wrote, label and all: the only ones that may be live."""


class ScriptedDesk:
    """A desk that makes of every question what a case says, and remembers the questions."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.questions: list[str] = []

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.questions.append(inquiry.message.text)
        await report(Stage.SEARCHING)
        response = self._case.response
        if response is None:
            raise RuntimeError("boom")
        if isinstance(response, Escalation) and response.reason == "low_confidence":
            response = replace(response, consent_needed=inquiry.message.private)
        return Outcome(response=response, trace=TRACE)


async def faults(case: Case, platform_name: str, directory: Path) -> Sequence[str]:
    """Run a case; return in words what was not as it must be."""
    desk = ScriptedDesk(case)
    async with (
        PLATFORMS[platform_name]() as platform,
        _inbox(platform, desk, directory) as (
            inbox,
            store,
        ),
        client_of(platform, inbox) as client,
    ):
        statuses = [
            await platform.ask(client, case.question, private=case.private)
            for _ in range(case.times)
        ]
        await _answered(store)
        return [
            *([] if set(statuses) == {200} else [f"answered {statuses}"]),
            *_faults_asked(case, desk),
            *_faults_shown(case, platform),
            *_faults_people(case, platform),
        ]


def _faults_asked(case: Case, desk: ScriptedDesk) -> Sequence[str]:
    asked = case.question.strip() if case.asked is None else case.asked
    if [question[:3000] for question in desk.questions] == [asked[:3000]]:
        return []
    return [f"the desk was asked {[question[:60] for question in desk.questions]}"]


def _faults_shown(case: Case, platform: Platform) -> Sequence[str]:
    seen = platform.seen()
    whole = "\n".join(seen)
    raw = _OURS.sub("", platform.raw())
    return [
        *(f"{text!r} is not shown" for text in case.shown if text not in whole),
        *(f"{text!r} is shown" for text in case.absent if text in whole),
        *(f"{live!r} is live" for live in _LIVE.findall(raw)),
        *([] if whole.count(case.shown[0]) == 1 else [f"{len(seen)} messages repeat the reply"]),
    ]


def _faults_people(case: Case, platform: Platform) -> Sequence[str]:
    people = platform.people()
    if people is None or (case.response is None):
        return []
    if case.people is None:
        return ["people were asked"] if people else []
    return [] if len(people) == 1 and case.people in people[0] else [f"people saw {people}"]


async def _answered(store: Store) -> None:
    for _ in range(1000):
        if not await store.interactions.unfinished():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("No reply was posted within ten seconds.")


@asynccontextmanager
async def _inbox(
    platform: Platform, desk: ScriptedDesk, directory: Path
) -> AsyncIterator[tuple[InProcessInbox, Store]]:
    store = await open_store(sqlite_url(directory))
    interactions = store.interactions
    channels = {platform.channel.platform: platform.channel}
    inbox = InProcessInbox(
        interactions=interactions,
        admission=Admission(interactions, VouchedDirectory(), Policy()),
        desk=desk,
        deliver=Deliverer(channels, interactions),
        limits=Limits(),
    )
    await inbox.start()
    try:
        yield inbox, store
    finally:
        await inbox.close()
        await store.close()
