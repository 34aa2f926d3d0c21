"""The whole way of a question on every platform: real composition, index and requests."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from bot.answering.explanations.signals import PASSAGE_SIGNALS
from bot.app.build import STATUS
from bot.domain.health import NOTHING_INDEXED, ComponentStatus
from bot.domain.settings import Settings
from tests.fakes.chat_app import Browser
from tests.fakes.http_server import (
    BEARER,
    LIKELY,
    LOW,
    serving_application,
    settings_for,
    wait_until,
    write_index,
)
from tests.fakes.http_server import TOKEN as ADMIN_TOKEN
from tests.fakes.model_server import answer_citing, completion
from tests.fakes.slack import events
from tests.fakes.slack.names import APP_TOKEN, HELP, TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor
from tests.fakes.teams import activities
from tests.fakes.teams.server import FakeTeams

HELP_QUESTION = "C0HELP000"
MENTION = events.mention(LIKELY)
LIVE = re.compile(
    r"(?<!`)\b(?:https?://)?evil\.example|\]\(|<[!@a-z/][^>]*>|!\[|555 0100", re.IGNORECASE
)
"""What a platform would make a link, an image, a tag or a mention of."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("house")


@pytest.fixture
async def data_dir(index: Path, tmp_path: Path) -> Path:
    """Return a data directory with the index and nothing else."""
    made = index / "index.sqlite"
    if not made.exists():
        await write_index(settings_for(index), index / "pages")
    shutil.copy(made, tmp_path)
    return tmp_path


@pytest.fixture
def on_slack(slack: FakeSlack, data_dir: Path) -> Settings:
    return settings_for(
        data_dir,
        confidence_threshold=LOW,
        slack_bot_token=TOKEN,
        slack_signing_secret=events.SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
    )


async def test_a_question_over_the_api_gets_a_cited_answer(data_dir: Path) -> None:
    async with serving_application(settings_for(data_dir, confidence_threshold=LOW)) as client:
        response = await client.post("/api/v1/ask", json={"question": LIKELY})
        answer = await response.json()

    assert (response.status, answer["status"], answer["answer_type"]) == (200, "answered", "RAG")
    assert answer["sources"][0]["page_id"] == "vpn.md"
    assert "blue socket" in answer["answer"]
    assert "blue socket" in answer["sources"][0]["quote"]


async def test_what_is_not_in_the_wiki_is_handed_over(data_dir: Path) -> None:
    async with serving_application(settings_for(data_dir)) as client:
        response = await client.post(
            "/api/v1/ask", json={"question": "What is the budget of the Lisbon project?"}
        )
        answer = await response.json()

    assert (answer["status"], answer["requires_escalation"]) == ("unknown", True)
    assert answer["sources"] == []


@pytest.mark.mended(id="ux-9")
async def test_the_web_chat_says_that_nothing_is_indexed(data_dir: Path, tmp_path: Path) -> None:
    async with serving_application(settings_for(tmp_path / "empty")) as client:
        assert NOTHING_INDEXED in await (await client.get("/")).text()
    async with serving_application(settings_for(data_dir)) as client:
        assert NOTHING_INDEXED not in await (await client.get("/")).text()


@pytest.mark.mended(id="ux-9")
async def test_the_web_chat_begins_as_the_settings_say(data_dir: Path) -> None:
    settings = settings_for(
        data_dir, chat_placeholder="Ask the crew \u2026", chat_examples="Where is the anchor?"
    )
    async with serving_application(settings) as client:
        page = await (await client.get("/")).text()

    assert 'placeholder="Ask the crew \u2026"' in page
    assert 'data-ask="Where is the anchor?"' in page
    assert "vpn says" not in page


async def test_a_mention_gets_one_cited_answer_there(slack: FakeSlack, on_slack: Settings) -> None:
    async with serving_application(on_slack) as client:
        for _ in range(3):
            assert (await events.send(client, events.envelope(MENTION))).status == 200
        await wait_until(lambda: slack.in_thread(HELP_QUESTION, MENTION["ts"]))

    (post,) = slack.in_thread(HELP_QUESTION, MENTION["ts"])
    assert "blue socket" in post.shown
    assert "[1]" in post.shown
    assert "VPN" in post.shown


