"""Microsoft's Agents Playground as a program, its company, its client, and a bot behind it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.fakes.teams.cards import paragraphs
from tests.sweeps.faults.server import Client, Server, client

BOT, BOT_NAME = "28:frontdesk", "Frontdesk"
TENANT = "5fcfb1b0-0000-4000-8000-000000000001"
CHAT = "a:chat-of-alex"
GROUP = "19:group@thread.v2"
TEAM = "19:team@thread.tacv2"
"""Also the channel General."""

PEOPLE = "19:people@thread.tacv2"
"""The channel in which people are asked."""


@dataclass(frozen=True)
class Person:
    """Somebody of the company: as the connector knows them, and by object id."""

    user: str
    id: str
    first: str
    last: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def said(self) -> Mapping[str, str]:
        """Return them as the configuration file spells them."""
        address = f"{self.first}@contoso.example".lower()
        named = {"name": self.name, "givenName": self.first, "surname": self.last}
        known = {"userPrincipleName": address, "email": address}
        return {"id": self.user, "aadObjectId": self.id, **named, **known}


def _person(number: int, first: str, last: str) -> Person:
    return Person(
        f"29:{first.lower()}", f"5fcfb1b0-0000-4000-8000-00000000010{number}", first, last
    )


ALEX = _person(0, "Alex", "Wilber")
"""Whose client it is."""

MEGAN = _person(1, "Megan", "Bowen")
_OTHERS = (("Adele", "Vance"), ("Isaiah", "Langer"), ("Patti", "Fernandez"), ("Lynne", "Robbins"))

CONFIG: Mapping[str, object] = {
    "version": "0.1.1",
    "tenantId": TENANT,
    "bot": {"id": BOT, "name": BOT_NAME},
    "currentUser": ALEX.said,
    # It ends at its start unless there are five besides.
    "users": [
        each.said for each in (MEGAN, *(_person(2 + at, *name) for at, name in enumerate(_OTHERS)))
    ],
    "personalChat": {"id": CHAT},
    "groupChat": {"id": GROUP, "name": "Lunch"},
    "team": {
        "id": TEAM,
        "name": "Contoso",
        "aadGroupId": "5fcfb1b0-0000-4000-8000-000000000200",
        "channels": [{"id": PEOPLE, "name": "Help desk"}],
    },
}


_PACKAGE = (
    Path(__file__).parents[1]
    / "playground"
    / "node_modules"
    / "@microsoft"
    / "m365agentsplayground"
)
_NODE = shutil.which("node")
_IS_HERE = _NODE is not None and (_PACKAGE / "cli.js").exists()
_LISTENING = re.compile(rb"Listening on (\d+)")
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_TABLES = ("tcp", "tcp6", "udp", "udp6")
_NOBODY = str(IPv4Address(0))
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0

NEEDS_PLAYGROUND = pytest.mark.skipif(
    not (_IS_HERE or os.environ.get("CI")),
    reason="needs Microsoft's playground: install Node 18 or newer, then `make test`",
)


@dataclass(frozen=True)
class Playground:
    """A running one: the address of its page and its interface, and its process."""

    url: str
    pid: int

    def peers(self) -> set[str]:
        """Return the addresses that it has a connection to now, as the kernel knows them."""
        links = Path(f"/proc/{self.pid}/fd").iterdir()
        sockets = {match[1] for link in links if (match := _SOCKET.match(_target(link)))}
        tables = (Path(f"/proc/{self.pid}/net/{name}").read_text() for name in _TABLES)
        rows = [line.split() for table in tables for line in table.splitlines()[1:]]
        return {_address(row[2]) for row in rows if row[9] in sockets} - {_NOBODY, "::"}


@asynccontextmanager
async def playground(directory: Path, endpoint: str) -> AsyncIterator[Playground]:
    """Run it for a bot, until the block ends."""
    process = await _started(directory, endpoint)
    try:
        async with asyncio.timeout(_START_SECONDS):
            port = await _port(process)
        yield Playground(f"http://127.0.0.1:{port}", process.pid)
        assert process.returncode is None, "the playground ended by itself"
    finally:
        await _end(process)


async def _started(directory: Path, endpoint: str) -> Process:
    assert _NODE is not None, "Node is not installed"
    (directory / "playground.yml").write_text(json.dumps(CONFIG), encoding="utf-8")
    named = ("start", "-e", endpoint, "-c", "msteams", "-p", "0", "--disable-telemetry")
    return await asyncio.create_subprocess_exec(
        *(_NODE, str(_PACKAGE / "cli.js"), *named),
        cwd=directory,
        env=_environment(directory),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
    )


def _environment(directory: Path) -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "TEAMSAPPTESTER_BROWSER": "none",
        "APPLICATION_INSIGHTS_NO_STATSBEAT": "1",
        "M365_AGENTS_PLAYGROUND_CONFIG_PATH": str(directory / "playground.yml"),
        "M365_AGENTS_PLAYGROUND_LOGFILE": str(directory / "playground.log"),
    }


async def _port(process: Process) -> int:
    """Return where it listens, and let what it says later be read by nobody."""
    assert process.stdout is not None
    async for line in process.stdout:
        if found := _LISTENING.search(line):
            return int(found[1])
    pytest.fail(f"the playground ended with {await process.wait()} before it listened")


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()


def _target(link: Path) -> str:
    """Return what an open file is; "" for one that was closed meanwhile."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def _address(written: str) -> str:
    """Read an address of the kernel's tables, which are in the machine's order of bytes."""
    digits = written.partition(":")[0]
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    if len(words) == 1:
        return str(IPv4Address(words[0]))
    six = IPv6Address(b"".join(words))
    return str(six.ipv4_mapped or six)


