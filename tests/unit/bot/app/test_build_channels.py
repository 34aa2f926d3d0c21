"""Policies of channels, attached files and people's replies, in the application with Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.domain.handoff import asks_topic
from bot.domain.interactions import Clarification, Interaction
from bot.domain.messages import NO_MODEL, InteractionId, Policy
from bot.domain.settings import Settings
from bot.platforms.slack.payloads.actions import ASK_SHORTCUT
from bot.store.database import Store, open_store, sqlite_url
from tests.fakes.escalations import ANNA
from tests.fakes.http_server import (
    BEARER,
    LOW,
    Client,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)
from tests.fakes.http_server import TOKEN as ADMIN
from tests.fakes.ingestion import pdf
from tests.fakes.slack import events, names
from tests.fakes.slack.names import BOT_USER, TEAM, TOKEN
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import StoredFile
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

HELP = "C0HELP000"
PEOPLE = "C0PEOPLE0"
GUEST = "U0GUEST00"
BOB = "U0BOB0000"
LOG = StoredFile("vpn.log", b"start\nTunnelError: error 809, UDP port 4500 is blocked\nend\n")
WISHED = "a human please, my screen is broken"
PICTURE = StoredFile("screen.png", b"\x89PNG", "image/png")


@dataclass
class Company:
    """The bot at work in a workspace."""

    client: Client
    slack: FakeSlack
    store: Store

    def visitor(self, user_id: str = events.ALICE) -> Visitor:
        return Visitor(self.slack, self.client, user_id)

    async def allow(self, policy: Policy, channel: str = HELP) -> None:
        await self.store.policies.set("default", f"slack:{channel}", policy, actor="cli:test")

    async def becomes(self, number: int) -> list[Interaction]:
        """Wait until so many questions have an outcome; return them in order."""
        async with asyncio.timeout(60):
            while len(kept := await self.store.interactions.answered("default", 10)) < number:  # noqa: ASYNC110 - as until
                await asyncio.sleep(0.01)
        return list(kept)

    async def said(self, thread: str, number: int = 1, channel: str = HELP) -> str:
        """Wait for posts of the bot in a thread; return the last one as it is read."""
        await wait_until(lambda: len(self.slack.answers(channel, thread)) >= number)
        return self.slack.answers(channel, thread)[-1].shown


@asynccontextmanager
async def company(slack: FakeSlack, tmp_path: Path, **changes: object) -> AsyncIterator[Company]:
    settings: Settings = settings_for(
        tmp_path / "data",
        slack_bot_token=TOKEN,
        slack_signing_secret=events.SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        confidence_threshold=LOW,
        **changes,
    )
    await write_index(settings, tmp_path / "pages")
    async with serving_application(settings) as client:
        store = await open_store(sqlite_url(settings.data_dir))
        try:
            yield Company(client, slack, store)
        finally:
            await store.close()


async def test_a_log_without_a_word_is_answered_and_a_picture_is_said_to_be_unread(
    slack: FakeSlack, tmp_path: Path
) -> None:
    async with company(slack, tmp_path) as acme:
        thread = await acme.visitor().say(HELP, "", files=(LOG, PICTURE), mention=True)
        said = await acme.said(thread)

    assert "Plug the cable into the blue socket" in said
    assert "I did not read `screen.png`: I read text, logs and PDF only." in said


async def test_a_pdf_is_read_by_a_reader_of_its_own(slack: FakeSlack, tmp_path: Path) -> None:
    report = StoredFile("report.pdf", pdf(("TunnelError: error 809",)), "application/pdf")
    async with company(slack, tmp_path) as acme:
        thread = await acme.visitor().say(HELP, "What is wrong?", files=(report,), mention=True)
        said = await acme.said(thread)

    assert "Plug the cable into the blue socket" in said
    assert "did not read" not in said


async def test_the_asker_is_named_to_people_and_recorded(slack: FakeSlack, tmp_path: Path) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.visitor().say(HELP, WISHED, mention=True)
        (kept,) = await acme.becomes(1)
        case = await acme.store.escalations.get("default", kept.id)

    known = slack.people[events.ALICE]
    assert kept.message.author.name in {known.name, known.real_name}
    assert kept.message.author.email == known.email
    assert case is not None
    assert case.asker_name == kept.message.author.name


async def test_a_channel_that_is_turned_off_says_so(slack: FakeSlack, tmp_path: Path) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.allow(Policy(answers="off"))
        thread = await acme.visitor().say(HELP, "vpn error 809", mention=True)

        assert (await acme.said(thread)).startswith("I'm turned off here.")


async def test_questions_to_nobody_are_answered_when_sure_and_else_left_alone(
    slack: FakeSlack, tmp_path: Path
) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.allow(Policy(answers="questions", model=NO_MODEL))
        alice = acme.visitor()
        await alice.say(HELP, "Lunch is ready.")
        unknown = await alice.say(HELP, "Who wrote Faust?")
        known = await alice.say(HELP, "What is vpn error 809?")

        assert "blue socket" in await acme.said(known)
        kept = await acme.becomes(2)

    assert {each.message.id: bool(each.outcome and each.outcome.silent) for each in kept} == {
        unknown: True,
        known: False,
    }
    assert slack.answers(HELP, unknown) == []


@pytest.mark.parametrize("how", ["edited", "shortcut"])
async def test_what_was_left_alone_is_answered_once_it_is_put_to_the_bot(
    slack: FakeSlack, tmp_path: Path, how: str
) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.allow(Policy(answers="questions", model=NO_MODEL))
        alice = acme.visitor()
        thread = await alice.say(HELP, "Who wrote Faust?")
        await acme.becomes(1)
        for _ in range(2):
            if how == "edited":
                await alice.edit(thread, f"<@{BOT_USER}> Who wrote Faust?")
            else:
                await acme.visitor(BOB).shortcut(thread, ASK_SHORTCUT)

        assert await acme.said(thread)
        kept = await acme.becomes(2)

    assert [each.message.id for each in kept] == [thread, f"{thread}:asked"]
    assert len(slack.answers(HELP, thread)) == 1


async def test_a_follow_up_needs_no_mention_if_so_set(slack: FakeSlack, tmp_path: Path) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.allow(Policy(follow_ups=True))
        alice = acme.visitor()
        thread = await alice.say(HELP, "vpn error 809", mention=True)
        await acme.said(thread)
        await alice.say(HELP, "How many days of annual leave do I have?", thread)

        assert "28 days" in await acme.said(thread, 2)


@pytest.mark.mended(id="slack-2")
async def test_a_guest_is_told_once_who_is_answered(slack: FakeSlack, tmp_path: Path) -> None:
    async with company(slack, tmp_path) as acme:
        guest = acme.visitor(GUEST)
        first = await guest.say(HELP, "vpn error 809", mention=True)
        assert "I only answer" in await acme.said(first)
        second = await guest.say(HELP, "vpn error 809", mention=True)
        kept = await acme.becomes(2)

    assert kept[-1].message.id == second
    assert kept[-1].outcome is not None
    assert kept[-1].outcome.silent
    assert slack.answers(HELP, second) == []


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(("spaces", "found"), [(("IT",), True), (("HR",), False)])
async def test_a_guest_is_answered_from_the_open_spaces_alone(
    slack: FakeSlack, tmp_path: Path, spaces: tuple[str, ...], *, found: bool
) -> None:
    async with company(slack, tmp_path, slack_outsider_spaces=spaces) as acme:
        thread = await acme.visitor(GUEST).say(HELP, "vpn error 809", mention=True)
        assert ("blue socket" in await acme.said(thread)) is found


async def test_people_are_asked_where_the_channel_says(slack: FakeSlack, tmp_path: Path) -> None:
    async with company(slack, tmp_path) as acme:
        await acme.allow(Policy(people=PEOPLE))
        thread = await acme.visitor().say(HELP, WISHED, mention=True)

        assert "I've asked the people who look after this" in await acme.said(thread)
        await wait_until(lambda: acme.slack.answers(PEOPLE))


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize("topic", ["My locker\nis stuck.", "human"])
@pytest.mark.parametrize("below", [True, False])
async def test_who_wants_a_person_is_asked_for_what_before_anybody_is_told(
    slack: FakeSlack, tmp_path: Path, topic: str, *, below: bool
) -> None:
    """The second wish without a topic gets through: nobody is stuck."""
    async with company(slack, tmp_path, slack_escalation_channel=PEOPLE) as acme:
        alice = acme.visitor()
        thread = await alice.say(alice.direct, "human")
        await wait_until(lambda: slack.answers(alice.direct, thread))
        told_before = slack.in_channel(PEOPLE)
        await alice.say(alice.direct, topic, thread if below else None)
        first, second = await acme.becomes(2)
        case = await acme.store.escalations.get("default", second.id)

    assert first.outcome is not None
    assert isinstance(first.outcome.response, Clarification)
    assert asks_topic(first.outcome.response.text)
    assert told_before == []
    assert case is not None
    assert (case.reason, case.question) == ("asked_for_human", topic)


ASKED = events.mention("a human please, my screen is broken")
THREAD = str(ASKED["ts"])


@pytest.fixture
def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret=events.SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_escalation_channel=PEOPLE,
        admin_token=ADMIN,
    )


Server = TestClient[web.Request, web.Application]


async def asked(client: Server, slack: FakeSlack) -> str:
    """Ask for a person; return the escalation's path in the API."""
    await events.send(client, events.envelope(ASKED))
    await wait_until(lambda: slack.in_thread(HELP, THREAD))
    listed = await (await client.get("/api/v1/escalations", headers=BEARER)).json()
    (escalation,) = listed["escalations"]
    return f"/api/v1/escalations/{escalation['interaction_id']}"


