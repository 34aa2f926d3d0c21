"""Test the script that sends public payloads, with payloads of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evals.payloads_eval import Payload, absent, main, ours, payloads, run
from tests.fakes.slack import names

LEGACY = {"type": "interactive_message", "callback_id": "", "actions": [{"name": "", "value": ""}]}
MENTION = {"type": "event_callback", "event": {"type": "app_mention", "user": "", "ts": ""}}
ACTIVITY = {"type": "message", "channelId": "msteams", "text": "ping"}


def test_absent_sets_are_named_and_nothing_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--shared", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("absent: ") == len(absent(tmp_path)) == 3


def test_a_set_that_is_there_is_read_alone(tmp_path: Path) -> None:
    events = tmp_path / "slack_java_sdk_json/json-logs/samples/events"
    events.mkdir(parents=True)
    (events / "AppMentionPayload.json").write_text(json.dumps(MENTION))
    assert payloads(tmp_path) == [Payload("java/AppMentionPayload", "event", MENTION)]


def test_a_payload_gets_the_ids_of_the_workspace_and_keeps_the_rest() -> None:
    got = ours({"event": {"type": "x", "user": {"id": "U1", "real_name": "A"}, "ts": "1.1"}}, 7)
    assert got["event"]["user"] == {"id": names.ALICE, "real_name": "A"}
    assert got["event"]["ts"] == "1700000000.000007"
    assert (got["team_id"], got["type"]) == (names.TEAM, "event_callback")


@pytest.mark.mended(id="slack-11")
async def test_what_is_sent_is_taken_with_our_ids_and_refused_as_it_is(tmp_path: Path) -> None:
    tried = [
        Payload("mention", "event", MENTION),
        Payload("legacy button", "interaction", LEGACY),
        Payload("command", "command", {"command": "/frontdesk", "text": ""}),
        Payload("activity", "teams", ACTIVITY),
    ]
    result = await run(tried, tmp_path)
    assert not result.failed
    as_it_is = [set(each) for way, each in result.statuses.items() if "as it is" in way]
    assert all(each <= {400, 401, 403} for each in as_it_is)
    ours_taken = [set(each) for way, each in result.statuses.items() if "our ids" in way]
    assert ours_taken == [{200}] * 4