Json = Mapping[str, Any]

SECONDS = 60.0


@dataclass
class Shown:
    """One message of the bot. ``before`` is what was shown in its place, oldest first."""

    where: str
    now: Json
    before: list[Json] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.now["messageId"])

    @property
    def thread(self) -> str:
        """The conversation that it stands in; what begins a thread in a channel begins its own."""
        begins = self.where.endswith("@thread.tacv2")
        return f"{self.where};messageid={self.id}" if begins else self.where

    @property
    def text(self) -> str:
        """Its text, or that of the card which is a whole answer."""
        return str(self.now.get("text") or "") or paragraphs(self.now)

    @property
    def cards(self) -> Sequence[Json]:
        return [each["content"] for each in self.now.get("attachments") or ()]

    @property
    def actions(self) -> Sequence[Json]:
        """The buttons of its cards, not those in forms that have to be unfolded."""
        return [action for card in self.cards for action in card.get("actions", ())]

    @property
    def labels(self) -> Json:
        """What is said of it: that an AI made it, what it cites."""
        return self.now.get("aiEntity") or {}

    @property
    def cited(self) -> Sequence[Json]:
        return [claim["appearance"] for claim in self.labels.get("citation", ())]

    @property
    def is_streamed(self) -> bool:
        return "streamEntity" in self.now


