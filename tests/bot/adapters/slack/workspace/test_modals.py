"""Clicks, modals, commands and the addresses to answer at."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.answers import Json
from tests.bot.adapters.slack.workspace.asking import posted, refused
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import HELP
from tests.bot.adapters.slack.workspace.plain_bot import PlainBot
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.samples import FEEDBACK, MENU, ROW, TEXT, asks, plain
from tests.bot.adapters.slack.workspace.views import View

WHY = {**TEXT, "action_id": "why", "max_length": 20}
FORM: Json = {
    "type": "modal",
    "callback_id": "form",
    "title": plain("Tell us"),
    "submit": plain("Send"),
    "private_metadata": "m",
    "blocks": [
        asks(WHY, block_id="reason", label=plain("Why?")),
        asks(MENU, block_id="kind", label=plain("Kind"), optional=True),
        {**ROW, "block_id": "row"},
    ],
}


async def opened(api: AsyncWebClient, slack: FakeSlack, alice: Visitor, bot: PlainBot) -> View:
    await alice.click(await posted(api, slack, ROW), "Ask a person")
    await api.views_open(trigger_id=bot.last["trigger_id"], view=FORM)
    return slack.open_views[-1]


async def respond(address: str, **payload: object) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(address, json=payload) as answer:
        return answer.status, await answer.text()


async def test_a_click_tells_what_was_clicked_and_where(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    post = await posted(api, slack, ROW, {"type": "context_actions", "elements": [FEEDBACK]})
    answer = await alice.click(post, "ask")
    assert (answer.status, answer.seconds < 3) == (200, True)
    assert bot.last["actions"][0]["value"] == "q1"
    assert bot.last["container"]["is_ephemeral"] is False
    assert bot.last["message"]["ts"] == post.ts
    await alice.click(post, "Bad")
    (action,) = bot.last["actions"]
    assert (action["type"], action["action_id"], action["value"]) == (
        "feedback_buttons",
        "vote",
        "down",
    )
    with pytest.raises(AssertionError, match="2 of 'vote'"):
        await alice.click(post, "vote")
    with pytest.raises(AssertionError, match="0 of 'Claim'"):
        await alice.click(post, "Claim")


async def test_a_whisper_is_clicked_by_its_reader_and_sent_without_its_content(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot, client: Client
) -> None:
    await api.chat_postEphemeral(channel=HELP, user=alice.id, text="x", blocks=[ROW])
    await alice.click(slack.posts[-1], "ask")
    assert bot.last["container"]["is_ephemeral"]
    assert "message" not in bot.last
    with pytest.raises(AssertionError, match="does not see"):
        await Visitor(slack, client, names.BOB).click(slack.posts[-1], "ask")


async def test_a_choice_is_told_and_remembered(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    row = {"type": "actions", "block_id": "b", "elements": [MENU, *ROW["elements"]]}
    post = await posted(api, slack, row)
    await alice.click(post, "pick", "Choice 1")
    assert bot.last["actions"][0]["selected_option"]["value"] == "c1"
    await alice.click(post, "ask")
    assert bot.last["state"]["values"]["b"]["pick"]["selected_option"]["value"] == "c1"
    with pytest.raises(AssertionError, match="not offered"):
        await alice.click(post, "pick", "c9")


async def test_a_trigger_is_good_once_and_for_three_seconds(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    clock = [0.0]
    slack.now = lambda: clock[0]
    view = await opened(api, slack, alice, bot)
    assert "Why?" in view.shown
    spent = bot.last["trigger_id"]
    await refused(api.views_open(trigger_id=spent, view=FORM), "exchanged_trigger_id")
    await refused(api.views_open(trigger_id="1.x", view=FORM), "invalid_trigger_id")
    await alice.click(slack.posts[-1], "ask")
    clock[0] += 3.1
    late = bot.last["trigger_id"]
    await refused(api.views_open(trigger_id=late, view=FORM), "expired_trigger_id")
    assert slack.open_views == [view]


@pytest.mark.parametrize(
    "change",
    [
        {"title": plain("x" * 25)},
        {"submit": plain("x" * 25)},
        {"private_metadata": "x" * 3001},
        {"callback_id": "x" * 256},
        {"type": "panel"},
        {"blocks": [{"type": "markdown", "text": "x"}]},
        {"surprise": 1},
    ],
    ids=str,
)
async def test_a_view_that_slack_would_not_show_is_refused(
    slack: FakeSlack, api: AsyncWebClient, change: dict[str, Any]
) -> None:
    trigger = slack.tickets.trigger(names.ALICE)
    call = api.api_call("views.open", json={"trigger_id": trigger, "view": {**FORM, **change}})
    await refused(call, "invalid_arguments")
    unsent = {key: value for key, value in FORM.items() if key != "submit"}
    await refused(api.views_open(trigger_id=trigger, view=unsent), "invalid_arguments")


async def test_a_submission_carries_what_was_filled_in_and_closes(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    with pytest.raises(AssertionError, match=r"fill in \['Why\?'\]"):
        await alice.submit(view)
    with pytest.raises(AssertionError, match="21 characters"):
        await alice.submit(view, {"why": "x" * 21})
    assert await alice.submit(view, {"Why?": "old page", "kind": "c0"}) == {}
    sent = bot.last["view"]
    assert (sent["callback_id"], sent["private_metadata"]) == ("form", "m")
    assert sent["state"]["values"]["reason"]["why"]["value"] == "old page"
    assert sent["state"]["values"]["kind"]["pick"]["selected_option"]["value"] == "c0"
    assert slack.open_views == []


async def test_the_bots_answer_to_a_submission_is_done(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    given = {"why": "x"}
    bot.body = {"response_action": "errors", "errors": {"reason": "Too short"}}
    assert (await alice.submit(view, given))["response_action"] == "errors"
    assert (slack.open_views, view.errors) == ([view], {"reason": "Too short"})
    bot.body = {"response_action": "errors", "errors": {"row": "x"}}
    with pytest.raises(AssertionError, match="can be wrong"):
        await alice.submit(view, given)
    bot.body = {"response_action": "update", "view": {**FORM, "title": plain("Thanks")}}
    await alice.submit(view, given)
    assert view.shown.startswith("Thanks")
    bot.body = {"response_action": "push", "view": FORM}
    await alice.submit(view, given)
    assert [one.below for one in slack.open_views] == [None, view]
    bot.body = {"response_action": "clear"}
    await alice.submit(slack.open_views[-1], given)
    assert slack.open_views == []


async def test_a_refused_submission_leaves_the_modal_open(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    bot.status = 500
    assert await alice.submit(view, {"why": "x"}) == {}
    assert (slack.open_views, alice.answers[-1].status) == ([view], 500)


async def test_a_view_is_changed_only_by_who_saw_its_last_version(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    view = await opened(api, slack, alice, bot)
    seen = view.hash
    await alice.click(view, "Ask a person")
    assert bot.last["container"] == {"type": "view", "view_id": view.id}
    await api.views_update(view_id=view.id, hash=seen, view={**FORM, "title": plain("New")})
    assert view.shown.startswith("New")
    stale = api.views_update(view_id=view.id, hash=seen, view=FORM)
    await refused(stale, "hash_conflict")
    await refused(api.views_update(view_id="V0", view=FORM), "not_found")
    await api.views_push(trigger_id=bot.last["trigger_id"], view=FORM)
    assert slack.open_views[-1].below is view
    await alice.close(slack.open_views[-1])
    assert slack.open_views == [view]


async def test_a_command_is_answered_at_once_and_later(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    bot.body = "Queued"
    answer = await alice.command(HELP, "/frontdesk", "ask vpn & wifi?")
    assert (answer.status, answer.text) == (200, "Queued")
    assert (bot.last["text"], bot.last["channel_name"]) == ("ask vpn & wifi?", "help")
    for number in range(5):
        assert await respond(bot.last["response_url"], text=f"part {number}") == (200, "ok")
    status, text = await respond(bot.last["response_url"], text="one too many")
    assert (status, "used_url" in text) == (404, True)
    assert [post.shown for post in slack.seen_by(alice.id, HELP)][:2] == ["Queued", "part 0"]
    assert {post.only_for for post in slack.posts} == {alice.id}


async def test_an_address_to_answer_at_runs_out_and_may_be_unknown(
    slack: FakeSlack, alice: Visitor, bot: PlainBot
) -> None:
    clock = [0.0]
    slack.now = lambda: clock[0]
    await alice.command(HELP, "/frontdesk")
    clock[0] = 30 * 60 + 1.0
    for address in (bot.last["response_url"], f"{slack.site}/response/R0"):
        status, text = await respond(address, text="late")
        assert (status, "expired_url" in text) == (404, True)


async def test_the_message_of_a_click_is_replaced_or_deleted(
    slack: FakeSlack, api: AsyncWebClient, alice: Visitor, bot: PlainBot
) -> None:
    await api.chat_postEphemeral(channel=HELP, user=alice.id, text="x", blocks=[ROW])
    post: Post = slack.posts[-1]
    await alice.click(post, "ask")
    address = bot.last["response_url"]
    slack.fail("response_url", Fault(status=500))
    assert (await respond(address, text="x"))[0] == 500
    assert (await respond(address, text="x", blocks=[{"type": "x"}]))[0] == 400
    await respond(address, replace_original=True, text="Thanks")
    assert (slack.posts, post.shown) == ([post], "Thanks")
    await respond(address, response_type="in_channel", text="for all")
    assert [p.shown for p in slack.answers(HELP)] == ["for all"]
    await respond(address, delete_original=True)
    assert post not in slack.posts
    assert slack.requests[-1].arguments == {"delete_original": True}


async def test_a_shortcut_tells_the_message(
    slack: FakeSlack, alice: Visitor, bot: PlainBot, api: AsyncWebClient
) -> None:
    ts = await alice.say(HELP, "how do I?")
    await alice.shortcut(ts, "ask_this")
    assert (bot.last["type"], bot.last["callback_id"]) == ("message_action", "ask_this")
    assert bot.last["message"]["text"] == "how do I?"
    await api.views_open(trigger_id=bot.last["trigger_id"], view=FORM)
    assert slack.open_views[-1].user == alice.id