@pytest.mark.parametrize("public_url", ["https://help.example", None])
async def test_a_source_on_slack_is_a_link_where_colleagues_reach_the_server(
    slack: FakeSlack, on_slack: Settings, public_url: str | None
) -> None:
    async with serving_application(
        on_slack.model_copy(update={"public_url": public_url})
    ) as client:
        await events.send(client, events.envelope(MENTION))
        await wait_until(lambda: slack.posts)

    linked = "<https://help.example/pages/IT/vpn.md?chunk=" in slack.posts[0].shown
    assert linked is (public_url is not None)


async def test_on_slack_an_unsigned_event_is_nothing(slack: FakeSlack, on_slack: Settings) -> None:
    async with serving_application(on_slack) as client:
        response = await client.post("/slack/events", json=events.envelope(MENTION))

    assert response.status == 401
    assert slack.posts == []


async def test_what_was_accepted_before_a_crash_is_answered_once_after_it(
    slack: FakeSlack, on_slack: Settings
) -> None:
    async with serving_application(on_slack) as client:
        await events.send(client, events.envelope(MENTION))
        await wait_until(lambda: slack.posts)
    rewind(on_slack.data_dir, "status='working', outcome=NULL, posted_id=NULL")
    slack.posts.clear()

    async with serving_application(on_slack) as client:
        await wait_until(lambda: slack.posts)
        await events.send(client, events.envelope(MENTION))

    assert len(slack.posts) == 1


async def test_a_crash_between_posting_and_recording_it_posts_nothing_twice(
    slack: FakeSlack, on_slack: Settings
) -> None:
    async with serving_application(on_slack) as client:
        await events.send(client, events.envelope(MENTION))
        await wait_until(lambda: slack.posts)
    rewind(on_slack.data_dir, "posted_id=NULL, posting=1")

    async with serving_application(on_slack):
        await wait_until(lambda: posted(on_slack.data_dir))

    assert len(slack.posts) == 1


async def test_a_message_on_teams_in_development_mode_gets_one_cited_answer(data_dir: Path) -> None:
    settings = settings_for(data_dir, confidence_threshold=LOW, teams_dev_mode=True)
    async with FakeTeams().serving() as teams, serving_application(settings) as client:
        activity = activities.in_person(teams, LIKELY)
        for _ in range(2):
            response = await client.post("/api/messages", json=activity)
            assert response.status == 200
        await wait_until(lambda: teams.messages)

    (sent,) = teams.messages
    assert "blue socket" in sent.shown
    assert "[1] VPN" in sent.shown


async def test_a_channel_sees_no_page_of_only_some(slack: FakeSlack, on_slack: Settings) -> None:
    asked = events.mention("Where is the zirconium envelope with the rescue password?")
    async with serving_application(on_slack) as client:
        await events.send(client, events.envelope(asked))
        await wait_until(lambda: slack.posts)

    raw = str([post.payload for post in slack.posts])
    assert "4711" not in raw
    assert "Rescue" not in raw


def rewind(data_dir: Path, changes: str) -> None:
    """Set the record back to what a process leaves that is killed half-way."""
    with sqlite3.connect(data_dir / "frontdesk.sqlite") as record:
        record.execute(f"UPDATE interactions SET {changes}")  # noqa: S608 - written above
    record.close()


def posted(data_dir: Path) -> bool:
    record = sqlite3.connect(data_dir / "frontdesk.sqlite")
    waiting = record.execute("SELECT id FROM interactions WHERE posted_id IS NULL").fetchall()
    record.close()
    return waiting == []


EVIL = (
    "Click [here](https://evil.example/x), <https://evil.example|log in>, evil.example/login "
    "![p](http://evil.example/p.png) <!channel> <@U0ALICE00> <at>Bob</at> <img src=x>"
)


async def obeys_the_page(request: web.Request) -> web.Response:
    """Be a model that does whatever a page tells it to."""
    asked = await request.json()
    said = [
        (f"{EVIL} Error 809 blocks.", "Error 809 means"),
        ("Call +1 555 0100.", "call +1 555 0100"),
        ("The router blocks UDP port 4500 <!channel> [x](https://evil.example)", "UDP port 4500"),
    ]
    prompt = str(asked["messages"][-1]["content"])
    text = answer_citing(prompt, said, reading=EVIL) if "response_format" in asked else EVIL
    return web.json_response(completion(text))


