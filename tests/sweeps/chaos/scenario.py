"""One run: servers, a Slack that outlives them, questions, faults, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp
import numpy as np

from tests.e2e.conftest import environment
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import TEAM, TOKEN
from tests.fakes.slack.people import Member
from tests.fakes.slack.server import FakeSlack
from tests.fork_server import Programme, completed
from tests.sweeps.chaos.event_delivery import SOON_AGAIN, Again, EventDelivery
from tests.sweeps.chaos.fault_plan import Fault, Saboteur, SlackConnection
from tests.sweeps.chaos.questions import ASKERS, PEOPLE, SPACE, Question, asker, write_wiki
from tests.sweeps.chaos.server_processes import ServerProcesses, Timeline
from tests.sweeps.chaos.verdict import GLANCE_SECONDS, Observer, Verdict, evidence_of, judge

_LOOK_SECONDS = 0.5
_ROOM_SECONDS = 40.0
MOST_COPIES = 4
_SCATTER_SECONDS = 2.0
_UNANSWERED = 200
"""So many questions may wait at once; a full queue would refuse the others."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast is asked and how long is waited; all in seconds but the first two.

    ``unanswered``: when so many questions wait, no more are asked; a slow machine takes longer.
    ``patience``: for the last answer after the last fault. ``quiet``: afterwards, for replies that
    should not come.
    """

    questions_a_second: float = 3.5
    unanswered: int = 40
    patience: float = 120.0
    quiet: float = 10.0


@dataclass(slots=True)
class RunningSystem:
    """What a run takes place on."""

    slack: FakeSlack
    wire: SlackConnection
    fleet: ServerProcesses
    courier: EventDelivery
    eye: Observer
    timeline: Timeline


@dataclass(slots=True)
class Result:
    """A run's verdict, with what one needs to understand it."""

    verdict: Verdict
    deliveries: int
    seconds: float
    troubles: dict[str, int]
    ended_by_themselves: list[str]
    timeline: list[str]
    evidence: list[str] = field(default_factory=list)


def prepare(folder: Path) -> Path:
    """Index the wiki once; return the data directory that servers get copies of."""
    write_wiki(folder / "wiki")
    prepared = folder / "prepared"
    arguments = ("ingestion", "folder", str(folder / "wiki"), "--space", SPACE)
    completed(Programme(arguments, environment(prepared))).check_returncode()
    return prepared


async def indexed(prepared: Path | None, folder: Path) -> Path:
    """Return the data directory that was prepared before, or prepare one in a folder."""
    return await asyncio.to_thread(prepare, folder) if prepared is None else prepared


@asynccontextmanager
async def running_system(
    folder: Path,
    prepared: Path,
    *,
    draw: np.random.Generator,
    forgetful: bool = False,
    plain: bool = True,
    again: Again = SOON_AGAIN,
    strict_rates: bool = False,
    **settings: str,
) -> AsyncIterator[RunningSystem]:
    """Set up Slack, the wire to it and the means to start servers; all ends with the block."""
    timeline = Timeline()
    async with AsyncExitStack() as closing:
        slack = await closing.enter_async_context(FakeSlack(strict_rates=strict_rates).serving())
        slack.people |= {each.id: each for each in colleagues()}
        made = SlackConnection(slack.url, draw, forgetful=forgetful)
        wire = await closing.enter_async_context(made.serving())
        fleet = ServerProcesses(
            folder, prepared, _settings(wire.url, settings), timeline, plain=plain
        )
        closing.push_async_callback(fleet.end)
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        session = await closing.enter_async_context(aiohttp.ClientSession(connector=connector))
        courier = EventDelivery(session, fleet, timeline, draw, again=again)
        eye = Observer(slack, timeline)
        watching = asyncio.create_task(eye.watch())
        closing.callback(watching.cancel)
        yield RunningSystem(slack, wire, fleet, courier, eye, timeline)


def colleagues() -> Iterator[Member]:
    """Yield the people who ask: who is not known to be a colleague is not answered."""
    for number in range(ASKERS):
        yield Member(f"U0{asker(number)}", f"asker{number}", f"Asker {number}")


def _settings(slack_url: str, more: dict[str, str]) -> dict[str, str]:
    return {
        "SLACK_BOT_TOKEN": TOKEN,
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_API_URL": slack_url,
        "SLACK_TEAM_ID": TEAM,
        "SLACK_ESCALATION_CHANNEL": PEOPLE,
        "CONFIDENCE_THRESHOLD": "0.05",
        "RATE_PER_USER_PER_MINUTE": "0",
        "RATE_PER_CHANNEL_PER_MINUTE": "0",
        **more,
    }


