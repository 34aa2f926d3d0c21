"""Tests of the board's settings and component states."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.domain.messages import NO_MODEL, Policy
from bot.domain.settings import Settings
from bot.domain.settings_loading import variable
from bot.store.database import Store
from bot.web.board.health import ComponentView, component_view
from bot.web.board.settings import MAX_REASON_LENGTH, setting_views
from tests.fakes.board_app import UNSURE, BoardState, Client, ask, state_pages
from tests.fakes.http_server import settings_for

KEY = f"whsec_{'topsecret' * 4}"
"""Is base64, too."""


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[Client]:
    told = BoardState(sources={**dict.fromkeys(Settings.model_fields, "default"), "top_k": ".env"})
    async with state_pages(store, settings_for(tmp_path, top_k=7), told) as opened:
        yield opened


async def send(client: Client, act: str, status: int = 303, **form: str) -> str:
    origin = str(client.make_url("/")).rstrip("/")
    response = await client.post(
        f"/board/settings/{act}", data=form, headers={"Origin": origin}, allow_redirects=False
    )
    assert response.status == status
    return await response.text()


def test_every_setting_is_listed_and_no_secret_is_told(tmp_path: Path) -> None:
    secrets = {
        name: "topsecret-topsecret-topsecret"
        for name, field in Settings.model_fields.items()
        if "SecretStr" in str(field.annotation) and name != "database_url"
    }
    secrets |= {"slack_bot_token": "xoxb-topsecret", "slack_app_token": "xapp-topsecret"}
    secrets["smtp_url"] = "smtps://desk:topsecret@mail.example"
    secrets |= {"case_webhook_url": "https://t.example/topsecret", "case_webhook_secret": KEY}
    settings = settings_for(
        tmp_path,
        **secrets,
        database_url="postgresql://desk:topsecret@db.example/desk",
        microsoft_app_id="app",
        openai_base_url="https://someone:topsecret1@models.example/v1",
        models={"own": {"model": "m", "api_key": "topsecret2"}},
    )

    views = setting_views([settings], {})

    assert {each.variable for each in views} == {
        *(variable(name, each) for name, each in Settings.model_fields.items() if name != "models"),
        "MODELS__OWN__MODEL",
        "MODELS__OWN__API_KEY",
    }
    assert "topsecret" not in str(views)
    by_name = {each.variable: each for each in views}
    assert by_name["SLACK_BOT_TOKEN"].value == "set"
    assert by_name["OIDC_CLIENT_SECRET"].value == "set"
    assert by_name["OPENAI_BASE_URL"].value.endswith("@models.example/v1")
    assert all(each.meaning for each in views)


def test_a_source_that_is_not_known_is_not_called_a_default(tmp_path: Path) -> None:
    views = setting_views([settings_for(tmp_path)], {"top_k": "default"})

    assert {each.variable: each.source for each in views}["RAG_TOP_K"] == "default"
    assert {each.variable: each.source for each in views}["HOST"] == "unknown"


async def test_what_is_set_here_stands_apart_with_its_source(client: Client) -> None:
    shown = await (await client.get("/board/settings")).text()

    own, _, defaults = shown.partition("Default settings")
    assert "RAG_TOP_K" in own
    assert "</span>.env</p>" in own
    assert "CONFIDENCE_THRESHOLD" not in own
    assert "CONFIDENCE_THRESHOLD" in defaults


async def test_a_pause_holds_with_a_reason_and_is_audited(store: Store, client: Client) -> None:
    await client.get("/board/settings")
    await send(client, "pause", reason="  Moving\nthe wiki. ")

    paused = await store.pauses.current("default")
    assert paused is not None
    assert (paused.reason, paused.by[:6]) == ("Moving the wiki.", "board:")
    shown = await (await client.get("/board/settings")).text()
    assert "Answering is paused" in shown
    assert "“Moving the wiki.”" in shown

    await send(client, "resume")

    assert await store.pauses.current("default") is None
    acts = await store.audits.newest("default", 10)
    assert [(act.act, act.actor) for act in acts] == [("resume", paused.by), ("pause", paused.by)]


async def test_resuming_what_is_not_paused_is_no_act(store: Store, client: Client) -> None:
    await send(client, "resume")

    assert await store.audits.newest("default", 10) == []


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * (MAX_REASON_LENGTH + 1)])
async def test_a_reason_that_says_nothing_or_too_much_is_refused_in_place(
    store: Store, client: Client, reason: str
) -> None:
    shown = await send(client, "pause", 422, reason=reason)

    assert 'role="alert"' in shown
    assert reason.strip() in shown
    assert await store.pauses.current("default") is None


async def test_another_site_can_pause_nothing(store: Store, client: Client) -> None:
    response = await client.post(
        "/board/settings/pause", data={"reason": "x"}, headers={"Origin": "https://evil.example"}
    )

    assert response.status == 403
    assert await store.pauses.current("default") is None


async def test_an_act_on_an_escalation_leads_to_it(store: Store, client: Client) -> None:
    await store.audits.append("default", "tomas", "claim", "c-1")
    await store.audits.append("default", "board:you", "pause", "tenant")

    page = await (await client.get("/board/settings")).text()

    assert '<a href="/board/escalations/c-1" title="c-1">Escalation</a>' in page
    assert "/board/escalations/tenant" not in page


async def test_earlier_acts_are_a_page_further(store: Store, client: Client) -> None:
    for number in range(53):
        await store.audits.append("default", "cli:anna", "policy", f"channel-{number}-")

    first = await (await client.get("/board/settings")).text()
    last = first.partition("?before=")[2].partition("#")[0]
    second = await (await client.get(f"/board/settings?before={last}")).text()

    assert "channel-52-" in first
    assert "channel-2-" not in first
    assert "channel-2-" in second
    assert "?before=" not in second


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "\u0664"])
async def test_a_page_of_acts_that_is_none_is_the_first(client: Client, before: str) -> None:
    assert (await client.get("/board/settings", params={"before": before})).status == 200


async def test_policies_of_channels_are_shown_by_fields(store: Store, client: Client) -> None:
    page = await (await client.get("/board/settings")).text()
    assert "None: all channels" in page
    policy = Policy(frozenset({"IT"}), answers="questions", people="<C9>", model=NO_MODEL)

    await store.policies.set("default", "slack:C1", policy, actor="cli:anna")

    page = await (await client.get("/board/settings")).text()
    assert "<code>slack:C1</code>" in page
    assert "when mentioned, and questions not addressed to anyone if it is sure" in page
    assert "spaces: IT; people: &lt;C9&gt;; model: none" in page
    assert "Changed by: </span>cli:anna" in page


async def test_what_was_done_is_said_in_words_not_json(store: Store, client: Client) -> None:
    await store.policies.set("default", "slack:C1", Policy(answers="off"), actor="cli:anna")
    await store.audits.append("default", "web:admin token", "sign_in", "", detail="admin")
    await store.audits.append("default", "cli:anna", "set policy", "slack:C2", detail="by hand")

    page = await (await client.get("/board/settings")).text()

    assert "<td>answers: never; follow-ups: when mentioned again; spaces: all" in page
    assert '<td title="sign_in">Signed in</td>' in page
    assert "<td>by hand</td>" in page
    assert "&#34;format&#34;" not in page


ORIGIN = "Origin"


class FakePlatform:
    """A platform that says how it is, or why it can't."""

    platform = "slack"

    def __init__(self, said: ComponentStatus | Exception) -> None:
        self._said = said
        self.asked = 0

    async def check(self) -> ComponentStatus:
        self.asked += 1
        if isinstance(self._said, Exception):
            raise self._said
        return self._said