async def test_a_persons_reply_reaches_the_asker(slack: FakeSlack, settings: Settings) -> None:
    async with serving_application(settings) as client:
        path = await asked(client, slack)
        said = {"name": "Anna Lopez", "text": "The blue socket is in room 3."}
        response = await client.post(f"{path}/reply", json=said, headers=BEARER)
        assert response.status == 200, await response.text()
        await wait_until(lambda: len(slack.in_thread(HELP, THREAD)) > 1)

    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown for post in told] == [
        "*Anna Lopez* replied:\nThe blue socket is in room 3.\nThis helped, close it\nAsk again"
    ]


async def test_what_was_not_told_before_the_server_ended_is_told_once_by_the_next(
    slack: FakeSlack, settings: Settings
) -> None:
    async with serving_application(settings) as client:
        case_id = InteractionId((await asked(client, slack)).rpartition("/")[2])
    store = await open_store(sqlite_url(settings.data_dir))
    await store.escalations.act(settings.tenant, case_id, "reply", ANNA, "Room 3.")
    await store.close()

    for _ in range(2):
        async with serving_application(settings):
            await wait_until(lambda: len(slack.in_thread(HELP, THREAD)) > 1)

    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown for post in told] == [
        "*Anna Lopez* replied:\nRoom 3.\nThis helped, close it\nAsk again"
    ]


