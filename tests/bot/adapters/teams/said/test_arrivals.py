"""The bot comes into a chat or a team."""

from __future__ import annotations

import pytest

from bot.chat.commands.help_texts import CHAT_HELLO, HELLO, PERSONAL_HELLO
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.names import ALICE, CAROL, ELSEWHERE, GENERAL, GROUP, HELP
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.house import until


@pytest.mark.parametrize(
    ("where", "greeted", "words"),
    [
        ("", "a:alice-and-bot", PERSONAL_HELLO),
        (GROUP, GROUP, CHAT_HELLO),
        (HELP, GENERAL, HELLO),
    ],
    ids=["in person", "chat", "team"],
)
async def test_it_says_hello_where_it_is_added(
    teams: FakeTeams, alice: Visitor, where: str, greeted: str, words: str
) -> None:
    await alice.install(where)
    await until(lambda: teams.messages)

    (hello,) = teams.messages
    assert (hello.place, hello.reply_to) == (greeted, None)
    assert hello.activity["text"] == words
    assert {answer.status for answer in alice.answers} == {200}


async def test_it_says_hello_once(teams: FakeTeams, client: Client, alice: Visitor) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.install()
    await carol.uninstall()
    await carol.install()
    await alice.deliver(*carol.sent)
    await alice.install(ELSEWHERE)
    await until(lambda: teams.posts_in(ELSEWHERE))

    assert len(teams.messages) == 2


async def test_people_who_come_in_are_not_greeted(
    teams: FakeTeams, client: Client, alice: Visitor
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.joins(GROUP)
    await alice.uninstall(HELP)
    await alice.install()
    await until(lambda: teams.messages)

    assert {sent.place for sent in teams.messages} == {alice.chat}


async def test_a_new_version_of_the_app_says_nothing(teams: FakeTeams, alice: Visitor) -> None:
    said = await alice.say(HELP, "vpn?")
    told = {**said.activity, "type": "installationUpdate", "id": "f:1"}
    await alice.deliver({**told, "action": "remove-upgrade"})
    await alice.deliver({**told, "action": "add-upgrade"})
    await alice.install()
    await until(lambda: teams.messages)

    assert {sent.place for sent in teams.messages} == {alice.chat}


async def test_a_hello_that_teams_refuses_changes_nothing_else(
    teams: FakeTeams, alice: Visitor
) -> None:
    teams.fail(Fault(403, code="MessageWritesBlocked"))
    await alice.install()
    await until(lambda: "message" in teams.calls)
    await alice.install(HELP)
    await until(lambda: teams.messages)

    assert {answer.status for answer in alice.answers} == {200}
    assert alice.id == ALICE
