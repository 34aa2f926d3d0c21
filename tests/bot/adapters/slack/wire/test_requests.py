"""Whatever a signed request holds, it is never an error of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain.settings_loading import load_settings
from bot.platforms.slack.transport.dispatch import Dispatcher, Malformed, bolt_app, bolt_request
from bot.platforms.slack.workspace.bot_identity import ServedWorkspace
from tests.bot.adapters.slack.events import Client, direct, envelope, mention, send
from tests.bot.adapters.slack.workspace.names import TEAM, TOKEN

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
KEYS = (
    "type event team team_id enterprise enterprise_id authorizations user user_id channel view "
    "container actions action_id message item is_enterprise_install is_ext_shared_channel payload "
    "command ssl_check challenge callback_id bot_profile bot_id subtype ts trigger_id edited"
).split()
WORDS = st.sampled_from(
    "event_callback url_verification block_actions view_submission message app_mention shortcut "
    "message_action block_suggestion dialog_submission message_changed app_rate_limited "
    "interactive_message view_closed function_executed".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=12,
)
TOLD = {200, 400, 403, 503}
OBJECTS = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=8)


class Ours:
    """Somebody who knows the workspace already."""

    @property
    def workspace(self) -> str:
        return TEAM


def status_of(body: str | dict[str, Any], headers: dict[str, str]) -> int:
    """Return what a request is answered with, the signature being sound."""
    known = load_settings(_env_file=None, slack_bot_token=TOKEN, slack_app_token="xapp-1")
    intake = Dispatcher(bolt_app(known, ()), ServedWorkspace(TEAM, Ours()))
    try:
        request = bolt_request(body, headers, mode="socket_mode")
    except Malformed:
        return 400
    return asyncio.run(intake.take(request)).status


@settings(max_examples=300, deadline=None)
@given(OBJECTS)
def test_any_json_is_taken_refused_or_sent_again(body: dict[str, Any]) -> None:
    for shape in (body, {**body, "team_id": TEAM, "team": {"id": TEAM}, "authorizations": None}):
        assert status_of(json.dumps(shape), JSON) in TOLD
        assert status_of(shape, {}) in TOLD


@settings(max_examples=200, deadline=None)
@given(ANYTHING | st.text())
def test_any_form_is_taken_refused_or_sent_again(payload: Any) -> None:  # noqa: ANN401
    for text in (json.dumps(payload), str(payload)):
        forms = {"payload": text, "team_id": TEAM}, {"command": text, "team_id": TEAM}
        for form in forms:
            body = urlencode(form, errors="replace")
            assert status_of(body, FORM) in TOLD


ODD = (
    "[]",
    "null",
    "1",
    '"x"',
    "{",
    "[" * 100_000,
    '{"event":[]}',
    '{"actions":[1]}',
    '{"actions":[]}',
    '{"team":1}',
    '{"type":{}}',
    "{" + "1" * 5000,
    "payload=",
    "payload=[]",
    "payload=%7B%22actions%22%3A1%7D",
)


@pytest.mark.parametrize("body", ODD, ids=lambda body: body[:20])
def test_what_slack_does_not_send_is_malformed(body: str) -> None:
    headers = FORM if body.startswith("payload") else JSON

    with pytest.raises(Malformed):
        bolt_request(body, headers, mode="http")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(OBJECTS)
async def test_whoever_takes_it_no_event_button_or_form_is_an_error(
    client: Client, inner: dict[str, Any]
) -> None:
    """All that listens is there; what none of it can read is refused, or to be sent again."""
    for shape in (
        envelope({**mention("vpn?"), **inner}),
        envelope({**direct("vpn?"), "subtype": "message_changed", **inner}),
        envelope({"type": "agent_session_stopped", **inner}),
        envelope({"type": "reaction_added", **inner}),
        {"type": "block_actions", "team": {"id": TEAM}, "actions": [inner], **inner},
        {"type": "view_submission", "team": {"id": TEAM}, "view": inner},
    ):
        assert (await send(client, shape)).status in TOLD
