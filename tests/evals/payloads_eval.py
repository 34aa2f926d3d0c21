"""Sends public payloads of Slack and Teams through both endpoints of a server; no 5xx may come.

``python -m tests.evals.payloads_eval [--shared DIR]`` takes them below FRONTDESK_EVAL_DATA
(``slack_events_spec``, ``slack_java_sdk_json``, ``slack_teams_opsdroid``), each signed: once as it
is, and once with the ids of the workspace or tenant that is served. It writes a table of what was
answered, names the sets that are absent, and returns 1 after any 5xx.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.observability.logs import set_up_logs
from bot.platforms import slack as slack_adapter
from bot.platforms import teams as teams_adapter
from tests.fakes.applications import LocalCloud, connect_hurried, slack_settings, teams_settings
from tests.fakes.http_server import Client, serving_application, settings_for, write_index
from tests.fakes.slack import events, names
from tests.fakes.slack.server import FakeSlack
from tests.fakes.teams import names as teams_names
from tests.fakes.teams.server import FakeTeams

_ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("FRONTDESK_EVAL_DATA", _ROOT.parent / "shared" / "data"))

Json = dict[str, Any]
Door = Literal["event", "interaction", "command", "teams"]

_SPEC = "slack_events_spec/slack_events_api_async_v1.json"
_JAVA = "slack_java_sdk_json/json-logs/samples"
_OPSDROID = "slack_teams_opsdroid/opsdroid/connector"
_SETS = (_SPEC, _JAVA, _OPSDROID)
_INTERACTIONS = ("dialogs", "interactive-components", "views")
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Payload:
    """One public payload, and how a platform would send it."""

    name: str
    door: Door
    body: Json


def payloads(shared: Path) -> list[Payload]:
    """Return the public payloads; none where they are not there."""
    return [*_specified(shared / _SPEC), *_logged(shared / _JAVA), *_recorded(shared / _OPSDROID)]


def absent(shared: Path) -> list[str]:
    """Return the sets that are not there."""
    return [each for each in _SETS if not (shared / each).exists()]


def _specified(path: Path) -> Iterator[Payload]:
    """Yield an event with nothing but its type for every topic that Slack specifies."""
    if not path.exists():
        return
    for topic in _read(path)["topics"]:
        kind = topic.replace(".", "_")
        yield Payload(f"spec/{topic}", "event", {"type": "event_callback", "event": {"type": kind}})


def _logged(folder: Path) -> Iterator[Payload]:
    for path in sorted(folder.glob("events/*.json")):
        yield Payload(f"java/{path.stem}", "event", _read(path))
    for kind in _INTERACTIONS:
        for path in sorted(folder.glob(f"app-backend/{kind}/*.json")):
            yield Payload(f"java/{path.stem}", "interaction", _read(path))
    for path in sorted(folder.glob("app-backend/slash-commands/*.json")):
        yield Payload(f"java/{path.stem}", "command", _read(path))


def _recorded(folder: Path) -> Iterator[Payload]:
    for path in sorted(folder.glob("slack/tests/responses/payload_*.json")):
        yield Payload(f"opsdroid/{path.stem}", "event", _read(path))
    for path in sorted(folder.glob("teams/tests/responses/teams_*.json")):
        yield Payload(f"opsdroid/{path.stem}", "teams", _read(path))


def _read(path: Path) -> Json:
    return dict(json.loads(path.read_text("utf-8")))


_IDS: Mapping[str, str] = {
    "api_app_id": names.APP,
    "callback_id": "ask_frontdesk",
    "channel": names.HELP,
    "channel_id": names.HELP,
    "domain": "acme",
    "team": names.TEAM,
    "team_id": names.TEAM,
    "text": f"<@{names.BOT_USER}> how do I reset my password?",
    "trigger_id": "1.2.3",
    "user": names.ALICE,
    "user_id": names.ALICE,
}
"""What stands in a payload of the workspace, by field; objects keep their other fields."""

_TIMES = frozenset({"ts", "event_ts", "message_ts", "action_ts"})
_OF_WHOM: Mapping[str, str] = {"team": names.TEAM, "channel": names.HELP, "user": names.ALICE}


def ours(body: Json, number: int) -> Json:
    """Return Slack's payload with the ids of the workspace that is served."""
    mine: Json = _ours(body, f"1700000000.{number:06d}")
    if "event" in mine:
        mine |= {"event_id": f"Ev{number:08d}", "type": mine.get("type") or "event_callback"}
    return {**mine, "team_id": names.TEAM, "api_app_id": names.APP}


def _ours(value: Any, ts: str, of: str = "") -> Any:  # noqa: ANN401  # any JSON
    if isinstance(value, list):
        return [_ours(each, ts) for each in value]
    if isinstance(value, dict):
        return {key: _of_us(key, each, ts, of) for key, each in value.items()}
    return value