async def test_of_all_who_claim_at_once_on_slack_the_board_and_the_api_one_has_it(
    slack: FakeSlack, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may need longer for all of them than Slack waits for one.
    monkeypatch.setattr("bot.platforms.slack.actions.interactivity.ACCEPT_SECONDS", 600.0)
    crowd = [f"U0CROWD{number:03d}" for number in range(8)]
    for number, user in enumerate(crowd):
        email = f"p{number}@acme.example"
        slack.people[user] = Member(user, user.lower(), f"Person {number}", email)
    async with serving_application(settings) as client:
        path = await asked(client, slack)
        board = path.replace("/api/v1", "/board")
        (card,) = slack.in_channel(PEOPLE)
        pressed = [Visitor(slack, client, user).click(card, "Claim") for user in crowd * 5]
        by_api = [client.post(f"{path}/claim", json={}, headers=BEARER) for _ in range(10)]
        by_board = [
            client.post(board, data={"act": "claim"}, headers=BEARER, allow_redirects=False)
            for _ in range(10)
        ]
        _, answers = await asyncio.gather(
            asyncio.gather(*pressed), asyncio.gather(*by_api, *by_board)
        )
        case = await (await client.get(path, headers=BEARER)).json()
        owner, name = case["owner_id"], case["owner_name"]
        losers = [user for user in crowd if f"{slack.people[user].email}" != owner]
        await wait_until(lambda: len([p for p in slack.posts if p.only_for]) >= 5 * len(losers))
        await wait_until(lambda: f"*Claimed by {name}*" in card.shown)

    whispers = {user: [p.shown for p in slack.whispered(user)] for user in losers}
    said = f"It is assigned to {name}. Leave it to them or ask them to release it."
    assert {tuple(each) for each in whispers.values()} == {(said,) * 5}
    refused = {answer.status for answer in answers}
    assert refused <= ({200, 303} if owner == "admin" else {409})
    assert [step["step"] for step in case["history"]] == ["open", "claim"]
    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown.splitlines()[0] for post in told] == [
        f"*{name}* is working on your question."
    ]


async def test_what_is_done_on_the_board_is_seen_on_the_card_and_the_other_way_round(
    slack: FakeSlack, settings: Settings
) -> None:
    async with serving_application(settings) as client:
        path = await asked(client, slack)
        (card,) = slack.in_channel(PEOPLE)
        assert "Open thread" in card.shown
        anna = Visitor(slack, client, names.ANNA)
        await anna.click(card, "Claim")
        case = await (await client.get(path, headers=BEARER)).json()
        assert (case["state"], case["owner_id"]) == ("claimed", "anna@acme.example")
        await wait_until(lambda: "*Claimed by Anna Lopez*" in card.shown)
        await anna.click(card, "Release")
        await wait_until(lambda: "*Waiting*" in card.shown)
        said = {"name": "Ben Okafor", "text": "Room 3."}
        await client.post(f"{path}/reply", json=said, headers=BEARER)
        await wait_until(lambda: "*Answered by Ben Okafor*" in card.shown)
        await wait_until(lambda: "replied:" in slack.in_thread(HELP, THREAD)[-1].shown)
        alice = Visitor(slack, client, names.ALICE)
        await alice.click(slack.in_thread(HELP, THREAD)[-1], "This helped, close it")
        await wait_until(lambda: "*Closed by the asker*" in card.shown)
        await wait_until(lambda: "You closed it." in slack.in_thread(HELP, THREAD)[-1].shown)
