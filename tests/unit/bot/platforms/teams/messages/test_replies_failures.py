"""Test answers that Teams refuses or loses, and processes that die: each answer is seen once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import Delivery, Interaction, Outcome, PostedRef
from bot.domain.messages import Activity, Message, Stage
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.rendering.cards import MAY_BE_TWICE
from bot.store.database import Store
from rag.parts import Table, paragraph
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE, delivery
from tests.fakes.durable_inbox import record_answer, wait_for_interaction
from tests.fakes.teams import names
from tests.fakes.teams.activities import question, with_placeholder
from tests.fakes.teams.builders import Bot, bot_at, interaction_id_of
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import ALICE, APP_ID, ENTRA, HELP, ISSUER
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart
from tests.unit.bot.platforms.teams.messages.test_replies import placed

LOST = Fault(status=0, after=True)
FAULTS = st.sampled_from(
    [None, LOST, Fault(status=0), Fault(status=500), Fault(status=504, after=True), Fault(429)]
)


@given(
    faults=st.lists(FAULTS, max_size=6),
    restarts=st.lists(st.booleans(), min_size=12, max_size=12),
    stages=st.lists(st.sampled_from(list(Stage)), max_size=3),
)
def test_whatever_fails_and_whoever_dies_the_answer_is_seen_once(
    signing_key: RSAPrivateKey,
    faults: list[Fault | None],
    restarts: list[bool],
    stages: list[Stage],
) -> None:
    async def run() -> None:
        async with FakeTeams(keys={"k1": signing_key}).serving() as teams:
            message = question(teams)
            opened = await placed(_channel(teams), message)
            teams.fail(*faults, call="update")
            for stage in stages:
                await _channel(teams).progress(message, Activity(stage), opened)
            ref = await _until_posted(teams, message, opened, restarts)
            (sent,) = teams.messages
            assert ref == opened
            assert sent.id == opened.id
            assert "Restart the client [1]." in sent.shown

    asyncio.run(run())


async def _until_posted(
    teams: FakeTeams, message: Message, opened: PostedRef, restarts: list[bool]
) -> PostedRef:
    """Deliver as the inbox does: looked up before every repetition, by whichever process."""
    channel = _channel(teams)
    sent = with_placeholder(opened, delivery(message))
    for restart in restarts:
        channel = _channel(teams) if restart else channel
        try:
            return await channel.find(sent) or await channel.deliver(sent)
        except DeliveryFailed:
            continue
    raise AssertionError("It was never posted.")


def _channel(teams: FakeTeams) -> TeamsChannel:
    async def pause(_: float) -> None:
        return

    given_settings = load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
    )
    cloud = Cloud(issuer=ISSUER, metadata_url=f"{teams.url}/meta", login_url=f"{teams.url}/login")
    return connect(given_settings, cloud=cloud, credentials=CountingCredentials(), pause=pause)


When = Literal["before", "after"]
_CALLS = ("send", "update", "delete", "member", "members", "open_chat")
_NOTES = ("get", "put", "first", "remove", "beginning")
_BEGINNING = 22
"""Characters by which a message is told from others; further on are ids."""

WHENS: tuple[When, ...] = ("before", "after")
PRIVATE = replace(ANSWER, text="For you: sesame [1].")
LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 400 for n in range(60)))


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Death:
    """Comes at a step, counted from 1: before what is done there, or after it."""

    at: int
    when: When
    steps: int = 0

    def on(self, thing: Any, *named: str) -> None:  # noqa: ANN401  # of any kind
        for name in named:
            setattr(thing, name, partial(self._step, getattr(thing, name)))

    async def _step(
        self, act: Callable[..., Awaitable[Any]], *given: object, **named: object
    ) -> object:
        self.steps += 1
        dies = self.steps == self.at
        if dies and self.when == "before":
            raise Killed
        result = await act(*given, **named)
        if dies:
            raise Killed
        return result


class Noted:
    """Implements Notes over others, with a death on the way."""

    def __init__(self, notes: Notes, death: Death) -> None:
        for name in _NOTES:
            setattr(self, name, getattr(notes, name))
        death.on(self, *_NOTES)


@dataclass
class ProcessScenario:
    """Processes of one bot, one after the other."""

    settings: Settings
    cloud: Cloud
    store: Store

    def process(self, death: Death | None = None) -> TeamsChannel:
        notes: Any = Noted(self.store.notes, death) if death else self.store.notes
        channel = connect(self.settings, notes, cloud=self.cloud, credentials=CountingCredentials())
        if death:
            death.on(channel.client, *_CALLS)
        return channel

    async def delivered(self, sent: Delivery, death: Death) -> PostedRef:
        """Bring something, by a process that dies on the way, then by another."""
        try:
            return await self.process(death).deliver(sent)
        except Killed:
            other = self.process()
            assert await other.find(sent) is None
            return await other.deliver(sent)


@pytest.fixture
def house(settings: Settings, cloud: Cloud, store: Store, teams: FakeTeams) -> ProcessScenario:
    changes = {
        "teams_escalation_channel": names.PEOPLE,
        "teams_service_url": f"{teams.url}/",
    }
    return ProcessScenario(settings.model_copy(update=changes), cloud, store)


@pytest.mark.parametrize(
    ("private", "outcome"),
    [
        (True, Outcome(ANSWER, TRACE)),
        (False, Outcome(ANSWER, TRACE)),
        (True, Outcome(LONG, TRACE)),
        (False, Outcome(LONG, TRACE)),
        (False, Outcome(ANSWER, TRACE, private=PRIVATE)),
        (False, Outcome(HANDED_OVER, TRACE)),
    ],
    ids=["chat", "channel", "long in a chat", "long in a channel", "more for one", "people"],
)
@pytest.mark.mended(id="teams-3")
async def test_whoever_dies_nothing_is_missing_and_nothing_twice_unsaid(
    house: ProcessScenario, teams: FakeTeams, outcome: Outcome, *, private: bool
) -> None:
    whole = Death(0, "before")
    expected = await _brought(house, teams, outcome, whole, private=private)
    assert set(expected.values()) == {1}
    assert whole.steps >= 3
    for step in range(1, whole.steps + 1):
        for when in WHENS:
            death = Death(step, when)
            seen = await _brought(house, teams, outcome, death, private=private)
            # Once the chat with somebody is known it isn't opened any more, nor noted.
            assert death.steps >= min(step, whole.steps - 2)
            assert set(seen) == set(expected), death
            assert seen.total() - expected.total() in {0, 1}, death
            said = sum(MAY_BE_TWICE in post.text for post in teams.visible.values())
            assert _first_in(seen, teams, private=private) - said in {0, 1}, death
            assert said <= (not private), death


async def _brought(
    house: ProcessScenario, teams: FakeTeams, outcome: Outcome, death: Death, *, private: bool
) -> Counter[tuple[str, str]]:
    """Bring an outcome to a question of its own; return how often each message is there then."""
    teams.visible.clear()
    teams.streams.clear()
    asked = replace(
        question(teams, private=private), id=f"1700{death.at:04d}{WHENS.index(death.when)}"
    )
    await record_answer(house.store, asked, outcome)
    opened = await house.process().open_placeholder(asked) if private else None
    await house.delivered(
        with_placeholder(opened, delivery(asked, outcome.response, outcome.private)), death
    )
    return Counter((post.place, post.shown[:_BEGINNING]) for post in teams.visible.values())


def _first_in(seen: Counter[tuple[str, str]], teams: FakeTeams, *, private: bool) -> int:
    """Return how often the first message of what was asked for is there."""
    where = question(teams, private=private).thread.channel
    firsts = [post.shown[:_BEGINNING] for post in teams.visible.values() if post.place == where]
    return seen[where, firsts[0]]


BAD = Fault(400, code="BadArgument")
LOST_RESPONSE = Fault(0, after=True)
TABLE = replace(
    ANSWER, parts=(paragraph("See", (1,)), Table(("Code", "Cure"), (("809", "Call IT"),)))
)
LONG_CITED = replace(ANSWER, text="Restart the client [1]. " + "word " * 1_600)
ENDLESS = 6
"""Refusals after which nothing of an answer was taken, nor the line that stands for it."""


@pytest.fixture
async def bot(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> AsyncIterator[Bot]:
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store) as bot:
        yield bot


def is_plain(sent: Sent) -> bool:
    """Tell whether a message is nothing but words, which may end a stream."""
    kinds = {entity["type"] for entity in sent.activity.get("entities", ())}
    return kinds <= {"streaminfo"} and not sent.activity.keys() & {"channelData", "attachments"}


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize("private", [False, True], ids=["channel", "chat"])
@pytest.mark.parametrize("fault", [BAD, Fault(413, code="MessageSizeTooBig")], ids=["400", "413"])
async def test_a_refused_answer_comes_as_words_and_links(
    teams: FakeTeams, channel: TeamsChannel, fault: Fault, *, private: bool
) -> None:
    message = question(teams, private=private)
    opened = await channel.open_placeholder(message)
    # The card is tried with the words first, then apart.
    teams.fail(fault, fault)
    with capture_logs() as logs:
        await channel.deliver(with_placeholder(opened, delivery(message, LONG_CITED)))
    sent = next(iter(teams.visible.values()))
    assert is_plain(sent)
    assert sent.text.startswith("Restart the client [1].")
    assert ANSWER.sources[0].url in sent.text
    assert (len(sent.text) < len(LONG_CITED.text)) is (fault.status == 413)
    *_, line = [each for each in logs if each["event"] == "teams.not_taken"]
    assert "citation" in line["shape"]
    assert "Restart" not in str(line)
    assert not [each for each in teams.streams.values() if each.state == "open"]


@pytest.mark.mended(id="teams-2")
async def test_a_table_that_is_refused_comes_as_lines(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(BAD, None, BAD)
    await channel.deliver(delivery(question(teams), TABLE))
    (_, table) = teams.messages
    assert is_plain(table)
    assert "809 \u00b7 Call IT" in table.text


async def _failed(bot: Bot, where: str, *, faults: int) -> Interaction:
    bot.teams.fail(*[BAD] * faults)
    bot.said.outcome = Outcome(ANSWER, TRACE)
    written = await bot.person().say(where, "vpn down?")
    return await wait_for_interaction(
        bot.store,
        interaction_id_of(written.place, written.id),
        lambda each: each.status == "failed",
    )


@pytest.mark.mended(id="teams-2")
async def test_an_answer_that_is_never_taken_goes_to_people(bot: Bot) -> None:
    with capture_logs() as logs:
        failed = await _failed(bot, HELP, faults=3)
    (line,) = bot.teams.messages
    assert ON_HELP_DESK_LIST in line.text
    case = await bot.store.escalations.get("acme", failed.id)
    assert case is not None
    assert (case.status.state, case.reason) == ("open", "undelivered")
    (due,) = await bot.store.notices.due("me", case.opened_at, 5)
    assert (due.to, due.step) == ("people", "open")
    assert "400" in failed.failure
    assert [each["log_level"] for each in logs if each["event"] == "delivery.given_up"] == ["error"]


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize(("faults", "left"), [(4, 1), (ENDLESS, 0)], ids=["a line", "nothing"])
async def test_no_stream_says_for_ever_that_it_looks_something_up(
    bot: Bot, faults: int, left: int
) -> None:
    failed = await _failed(bot, bot.person().chat, faults=faults)
    assert [stream.state for stream in bot.teams.streams.values()] == ["completed"]
    assert len(bot.teams.messages) == left
    assert all("human" in each.text for each in bot.teams.messages)
    # In private nobody is asked before the asker agrees.
    assert await bot.store.escalations.get("acme", failed.id) is None
    assert failed.message.author.id == ALICE


@pytest.mark.mended(id="teams-2")
@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize(
    "fault", [BAD, Fault(403), LOST_RESPONSE, Fault(502, after=True)], ids=repr
)
async def test_what_becomes_of_the_buttons_leaves_the_answer_delivered_once(
    bot: Bot, fault: Fault
) -> None:
    # The card is refused as a whole, so that its buttons come below the words.
    bot.teams.fail(BAD, None, fault)
    answered = await bot.answered(Outcome(ANSWER, TRACE))
    assert (answered.status, answered.attempts) == ("done", 0)
    assert len(bot.teams.visible) == 1 + fault.after


@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize(
    ("fault", "elsewhere", "twice"),
    [
        (LOST_RESPONSE, False, True),
        (LOST_RESPONSE, True, True),
        (Fault(429, retry_after="30"), False, False),
    ],
    ids=["lost", "lost by another process", "refused for the rate"],
)
async def test_an_answer_that_may_be_there_twice_says_so(
    teams: FakeTeams,
    channel: TeamsChannel,
    restart: Restart,
    waits: list[float],
    fault: Fault,
    *,
    elsewhere: bool,
    twice: bool,
) -> None:
    sent = delivery(question(teams))
    teams.fail(fault)
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    waits.append(60.0)
    channel = restart() if elsewhere else channel
    assert await channel.find(sent) is None
    await channel.deliver(sent)
    first, *again = [post for post in teams.visible.values() if post.text]
    assert "twice" not in first.text
    assert ["twice" in post.text for post in again] == [True] * twice
