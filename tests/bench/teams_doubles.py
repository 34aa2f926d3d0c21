"""A Teams in a process of its own, with its rate limits on, and a company in it.

``python -m tests.bench.teams_doubles`` prints where it is, and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from tests.bench.beside import listen, process_of
from tests.fakes.teams import activities as teams_activities
from tests.fakes.teams import names
from tests.fakes.teams.people import ROOT, Conversation, Human, chat_of
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import is_waiting

PEOPLE = 1_000
CHANNELS = 100
CHATS_OF_TEN = 6
"""So many of ten questions are asked in a chat with the bot."""


@dataclass(frozen=True, slots=True)
class TeamsDouble:
    """Where the tenant is, and a token that its bot service signed."""

    url: str
    token: str
    seen: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands there: replies by question, what only says that it is worked on; and refusals."""

    replies: dict[str, int]
    orphans: int
    calls: dict[str, int]
    refused_for_rate: int


@asynccontextmanager
async def teams_double() -> AsyncIterator[TeamsDouble]:
    """Run a tenant until the block ends."""
    async with process_of("tests.bench.teams_doubles") as told:
        yield TeamsDouble(**json.loads(told))


async def look(session: aiohttp.ClientSession, there: TeamsDouble) -> Seen:
    async with session.get(there.seen) as answer:
        return Seen(**await answer.json())


def company() -> FakeTeams:
    """Return a tenant with a company's people, each with the app, and its channels."""
    teams = FakeTeams(strict_rates=True)
    for number in range(CHANNELS):
        place = _channel(number)
        teams.conversations[place] = Conversation(place, "channel", team=names.TEAM)
    for number in range(PEOPLE):
        address = f"person{number}@acme.example"
        human = Human(_person(number), f"29:{number}", f"Person {number}", address, address)
        teams.add(human, *(_channel((number + more) % CHANNELS) for more in range(10)))
    return teams


def activities(url: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return questions as Teams sends them, from all over the company."""
    teams = company()
    teams.url = url
    return [_asked(teams, number, text) for number, text in enumerate(texts)]


def _asked(teams: FakeTeams, number: int, text: str) -> dict[str, Any]:
    human, name = teams.people[_person(number % PEOPLE)], teams.next_id()
    private = number % 10 < CHATS_OF_TEN
    channel = f"{_channel(number % CHANNELS)}{ROOT}{name}"
    place = chat_of(human.id) if private else channel
    return teams_activities.message(teams, human, place, name, text=text, mention=not private)


def _person(number: int) -> str:
    return f"person{number:04d}-object-id"


def _channel(number: int) -> str:
    return f"19:room{number:03d}@thread.tacv2"


async def _serve() -> None:
    made = company()
    made.keys["k1"] = generate_private_key(public_exponent=65537, key_size=2048)
    async with made.serving() as teams:

        async def seen(_: web.Request) -> web.Response:
            words = [post for post in teams.messages if post.text]
            left = sum(stream.state == "open" for stream in teams.streams.values())
            told = {
                "replies": Counter(str(post.reply_to) for post in words if not is_waiting(post)),
                "orphans": sum(map(is_waiting, words)) + left,
                "calls": Counter(teams.calls),
                "refused_for_rate": teams.refused_for_rate,
            }
            return web.json_response(told)

        app = web.Application()
        app.router.add_get("/seen", seen)
        where = {"url": teams.url, "token": teams.token(), "seen": f"{await listen(app)}/seen"}
        print(json.dumps(where), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