async def again(client: Client) -> str:
    origin = str(client.make_url("/")).rstrip("/")
    response = await client.post("/board/parts", headers={ORIGIN: origin})
    assert response.status == 200
    return await response.text()


def test_a_command_at_the_end_of_a_cure_can_be_copied() -> None:
    part = ComponentStatus(
        "knowledge", "absent", "nothing yet.", "Add pages: python -m ingestion folder P"
    )

    assert component_view(part) == ComponentView(
        "knowledge",
        "knowledge",
        "absent",
        "Not set up",
        "Nothing yet.",
        "Add pages:",
        "python -m ingestion folder P",
    )
    assert (
        component_view(ComponentStatus("model", "absent", "", "Add OPENAI_MODEL to .env")).command
        == ""
    )


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "small", "Off.", "238 chunks"])
def test_a_name_keeps_its_letters(name: str) -> None:
    assert component_view(ComponentStatus("embedder", "ready", name)).detail == name


async def test_every_part_is_shown_the_broken_first(store: Store, tmp_path: Path) -> None:
    told = BoardState(
        (
            ComponentStatus("model", "ready", "small"),
            ComponentStatus("index", "failed", "full.", "Make room."),
        )
    )
    async with state_pages(store, settings_for(tmp_path), told) as client:
        shown = await (await client.get("/board/parts")).text()

    assert "1 component has failed: index." in shown
    assert shown.index("Make room.") < shown.index("small")