def _of_us(key: str, value: Any, ts: str, of: str) -> Any:  # noqa: ANN401  # any JSON
    if key == "id" and of in _OF_WHOM:
        return _OF_WHOM[of]
    if key in _TIMES and isinstance(value, str):
        return ts
    if key in _IDS and isinstance(value, str):
        return _IDS[key]
    return _ours(value, ts, key)


def ours_in_teams(body: Json, teams: FakeTeams, number: int) -> Json:
    """Return an activity with the ids of the tenant that is served."""
    place = {"id": teams_names.HELP, "conversationType": "channel", "isGroup": True}
    return {
        **body,
        "id": f"17{number:011d}",
        "serviceUrl": teams.url,
        "conversation": {**place, "tenantId": teams_names.ENTRA},
        "from": {"id": teams_names.ALICE, "aadObjectId": teams_names.ALICE, "name": "Alice"},
        "recipient": {"id": teams_names.BOT, "name": teams_names.BOT_NAME},
        "channelData": {"tenant": {"id": teams_names.ENTRA}},
    }


@dataclass(frozen=True, slots=True)
class Server:
    """A server with both endpoints, the workspace and the tenant."""

    client: Client
    slack: FakeSlack
    teams: FakeTeams

    async def status(self, payload: Payload, number: int, *, with_our_ids: bool) -> int:
        """Send a payload, signed, and return the answer's status."""
        if payload.door == "teams":
            return await self._to_teams(payload.body, number, with_our_ids=with_our_ids)
        body = ours(payload.body, number) if with_our_ids else payload.body
        kind = "application/x-www-form-urlencoded"
        match payload.door:
            case "event":
                sent, kind = json.dumps(body), "application/json"
            case "interaction":
                sent = urlencode({"payload": json.dumps(body)})
            case _:
                sent = urlencode(body)
        headers = {**events.signed(sent.encode()), "Content-Type": kind}
        posted = await self.client.post("/slack/events", data=sent.encode(), headers=headers)
        return posted.status

    async def _to_teams(self, body: Json, number: int, *, with_our_ids: bool) -> int:
        activity = ours_in_teams(body, self.teams, number) if with_our_ids else body
        headers = {"Authorization": f"Bearer {self.teams.token()}"}
        posted = await self.client.post("/api/messages", json=activity, headers=headers)
        return posted.status


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Server]:
    """Serve a small wiki to a workspace and a tenant, until the block ends."""
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack().serving())
        keys = {"k1": generate_private_key(public_exponent=65537, key_size=2048)}
        teams = await stack.enter_async_context(FakeTeams(keys=keys).serving())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(slack_adapter, "connect", connect_hurried)
        patch.setattr(teams_adapter, "connect", LocalCloud(teams.url, hurried=True).connect)
        settings = settings_for(
            folder / "data", **slack_settings(slack.url), **teams_settings(teams.url)
        )
        await write_index(settings, folder / "pages")
        client = await stack.enter_async_context(serving_application(settings))
        yield Server(client, slack, teams)


@dataclass(frozen=True, slots=True)
class Result:
    """How often each status was answered, by how a payload was sent; what failed, in lines."""

    statuses: Mapping[str, Counter[int]]
    failed: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        for way, counted in self.statuses.items():
            shown = ", ".join(f"{count} x {status}" for status, count in sorted(counted.items()))
            yield f"{way}: {shown}"
        yield from self.failed


async def run(tried: Sequence[Payload], folder: Path) -> Result:
    """Send every payload in both ways, and return what was answered."""
    statuses: dict[str, Counter[int]] = {}
    failed: list[str] = []
    numbers = itertools.count(1)
    async with serving(folder) as server:
        for with_our_ids, each in itertools.product((False, True), tried):
            way = f"{each.door}, {'with our ids' if with_our_ids else 'as it is'}"
            got = await server.status(each, next(numbers), with_our_ids=with_our_ids)
            statuses.setdefault(way, Counter())[got] += 1
            if got >= _SERVER_ERROR:
                failed.append(f"{each.name}, {way}: {got}")
    return Result(statuses, tuple(failed))


def main(arguments: Sequence[str]) -> int:
    """Return 1 when a payload was answered with a 5xx."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.payloads_eval")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    shared = parser.parse_args(arguments).shared
    sys.stdout.writelines(f"absent: {shared / each}\n" for each in absent(shared))
    tried = payloads(shared)
    if not tried:
        sys.stdout.write("No public payloads: nothing to send\n")
        return 0
    set_up_logs("critical")
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(run(tried, Path(folder)))
    sys.stdout.writelines(f"{line}\n" for line in result.lines())
    return int(bool(result.failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
