"""Test what people see in Teams, read from what goes over the wire."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Reply
from bot.domain.messages import Activity, Stage
from bot.domain.settings_loading import load_settings
from bot.platforms.teams import mount
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.payloads.activity import reference_to
from bot.platforms.teams.rendering.answers import typing_activity
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, VPN, delivery
from tests.fakes.teams.activities import CHANNEL, question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.server import FakeTeams


async def test_an_answer_goes_to_the_thread_that_it_was_asked_in(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    ref = await channel.deliver(delivery(question(teams)))
    (sent,) = teams.messages
    assert sent.conversation == f"{CHANNEL};messageid=1700000000000"
    assert sent.reply_to == sent.activity["replyToId"] == "1700000000001"
    assert (ref.channel, ref.id) == (CHANNEL, "reply-1")
    assert sent.authorization == "Bearer token-1"


async def test_citations_and_the_ai_label_arrive_over_the_wire(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    """Botbuilder drops every field of an entity but its type."""
    await channel.deliver(delivery(question(teams, private=True)))
    (entity,) = teams.messages[0].activity["entities"]
    assert entity["additionalType"] == ["AIGeneratedContent"]
    assert entity["@type"] == "Message"
    (citation,) = entity["citation"]
    assert citation == {
        "@type": "Claim",
        "position": 1,
        "appearance": {
            "@type": "DigitalDocument",
            "name": "VPN guide \u203a Reset",
            "abstract": "Restart the client.",
            "url": "https://wiki.example.com/vpn?a=1&b=2",
        },
    }


async def test_pages_that_the_text_does_not_mark_are_listed(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    await channel.deliver(
        delivery(question(teams, private=True), replace(ANSWER, sources=(VPN, LOCAL)))
    )
    (sent,) = teams.messages
    assert "**Sources**\n\n- \\[2\\] Offices" in sent.activity["text"]
    assert len(sent.activity["entities"][0]["citation"]) == 1


async def test_twelve_cited_pages_are_ten_citations_and_two_lines(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    sources = tuple(replace(VPN, chunk_id=f"c{n}", title=f"Page {n}") for n in range(1, 13))
    text = " ".join(f"Fact [{n}]." for n in range(1, 13))
    asked = question(teams, private=True)
    await channel.deliver(delivery(asked, replace(ANSWER, text=text, sources=sources)))
    (sent,) = teams.messages
    assert len(sent.activity["entities"][0]["citation"]) == 10
    assert "- \\[11\\] [Page 11" in sent.activity["text"]
    assert "- \\[12\\] [Page 12" in sent.activity["text"]


async def test_markup_that_teams_does_not_show_is_turned_into_what_it_does(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    text = "# Steps\n\n---\n\n![x](https://evil.example)"
    await channel.deliver(delivery(question(teams), Reply(text=text, tone="generic")))
    shown = teams.messages[0].activity["text"]
    assert shown.split("\n") == ["**Steps**", "", "x"]


async def test_mentions_links_and_tags_in_the_text_are_dead(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    text = "<at>Everyone</at> [click](https://evil.example) <img src=https://evil.example/?d=1>"
    title = replace(VPN, title="](https://evil.example) <at>x</at>", section="")
    reply = replace(ANSWER, text=text, sources=(title,))
    await channel.deliver(delivery(question(teams, private=True), reply))
    activity = teams.messages[0].activity
    assert "<" not in activity["text"]
    assert "](https://evil" not in activity["text"]
    assert [entity["type"] for entity in activity["entities"]] == ["https://schema.org/Message"]


async def test_a_long_answer_is_split_within_the_budget_in_order(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    sources = tuple(
        replace(VPN, chunk_id=f"c{n}", url=f"https://wiki.example/{'p' * 900}{n}", quote="q" * 500)
        for n in range(1, 11)
    )
    text = "\n\n".join(f"Step {n} [{n % 10 + 1}]: " + "\u4e16\U0001f600 " * 240 for n in range(80))
    ref = await channel.deliver(
        delivery(question(teams), replace(ANSWER, text=text, sources=sources))
    )
    assert len(teams.messages) > 1
    assert ref.id == teams.messages[0].id
    of = len(teams.messages)
    marks = [sent.activity["text"].split("\n")[0] for sent in teams.messages]
    assert marks == [f"_({n} of {of})_" for n in range(1, of + 1)]
    whole = "\n\n".join(sent.activity["text"] for sent in teams.messages)
    positions = [whole.index(f"Step {n} ") for n in range(80)]
    assert positions == sorted(positions)


async def test_an_escalation_says_so_and_offers_pages_unconfirmed(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    await channel.deliver(delivery(question(teams), HANDED_OVER))
    shown = teams.messages[0].shown
    assert "I've asked the people in" in shown
    assert "not confirmed" in shown
    assert "[VPN guide \u203a Reset](https://wiki.example.com/vpn?a=1&b=2)" in shown


async def test_twenty_sends_fetch_one_token(
    teams: FakeTeams, channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    message = question(teams, private=True)
    for _ in range(20):
        await channel.client.send(message.reply_to, typing_activity())
    assert credentials.fetched == 1
    assert [sent.activity["type"] for sent in teams.sent] == ["typing"] * 20


async def test_sends_run_side_by_side_once_the_server_runs(
    teams: FakeTeams, channel: TeamsChannel, context: ChatContext
) -> None:
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")):
        asked = question(teams).reply_to
        places = [reference_to(asked, f"{CHANNEL};messageid={number}") for number in range(7)]
        await asyncio.gather(*(channel.client.send(place, typing_activity()) for place in places))
    assert len(teams.sent) == 7


@pytest.mark.parametrize("stage", [Stage.DONE, Stage.FAILED])
async def test_the_end_needs_no_typing(
    teams: FakeTeams, channel: TeamsChannel, stage: Stage
) -> None:
    await channel.progress(question(teams), Activity(stage), None)
    assert not teams.calls


async def test_a_refused_typing_harms_nothing_and_is_not_tried_again(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.faults["typing"].append(Fault(status=403))
    for _ in range(3):
        message = question(teams, private=True)
        await channel.progress(message, Activity(Stage.SEARCHING), None)
    assert teams.calls == ["typing"]


async def test_teams_cannot_be_asked_what_was_posted(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    sent = delivery(question(teams))
    await channel.deliver(sent)
    assert await channel.find(sent) is None


def test_what_is_needed_to_answer_survives_as_json(teams: FakeTeams) -> None:
    reference = json.loads(question(teams).reply_to)
    assert reference["serviceUrl"] == teams.url
    assert reference["conversation"]["tenantId"]
    assert reference["user"]["aadObjectId"] == "alice-object-id"


@pytest.mark.parametrize(
    ("changes", "variable"),
    [
        ({}, "MICROSOFT_APP_ID"),
        ({"teams_dev_mode": True, "host": "10.0.0.5"}, "HOST"),
        ({"microsoft_app_id": "x", "microsoft_app_password": "y"}, "MICROSOFT_APP_TENANT_ID"),
        ({"microsoft_app_id": "x", "microsoft_app_tenant_id": "t"}, "MICROSOFT_APP_PASSWORD"),
    ],
)
def test_a_registration_that_is_incomplete_or_open_stops_the_start(
    changes: dict[str, object], variable: str
) -> None:
    with pytest.raises(SettingInvalid, match=variable):
        connect(load_settings(_env_file=None, **changes))
