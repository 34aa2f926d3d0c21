"""Calls of the connector's REST API as a bot makes them, without the bot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.visitor import Visitor


@dataclass(frozen=True)
class Told:
    """What the connector answered; ``body`` is {} where there is none."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Rest:
    """A session at the connector; ``visitor`` is Alice beside it."""

    def __init__(self, teams: FakeTeams, session: aiohttp.ClientSession) -> None:
        self._teams = teams
        self._session = session
        self.visitor = Visitor(teams, session)

    async def post(self, conversation: str, activity: Mapping[str, Any]) -> Told:
        path = f"conversations/{conversation}/activities"
        return await self.call("POST", path, activity)

    async def put(self, conversation: str, name: str, activity: Mapping[str, Any]) -> Told:
        path = f"conversations/{conversation}/activities/{name}"
        return await self.call("PUT", path, activity)

    async def delete(self, conversation: str, name: str) -> Told:
        return await self.call("DELETE", f"conversations/{conversation}/activities/{name}")

    async def get(self, path: str) -> Told:
        return await self.call("GET", path)

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Told:
        url = f"{self._teams.url}/v3/{path}"
        async with self._session.request(method, url, json=body) as answer:
            told = await answer.json() if answer.content_type == "application/json" else {}
            return Told(answer.status, told, answer.headers)
