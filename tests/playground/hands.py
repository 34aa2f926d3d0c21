"""What people do at the playground, by the interface that its own page uses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.playground.company import ALEX, BOT, BOT_NAME, CHAT, Person
from tests.playground.screen import Json, Screen, Shown

_SHOWN = "_ws_conversation/v1/conversations/stream"
_LOGGED = "_ws/log/stream"
_MENTION = f"<at>{BOT_NAME}</at>"
_MENTIONED = {"mentioned": {"id": BOT, "name": BOT_NAME}, "text": _MENTION}


@dataclass(frozen=True)
class Said:
    """A message of a person. ``where`` is its chat, or the thread that it is in."""

    where: str
    text: str
    activity: Json
    """As it went to the bot; {} for one that the bot is not told of."""


class Hands:
    """Somebody who writes, presses and judges. Raises aiohttp.ClientError, TimeoutError."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, screen: Screen, who: Person = ALEX
    ) -> None:
        self._session = session
        self.url = url
        self.screen = screen
        self.who = who

    def another(self, who: Person) -> Hands:
        """Return the hands of somebody else at the same screen."""
        return Hands(self._session, self.url, self.screen, who)

    async def opens(self, where: str = CHAT) -> None:
        """Look at a conversation, which tells the bot that it was added."""
        before = len(self.screen.log)
        await self._post(f"_debug/conversation/{where}/installation", {})
        await self.screen.until(lambda: len(_updates(self.screen.log[before:])) >= 2)

    async def says(self, text: str, where: str = CHAT, *, mention: bool = False) -> Said:
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
            return Said(there, text, {})
        sent = await self.screen.until(lambda: _sent(self.screen.log[before:], there))
        return Said(there, text, sent["request"]["body"])

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

    async def submits(self, shown: Shown, data: Mapping[str, object]) -> None:
        """Send what an Action.Submit sends."""
        body = {"value": data, **self._about(shown)}
        await self._post("_conversation/v1/submit", body)

    async def custom(self, activity: Mapping[str, object]) -> Json:
        """Send the bot an activity that the playground has no button for; return the answer."""
        before = len(self.screen.log)
        await self._post("_internal/v1/customActivities", activity)

        def answered() -> Json | None:
            mine = (each for each in self.screen.log[before:] if _is_of(each, activity))
            return next(mine, None)

        entry: Json = await self.screen.until(answered)
        return dict(entry["response"])

    async def edits(self, said: Said, text: str) -> Json:
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
async def at(url: str) -> AsyncIterator[Hands]:
    """Sit down at a playground as Alex, whose client it is."""
    screen = Screen()
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}/{_SHOWN}", max_msg_size=0) as shown,
        session.ws_connect(f"{url}/{_LOGGED}", max_msg_size=0) as logged,
    ):
        watching = asyncio.gather(_watch(shown, screen.take), _watch(logged, screen.note))
        yield Hands(session, url, screen)
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


def _sent(log: Sequence[Json], where: str) -> Json | None:
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


def _is_of(entry: Json, activity: Mapping[str, object]) -> bool:
    body = (entry.get("request") or {}).get("body") or {}
    return (body.get("type"), body.get("id")) == (activity["type"], activity["id"])


def _later(activity: Json) -> str:
    """Return a time after that of an activity."""
    return str(activity["timestamp"]).replace("Z", "9Z")
