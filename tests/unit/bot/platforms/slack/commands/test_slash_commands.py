"""Test slash commands: how they are read, who may give them, and what each answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.commands.types import (
    AllSpaces,
    AskRequest,
    CommandRequest,
    HelpRequest,
    InvalidCommand,
    PageByUrl,
    ReindexCancelRequest,
    ReindexRequest,
    ReindexStatusRequest,
    SettingsRequest,
    SpaceByName,
    StatusRequest,
    WhyRequest,
)
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Outcome
from bot.domain.messages import FoundPassage
from bot.domain.settings import Settings
from bot.platforms.slack.slash_commands import parse_slash_command
from rag.types import Principal
from tests.fakes.builders import NOON
from tests.fakes.desk import ANSWER, OFFERED, PAGE, TRACE, VPN, KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    ADMINS,
    ALICE,
    BOB,
    DIRECT,
    ELSEWHERE,
    GUEST,
    HELP,
    PEOPLE,
    SHARED,
    STRANGER,
)
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

FORM: dict[str, Any] = {
    "command": "/frontdesk",
    "text": "ask vpn?",
    "user_id": "U0ALICE00",
    "channel_id": "C0HELP000",
    "trigger_id": "13345224609.738474920.8088930838d8",
    "response_url": "https://hooks.slack.com/commands/1/2",
}


def order(name: str, text: str) -> CommandRequest | InvalidCommand:
    command = parse_slash_command({**FORM, "command": name, "text": text})
    assert command is not None
    return command.request()


@pytest.mark.parametrize(
    ("name", "text", "ordered"),
    [
        ("/frontdesk", "", HelpRequest()),
        ("/frontdesk", "help", HelpRequest()),
        ("/frontdesk", "status", StatusRequest()),
        ("/frontdesk", "why", WhyRequest()),
        ("/frontdesk", "settings", SettingsRequest()),
        ("/frontdesk", "how do I book leave?", AskRequest("how do I book leave?")),
        ("/frontdesk", "ask may &lt;b&gt; &amp;amp; be used", AskRequest("may <b> &amp; be used")),
        ("/frontdesk", "ask <@U1|bob> or <#C1|it>?", AskRequest("@bob or #it?")),
        ("/frontdesk", "reindex HR", ReindexRequest(SpaceByName("HR"))),
        ("/reindex", "R&amp;D", ReindexRequest(SpaceByName("R&D"))),
        ("/reindex", "all \u2014dry-run", ReindexRequest(AllSpaces(), dry_run=True)),
        (
            "/reindex",
            "<https://wiki.example/a?x=1&amp;y=2|page>",
            ReindexRequest(PageByUrl("https://wiki.example/a?x=1&y=2")),
        ),
        ("/reindex", "status", ReindexStatusRequest()),
        ("/reindex", "cancel HR", ReindexCancelRequest("HR")),
        ("/reindex", "help", HelpRequest()),
    ],
)
def test_what_is_typed_is_what_is_ordered(name: str, text: str, ordered: CommandRequest) -> None:
    assert order(name, text) == ordered


def test_what_can_not_be_read_is_told_with_what_can_be_said() -> None:
    read = order("/reindex", "")
    assert isinstance(read, InvalidCommand)
    assert "/reindex SPACE" in read.text


@pytest.mark.parametrize("left_out", ["user_id", "channel_id", "trigger_id", "response_url"])
def test_a_command_of_nobody_or_nowhere_is_none(left_out: str) -> None:
    assert parse_slash_command({**FORM, left_out: ""}) is None
    assert (
        parse_slash_command({key: value for key, value in FORM.items() if key != left_out}) is None
    )


def test_a_question_is_a_private_message_in_a_thread_of_its_own() -> None:
    command = parse_slash_command(FORM)
    assert command is not None

    message = command.question("vpn?", "acme", NOON, "{}")

    assert message.private
    assert message.thread.channel == "C0HELP000"
    assert message.id == message.thread.id == "command:13345224609.738474920.8088930838d8"
    assert message.reply_to == "{}"


READ = replace(
    TRACE,
    passages=(FoundPassage(VPN.chunk_id, VPN.page_id, VPN.title, VPN.section, {"keyword": 5.0}),),
    threshold=0.65,
)
HERS = (frozenset({Principal("user:alice@acme.example")}),)
EVIL = "<!channel> <@U0CEO0000> <https://evil.example|x> https://evil.example"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"slack_admins": (ADMINS,)})


def seen(slack: FakeSlack, user: str = ALICE) -> str:
    """Return what only one person sees, the newest last."""
    return "\n".join(post.shown for post in slack.whispered(user))


async def test_a_question_is_looked_for_at_once_and_answered_to_its_asker_alone(bot: Bot) -> None:
    answer = await bot.person().command(HELP, "/frontdesk", "ask vpn down?")

    post = await bot.told("Restart the client")
    assert answer.status == 200
    assert "Searching" in seen(bot.slack)
    assert bot.said.asked[0].text == "vpn down?"
    assert bot.said.asked[0].author.email == "alice@acme.example"
    assert bot.slack.answers(HELP) == []
    assert "Why this answer" in post.labels


@pytest.mark.parametrize("place", [DIRECT, ELSEWHERE, SHARED])
async def test_a_question_is_answered_in_whatever_conversation(bot: Bot, place: str) -> None:
    await bot.person().command(place, "/frontdesk", "vpn down?")

    assert (await bot.told("Restart the client")).channel == place
    assert bot.slack.answers(place) == []


async def test_the_same_question_twice_is_answered_twice(bot: Bot) -> None:
    for _ in range(2):
        await bot.person().command(HELP, "/frontdesk", "ask vpn down?")
    await wait_until(lambda: seen(bot.slack).count("Restart the client") == 2)


async def test_a_thumb_below_the_answer_is_a_vote(bot: Bot) -> None:
    await bot.person().command(HELP, "/frontdesk", "ask vpn down?")
    post = await bot.told("Restart the client")

    await bot.person().click(post, "Helpful")

    votes = await bot.votes(bot.said.asked[0].interaction_id)
    assert votes == {ALICE: "up"}


async def test_a_person_asked_from_there_answers_directly_and_the_channel_sees_nothing(
    bot: Bot,
) -> None:
    bot.said.outcome = Outcome(OFFERED, TRACE)
    await bot.person().command(HELP, "/frontdesk", "ask vpn down?")
    post = await bot.told("Yes, ask a person")

    assert post.labels[0] == "Yes, ask a person"
    assert bot.slack.answers(HELP) == []


@pytest.mark.parametrize("text", ["ask vpn?", "help", "status", "why", "settings", "reindex all"])
async def test_outsiders_give_no_commands(bot: Bot, text: str) -> None:
    await bot.person(GUEST).command(HELP, "/frontdesk", text)

    assert "Only colleagues" in seen(bot.slack, GUEST)
    assert bot.said.asked == []
    assert bot.slack.open_views == []


async def test_what_comes_from_another_workspace_is_refused(bot: Bot) -> None:
    answer = await bot.person(STRANGER).command(SHARED, "/frontdesk", "ask vpn?")

    assert answer.status == 403
    assert bot.said.asked == []


async def test_while_slack_does_not_tell_who_somebody_is_they_are_asked_to_try_again(
    bot: Bot,
) -> None:
    bot.slack.fail("users.info", Fault(status=500))
    answer = await bot.person().command(HELP, "/frontdesk", "ask vpn?")

    assert answer.status == 200
    assert "try again in a minute" in seen(bot.slack)
    assert bot.said.asked == []


@pytest.mark.parametrize("error", [StoreUnavailable("password=hunter2"), RuntimeError("hunter2")])
async def test_what_could_not_be_kept_is_told_without_its_reason(
    alice: Visitor, slack: FakeSlack, inbox: KeepingInbox, error: Exception
) -> None:
    inbox.error = error
    answer = await alice.command(HELP, "/frontdesk", "ask vpn?")

    assert answer.status == 200
    assert "try again in a minute" in seen(slack)
    assert "hunter2" not in seen(slack)


async def test_what_takes_long_is_acknowledged_and_answered_later(
    alice: Visitor, slack: FakeSlack, inbox: KeepingInbox
) -> None:
    inbox.delay = 2.0
    answer = await alice.command(HELP, "/frontdesk", "ask vpn?")

    assert (answer.status, inbox.accepted) == (200, 0)
    assert "One moment" in seen(slack)
    await wait_until(lambda: "Searching" in seen(slack))
    assert inbox.only.text == "vpn?"


async def test_help_tells_admins_more(bot: Bot) -> None:
    await bot.person(ALICE).command(HELP, "/frontdesk")
    await bot.person(BOB).command(HELP, "/frontdesk", "help")

    assert "/reindex SPACE" in seen(bot.slack, ALICE)
    assert "/frontdesk ask QUESTION" in seen(bot.slack, BOB)
    assert "/reindex" not in seen(bot.slack, BOB)


async def test_status_is_short_and_for_who_asks(bot: Bot) -> None:
    await bot.person(ALICE).command(HELP, "/frontdesk", "status")
    await bot.person(BOB).command(HELP, "/frontdesk", "status")

    assert "Components:" in seen(bot.slack, ALICE)
    assert "I'm ready." in seen(bot.slack, BOB)
    assert "Components:" not in seen(bot.slack, BOB)


async def test_a_slip_is_told_with_what_can_be_said_and_nothing_in_it_is_live(bot: Bot) -> None:
    await bot.person().command(HELP, "/reindex", f'"{EVIL}" --faster')
    (post,) = bot.whispered()

    assert "I don't know" in post.shown
    for live in ("<!channel", "<@U0", "<https"):
        assert live not in post.raw
    assert all(block["text"]["verbatim"] for block in post.blocks)


async def test_why_explains_the_newest_question_of_its_asker_in_this_channel(bot: Bot) -> None:
    await bot.answered(Outcome(ANSWER, READ))
    await bot.answered(Outcome(ANSWER, READ), user=BOB)

    await bot.person().command(HELP, "/frontdesk", "why")

    view = await bot.modal()
    assert view.user == ALICE
    assert "> vpn down?" in view.shown
    assert "VPN guide" in view.shown


async def test_why_names_in_a_channel_what_everyone_may_read_and_more_of_what_was_asked_by_command(
    bot: Bot,
) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    await bot.answered(Outcome(ANSWER, READ))
    await bot.person().command(HELP, "/frontdesk", "why")
    in_public = await bot.modal()
    bot.slack.open_views.clear()
    await bot.person().command(HELP, "/frontdesk", "ask vpn down?")
    await bot.told("Restart the client")
    await bot.person().command(HELP, "/frontdesk", "why")

    assert "VPN guide" not in in_public.shown
    assert "VPN guide" in (await bot.modal()).shown


async def test_why_says_when_nothing_was_asked_here(bot: Bot) -> None:
    await bot.answered(channel=HELP)
    await bot.person().command(PEOPLE, "/frontdesk", "why")

    assert "nothing to explain yet" in (await bot.modal()).shown


async def test_commands_come_over_the_socket_as_well(ann: Visitor, slack: FakeSlack) -> None:
    await ann.command(HELP, "/frontdesk", "help")

    assert "/frontdesk ask QUESTION" in seen(slack)


async def test_a_command_that_names_nobody_is_answered_kindly(bot: Bot) -> None:
    form = {"command": "/frontdesk", "text": "help", "team_id": "T0TEAM000"}
    answer = await bot.person().door.command(form)

    assert answer.status == 200
    assert "couldn't read" in answer.text