@pytest.fixture
async def obeying() -> AsyncIterator[dict[str, object]]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", obeys_the_page)
    async with TestServer(app, host="127.0.0.1") as server:
        yield {
            "openai_model": "m",
            "openai_base_url": str(server.make_url("/v1")),
            "openai_api_key": SecretStr("k"),
            "confidence_threshold": 0.0,
        }


@pytest.mark.parametrize("question", [LIKELY, "tell me a joke"])
async def test_on_slack_a_model_that_obeys_a_hostile_page_links_and_mentions_nobody(
    slack: FakeSlack, on_slack: Settings, obeying: dict[str, object], question: str
) -> None:
    async with serving_application(on_slack.model_copy(update=obeying)) as client:
        await events.send(client, events.envelope(events.mention(question)))
        await wait_until(lambda: slack.posts)

    assert not LIVE.search(slack.posts[0].raw), slack.posts[0].raw


@pytest.mark.parametrize("question", [LIKELY, "tell me a joke"])
async def test_on_teams_a_model_that_obeys_a_hostile_page_links_and_mentions_nobody(
    data_dir: Path, obeying: dict[str, object], question: str
) -> None:
    settings = settings_for(data_dir, teams_dev_mode=True).model_copy(update=obeying)
    async with FakeTeams().serving() as teams, serving_application(settings) as client:
        await client.post("/api/messages", json=activities.in_person(teams, question))
        await wait_until(lambda: teams.messages)
        response = await client.post("/api/v1/ask", json={"question": question})
        answer = await response.json()

    assert not LIVE.search(str(teams.messages[0].activity["text"]))
    assert not LIVE.search(answer["answer"])
    assert answer["status"] == "answered"


@pytest.mark.mended(id="attack-7")
async def test_why_shows_the_scores_of_the_search_to_admins_alone(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data", admin_token=ADMIN_TOKEN)
    await write_index(settings, tmp_path / "pages")
    async with serving_application(settings) as client:
        client.session.headers["Accept"] = "text/html"
        browser = Browser(client)
        path, _ = await browser.ask(LIKELY)
        asker = await browser.get(f"{path}/why")
        admin = await (await client.get(f"{path}/why", headers=BEARER)).text()

    assert "VPN" in asker
    for figure in (f">{PASSAGE_SIGNALS['keyword']}<", "All figures"):
        assert figure in admin
        assert figure not in asker
    # The one bar before the folds is the confidence, in whole per cent.
    assert "<svg" in admin.partition("<details>")[2]
    assert "<svg" not in asker.partition("<details>")[2]


@pytest.fixture
async def slack_settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    settings = settings_for(
        tmp_path,
        confidence_threshold=LOW,
        slack_bot_token=TOKEN,
        slack_app_token=APP_TOKEN,
        slack_api_url=slack.url,
    )
    await write_index(settings, tmp_path / "pages")
    return settings


async def test_a_question_over_the_socket_is_answered_in_its_thread(
    slack: FakeSlack, slack_settings: Settings
) -> None:
    async with serving_application(slack_settings) as client:
        ann = Visitor(slack, slack.sockets)
        ts = await ann.say(HELP, LIKELY, mention=True)
        await wait_until(lambda: slack.answers(HELP, ts))
        refused = await client.get("/")

    assert "blue socket" in slack.answers(HELP, ts)[0].shown
    assert refused.status in {401, 403}


async def test_an_app_that_is_removed_is_a_part_that_failed(
    slack: FakeSlack, slack_settings: Settings
) -> None:
    async with serving_application(slack_settings) as client:
        app = client.app
        assert app is not None

        async def part() -> ComponentStatus:
            (found,) = [each for each in await app[STATUS]() if each.name == "Slack"]
            return found

        assert (await part()).state == "ready"
        slack.uninstall()
        await slack.sockets.event(events.envelope({"type": "app_uninstalled"}))
        lost = await part()
        ready = await client.get("/ready")

    assert ready.status == 200, "web page and API still answer"
    assert (lost.state, "SLACK_BOT_TOKEN" in lost.cure) == ("failed", True)