class Screen:
    """Everything that is shown, by conversation and thread."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self.log: list[Json] = []
        self._changed = asyncio.Event()

    def take(self, told: Json) -> None:
        """Show what the playground's page would show now."""
        if told["action"] in {"createMessage", "updateMessage"}:
            self._show(str(told["actionConversationId"]), told["message"])
        self._happened()

    def note(self, told: Json) -> None:
        """Keep what went to the bot and came from it."""
        if "log" in told:
            self.log.append(told["log"])
        self._happened()

    def at(self, where: str) -> Sequence[Shown]:
        """Return what is shown in a chat or thread."""
        return [each for each in self.shown if each.where == where]

    async def until(self, seen: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever is looked for
        """Wait until something is to be seen; return it. Raises TimeoutError."""
        async with asyncio.timeout(SECONDS):
            while not (found := seen()):
                self._changed.clear()
                await self._changed.wait()
        return found

    def _show(self, where: str, message: Json) -> None:
        for each in self.at(where):
            if each.id == message["messageId"]:
                each.before.append(each.now)
                each.now = message
                return
        self.shown.append(Shown(where, message))

    def _happened(self) -> None:
        self._changed.set()


_SHOWN = "_ws_conversation/v1/conversations/stream"
_LOGGED = "_ws/log/stream"
_MENTION = f"<at>{BOT_NAME}</at>"
_MENTIONED = {"mentioned": {"id": BOT, "name": BOT_NAME}, "text": _MENTION}


@dataclass(frozen=True)
class SentMessage:
    """A message of a person. ``where`` is its chat, or the thread that it is in."""

    where: str
    text: str
    activity: Json
    """As it went to the bot; {} for one that the bot is not told of."""


class PlaygroundClient:
    """Somebody who writes, presses and judges. Raises aiohttp.ClientError, TimeoutError."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, screen: Screen, who: Person = ALEX
    ) -> None:
        self._session = session
        self.url = url
        self.screen = screen
        self.who = who

    def another(self, who: Person) -> PlaygroundClient:
        """Return the hands of somebody else at the same screen."""
        return PlaygroundClient(self._session, self.url, self.screen, who)

    async def opens(self, where: str = CHAT) -> None:
        """Look at a conversation, which tells the bot that it was added."""
        before = len(self.screen.log)
        await self._post(f"_debug/conversation/{where}/installation", {})
        await self.screen.until(lambda: len(_updates(self.screen.log[before:])) >= 2)

    async def says(self, text: str, where: str = CHAT, *, mention: bool = False) -> SentMessage:
        """Write a message; in a channel it begins a thread, or goes into the one named.

        Returns when the bot has answered that it has it; it may not be told at all.
        """
        body: dict[str, Any] = {"from": {"id": self.who.user}, "textFormat": "plain"}
        named = {**body, "text": f"{_MENTION} {text}", "mentions": [_MENTIONED]}
        before = len(self.screen.log)
        told = await self._post(
            f"_conversation/v1/conversations/{where}/messages",
            named if mention else {**body, "text": text},
        )
        there = str(told.get("postConversationId") or where)
        if not mention and where != CHAT:
            return SentMessage(there, text, {})
        sent = await self.screen.until(lambda: _sent_entry(self.screen.log[before:], there))
        return SentMessage(there, text, sent["request"]["body"])

    async def presses(self, shown: Shown, title: str, **fields: object) -> Json:
        """Press a button (Action.Execute); return what the presser is answered."""
        action = _button(shown.cards, title)
        assert action["type"] == "Action.Execute", f"{title!r} is {action['type']}"
        value = {
            "action": {**_chosen(action), "data": {**action.get("data", {}), **fields}},
            "trigger": "manual",
        }
        return await self._invoke("adaptiveCard/action", value, shown)

    async def judges(self, shown: Shown, reaction: str, words: str = "") -> None:
        """Press a thumb below a message, and send its form."""
        value = {"actionName": "feedback"}
        given = {"reaction": reaction, "feedback": words}
        await self._invoke("message/submitAction", {**value, "actionValue": given}, shown)

    async def custom(self, activity: Mapping[str, object]) -> Json:
        """Send the bot an activity that the playground has no button for; return the answer."""
        before = len(self.screen.log)
        await self._post("_internal/v1/customActivities", activity)

        def answered() -> Json | None:
            mine = (each for each in self.screen.log[before:] if _is_about(each, activity))
            return next(mine, None)

        entry: Json = await self.screen.until(answered)
        return dict(entry["response"])

    async def edits(self, said: SentMessage, text: str) -> Json:
        """Change a message, as Teams tells it."""
        changed = {"type": "messageUpdate", "text": text, "timestamp": _later(said.activity)}
        channel = {**said.activity["channelData"], "eventType": "editMessage"}
        return await self.custom({**said.activity, **changed, "channelData": channel})

    async def _invoke(self, name: str, value: Mapping[str, object], shown: Shown) -> Json:
        body = {"name": name, "value": value, **self._about(shown)}
        told: Json = await self._post("_conversation/v1/invoke", body)
        return told

    def _about(self, shown: Shown) -> Mapping[str, object]:
        return {
            "from": {"id": self.who.user},
            "conversation": {"id": shown.thread},
            "replyToId": shown.id,
        }

    async def _post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401  # JSON
        async with self._session.post(f"{self.url}/{path}", json=body) as answer:
            said = await answer.text()
            assert answer.status == 200, f"{path}: {answer.status} {said}"
            return json.loads(said) if said else {}


@asynccontextmanager
async def connected_client(url: str) -> AsyncIterator[PlaygroundClient]:
    """Sit down at a playground as Alex, whose client it is."""
    screen = Screen()
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}/{_SHOWN}", max_msg_size=0) as shown,
        session.ws_connect(f"{url}/{_LOGGED}", max_msg_size=0) as logged,
    ):
        watching = asyncio.gather(_watch(shown, screen.take), _watch(logged, screen.note))
        yield PlaygroundClient(session, url, screen)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _watch(stream: aiohttp.ClientWebSocketResponse, take: Callable[[Json], None]) -> None:
    async for told in stream:
        take(json.loads(told.data))


def _button(cards: Sequence[Json], title: str) -> Json:
    """Return a button of a card, also of a form that has to be unfolded first: "Reply > Send"."""
    actions = [action for card in cards for action in card.get("actions", ())]
    first, _, inside = title.partition(" > ")
    found = [each for each in actions if each["title"] == first]
    assert found, f"no {first!r} among {[each['title'] for each in actions]}"
    return _button([found[0]["card"]], inside) if inside else found[0]


def _chosen(action: Json) -> Json:
    return {name: action[name] for name in ("type", "title", "verb") if name in action}


def _sent_entry(log: Sequence[Json], where: str) -> Json | None:
    """Return what was sent to the bot of a message, once the bot has answered."""
    return next(
        (
            each
            for each in log
            if each.get("conversationId") == where
            and each.get("to") == "User Application"
            and each.get("activityName") == "message"
        ),
        None,
    )


def _updates(log: Sequence[Json]) -> Sequence[Json]:
    names = {"installationUpdate", "conversationUpdate"}
    return [each for each in log if each.get("activityName") in names]


def _is_about(entry: Json, activity: Mapping[str, object]) -> bool:
    body = (entry.get("request") or {}).get("body") or {}
    return (body.get("type"), body.get("id")) == (activity["type"], activity["id"])


def _later(activity: Json) -> str:
    """Return a time after that of an activity."""
    return str(activity["timestamp"]).replace("Z", "9Z")


_PUBLIC = "https://localhost"
"""Teams opens only https; nobody calls it, its pages are asked of the bot itself."""


@dataclass(frozen=True)
class PlaygroundScenario:
    """Alex at the playground, the bot behind it, and its operator."""

    bot: Server
    alex: PlaygroundClient
    operator: Client
    playground: Playground

    async def recorded(self, shown: Shown) -> dict[str, Any]:
        """Return what is kept of the question that a card with buttons is about."""
        about = next(action["data"]["about"] for action in shown.actions)
        status, told = await self.operator.get(f"{self.bot.url}/api/v1/interactions/{about}")
        assert status == 200, told
        return told

    async def page(self, url: str) -> int:
        """Open a page that is cited; return the status."""
        assert url.startswith(f"{_PUBLIC}/pages/"), url
        return await self.operator.page(f"{self.bot.url}{urlsplit(url).path}")


@asynccontextmanager
async def playground_scenario(directory: Path) -> AsyncIterator[PlaygroundScenario]:
    """Start both; at the end no process is left. The bot's data may be there already, in "bot"."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (directory / "bot").mkdir(exist_ok=True)
    bot = Server(directory / "bot", _settings(port), ("--sample",), plain=False)
    try:
        await bot.start()
        async with (
            playground(directory, f"{bot.url}/api/messages") as played,
            connected_client(played.url) as alex,
            client() as operator,
        ):
            yield PlaygroundScenario(bot, alex, operator, played)
    finally:
        await bot.kill()
        print("\n".join([*bot.said, *bot.logged]))


def _settings(port: int) -> dict[str, str]:
    return {
        "PORT": str(port),
        "PUBLIC_URL": _PUBLIC,
        "TEAMS_DEV_MODE": "true",
        "TEAMS_ESCALATION_CHANNEL": PEOPLE,
        "TEAMS_ADMINS": "alex@contoso.example",
        # Tests hand the same question over again and again, each to a case of its own.
        "ESCALATION_JOIN_DAYS": "0",
    }