async def test_checking_asks_the_platforms_looking_does_not(store: Store, tmp_path: Path) -> None:
    platform = FakePlatform(ComponentStatus("Slack", "ready", "bot @desk in team T1"))
    told = BoardState(
        (ComponentStatus("Slack", "ready", "events at /slack/events"),), (platform, object())
    )
    async with state_pages(store, settings_for(tmp_path), told) as client:
        await client.get("/board/parts")
        assert platform.asked == 0
        shown = await again(client)

    assert platform.asked == 1
    assert "Bot @desk in team T1" in shown
    assert "events at /slack/events" not in shown


async def test_a_platform_away_is_broken_the_page_is_not(store: Store, tmp_path: Path) -> None:
    told = BoardState((), (FakePlatform(DeliveryFailed("Slack is away.")),))
    async with state_pages(store, settings_for(tmp_path), told) as client:
        shown = await again(client)

    assert "Slack is away." in shown
    assert "1 component has failed: Slack." in shown


async def test_addresses_to_enter_are_whole_where_the_public_one_is_known(
    store: Store, tmp_path: Path
) -> None:
    secrets = {"slack_bot_token": "xoxb-hidden", "slack_signing_secret": "hidden-too"}
    settings = settings_for(
        tmp_path,
        **secrets,
        public_url="https://help.example",
        admin_token="a-token-of-sufficient-length",
    )
    async with state_pages(store, settings, BoardState()) as client:
        bearer = {"Authorization": "Bearer a-token-of-sufficient-length"}
        shown = await (await client.get("/board/parts", headers=bearer)).text()

    assert "https://help.example/slack/events" in shown
    assert "hidden" not in shown.replace('class="hidden"', "")


async def test_no_address_is_entered_at_slack_where_the_server_opens_a_socket(
    store: Store, tmp_path: Path
) -> None:
    secrets = {"slack_bot_token": "xoxb-hidden", "slack_app_token": "xapp-hidden"}
    settings = settings_for(tmp_path, **secrets, admin_token="a-token-of-sufficient-length")
    async with state_pages(store, settings, BoardState()) as client:
        bearer = {"Authorization": "Bearer a-token-of-sufficient-length"}
        shown = await (await client.get("/board/parts", headers=bearer)).text()

    assert "/slack/events" not in shown


async def test_a_database_is_named_without_user_and_password(store: Store, tmp_path: Path) -> None:
    url = "postgresql://desk:hunter2@db.example/frontdesk?sslpassword=hunter3"
    async with state_pages(store, settings_for(tmp_path, database_url=url), BoardState()) as client:
        shown = await (await client.get("/board/parts")).text()

    assert "PostgreSQL, database “frontdesk” at db.example" in shown
    assert "hunter" not in shown
    assert "desk:" not in shown


async def test_steps_are_sent_to_the_webhook_again_from_a_time_on(
    store: Store, tmp_path: Path
) -> None:
    await ask(store, response=UNSURE)
    settings = settings_for(
        tmp_path, case_webhook_url="https://t.example/topsecret", case_webhook_secret=KEY
    )
    async with state_pages(store, settings, BoardState()) as client:
        shown = await (await client.get("/board/settings")).text()
        await send(client, "webhook", since="2020-01-01T12:30")
        await send(client, "webhook", 422, since="yesterday")

    assert "t.example" in shown
    assert "topsecret" not in shown
    (audited,) = await store.audits.newest("default", 5)
    assert (audited.act, audited.detail) == ("webhook.replay", "1")
    assert audited.subject.startswith("2020-01-01T12:30")


async def test_without_a_webhook_the_page_says_nothing_of_it(client: Client) -> None:
    assert "/board/settings/webhook" not in await (await client.get("/board/settings")).text()
