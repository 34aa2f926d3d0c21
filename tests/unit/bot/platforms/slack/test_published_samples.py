"""Test that the payload samples that Slack published are taken, whole and with ids filled in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.desk import KeepingInbox
from tests.fakes.slack import events, names
from tests.fakes.slack.events import ALICE, Client, WebDoor
from tests.fakes.slack.exchange import Answer
from tests.fakes.slack.server import FakeSlack

_ROOT = Path(__file__).parents[5]
DATA = Path(os.environ.get("FRONTDESK_EVAL_DATA", _ROOT.parent / "shared" / "data"))
SAMPLES = DATA / "slack_java_sdk_json" / "json-logs" / "samples"
SPEC = DATA / "slack_events_spec" / "slack_events_api_async_v1.json"

pytestmark = pytest.mark.skipif(
    not (SAMPLES.is_dir() and SPEC.is_file()),
    reason="Slack's samples are not here. Put them below FRONTDESK_EVAL_DATA.",
)

_LIKELY = {
    "channel": names.HELP,
    "channel_id": names.HELP,
    "user": ALICE,
    "user_id": ALICE,
    "team": names.TEAM,
    "team_id": names.TEAM,
    "ts": "1700000000.000100",
    "thread_ts": "1700000000.000100",
    "event_ts": "1700000000.000100",
    "message_ts": "1700000000.000100",
    "deleted_ts": "1700000000.000100",
    "text": "What is error 809?",
    "trigger_id": "12345.98765.abcd",
    "response_url": "",
    "action_id": "feedback",
    "value": "up:nothing",
    "reaction": "+1",
    "tab": "messages",
    "channel_type": "channel",
    "command": "/frontdesk",
}


def samples(folder: str) -> list[Path]:
    return sorted((SAMPLES / folder).rglob("*.json"))


def filled(value: Any, key: str = "") -> Any:  # noqa: ANN401  # a sample may hold any JSON
    """Return a sample whose blanks hold what Slack would put there."""
    if isinstance(value, dict):
        return {name: filled(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, key) for each in value]
    return _LIKELY.get(key, value) if value == "" else value


def ours(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload that comes from our workspace, its blanks left as they are."""
    at = {"team_id": names.TEAM} if "team" not in payload else {"team": {"id": names.TEAM}}
    return {**payload, "api_app_id": names.APP, "authorizations": [], **at}


def variants(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a sample as it is published, from our workspace, and filled in."""
    yield payload
    yield ours(payload)
    yield ours(filled(payload))


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


async def sent(door: WebDoor, path: Path) -> list[Answer]:
    answers = []
    for payload in variants(read(path)):
        if "events" in path.parts:
            answers.append(await door.event({**payload, "type": "event_callback"}))
        elif "slash-commands" in path.parts:
            form = {name: str(value) for name, value in payload.items() if value != []}
            answers.append(await door.command({**form, "text": ""}))
        else:
            answers.append(await door.interact(payload))
    return answers


@pytest.mark.parametrize("folder", ["events", "app-backend"])
async def test_every_published_sample_is_answered_and_asks_nothing(
    folder: str, client: Client, inbox: KeepingInbox, slack: FakeSlack
) -> None:
    door, found = WebDoor(client), samples(folder)
    statuses = {path.name: [one.status for one in await sent(door, path)] for path in found}

    assert found
    assert {name: got for name, got in statuses.items() if got != [403, 200, 200]} == {}
    asked = [message.text for message in inbox.messages.values()]
    assert asked in ([], ["What is error 809?"]), "at most the one that mentions the bot"
    assert [post for post in slack.posts if not post.only_for] == []


async def test_every_event_of_the_published_specification_is_taken(
    client: Client, inbox: KeepingInbox
) -> None:
    kinds = [topic.replace(".", "_") for topic in read(SPEC)["topics"]]
    door = WebDoor(client)
    answers = [
        await door.event(events.envelope({"type": kind, "event_ts": "1700000000.000100"}))
        for kind in kinds
    ]

    assert len(kinds) > 60
    assert {answer.status for answer in answers} == {200}
    assert inbox.accepted == 0