async def ask_under_faults(
    stage: RunningSystem,
    questions: Sequence[Question],
    faults: Sequence[Fault],
    saboteur: Saboteur,
    draw: np.random.Generator,
    pace: Pace,
) -> Result:
    """Ask the questions, do the faults, wait until all is answered, and judge."""
    stage.slack.channels |= {question.channel for question in questions} | {PEOPLE}
    await stage.fleet.all_ready()
    began = stage.timeline.now()
    stage.wire.stormy = answering = True
    async with asyncio.TaskGroup() as group:
        group.create_task(_sabotage(saboteur, faults, stage, questions))
        for question in questions:
            group.create_task(stage.courier.ask(question))
            await asyncio.sleep(float(draw.exponential(1 / pace.questions_a_second)))
            await _keep_up(saboteur, sum(fault.after < question.number for fault in faults))
            answering = answering and await _room(stage, pace.unanswered)
    stage.wire.stormy = False
    await until_answered(stage, questions, pace.patience)
    await asyncio.sleep(pace.quiet)
    await saboteur.end()
    return result_of(stage, questions, began)


async def deliver_scattered(
    stage: RunningSystem, questions: Sequence[Question], draw: np.random.Generator, patience: float
) -> Result:
    """Deliver each question one to four times at random moments; nothing breaks."""
    stage.slack.channels |= {question.channel for question in questions} | {PEOPLE}
    await stage.fleet.all_ready()
    began, answering = stage.timeline.now(), True
    async with asyncio.TaskGroup() as group:
        for question in questions:
            copies = int(draw.integers(1, MOST_COPIES + 1))
            group.create_task(stage.courier.scatter(question, copies, _SCATTER_SECONDS))
            answering = answering and await _room(stage, _UNANSWERED)
    await until_answered(stage, questions, patience)
    await asyncio.sleep(_SCATTER_SECONDS)
    return result_of(stage, questions, began)


async def _sabotage(
    saboteur: Saboteur, faults: Sequence[Fault], stage: RunningSystem, questions: Sequence[Question]
) -> None:
    for fault in faults:
        asked = questions[fault.after].number
        await _until(partial(stage.courier.receipts.__contains__, asked))
        await saboteur.do(fault)


async def _until(happened: Callable[[], bool], every_seconds: float = GLANCE_SECONDS) -> None:
    """Wait at least once, so that what was begun gets its turn."""
    await asyncio.sleep(0)
    while not happened():  # noqa: ASYNC110 - what happens is in other processes
        await asyncio.sleep(every_seconds)


async def _keep_up(saboteur: Saboteur, due: int) -> None:
    """Wait until at most one of the faults that are due is still to come."""
    saboteur.awaited = True
    await _until(lambda: saboteur.done >= due - 1)
    saboteur.awaited = False


async def _room(stage: RunningSystem, most: int) -> bool:
    """Wait until fewer questions wait; False when they don't become fewer: some are lost."""
    try:
        async with asyncio.timeout(_ROOM_SECONDS):
            await _until(lambda: unanswered(stage) < most)
    except TimeoutError:
        return False
    return True


def unanswered(stage: RunningSystem) -> int:
    """Return about how many questions wait; a hand-over has two posts."""
    asked = len(stage.courier.receipts) - stage.courier.given_up
    return asked - len(stage.slack.posts)


async def until_answered(
    stage: RunningSystem, questions: Sequence[Question], patience: float
) -> None:
    """Wait until every question that was acknowledged has a reply, or patience ends."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await _until(lambda: not _verdict(stage, questions).lost, _LOOK_SECONDS)


def _verdict(stage: RunningSystem, questions: Sequence[Question]) -> Verdict:
    receipts = stage.courier.receipts
    return judge(questions, receipts, stage.eye.seen(), stage.timeline.last_fault)


def result_of(stage: RunningSystem, questions: Sequence[Question], began: float) -> Result:
    """Judge a run that is over."""
    receipts = stage.courier.receipts.values()
    return Result(
        verdict=_verdict(stage, questions),
        deliveries=sum(receipt.deliveries for receipt in receipts),
        seconds=stage.timeline.now() - began,
        troubles={str(name): count for name, count in stage.wire.troubles.items()},
        ended_by_themselves=stage.fleet.ended_by_themselves,
        timeline=stage.timeline.lines(),
    )


def evidence(
    stage: RunningSystem, numbers: Collection[int], questions: Sequence[Question], record: str
) -> list[str]:
    """Return lines from the record about some of the questions."""
    asked = [question for question in questions if question.number in numbers]
    return evidence_of(record, asked, stage.courier.receipts, stage.eye.seen())
