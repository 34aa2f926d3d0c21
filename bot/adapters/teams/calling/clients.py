"""botbuilder's clients of Teams' connector, one for each service, each kept for a while.

botbuilder makes one, with connections of its own, for every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botbuilder.integration.aiohttp import CloudAdapter
from requests.adapters import HTTPAdapter

from bot.adapters.teams.calling.rates import Clock
from bot.adapters.teams.calling.threads import Threads, ThreadsAsLoop

TIMEOUT_SECONDS = 15.0
CONNECTIONS = 32
"""Calls that run side by side, each in a thread; there would be CPUs + 4 of them."""

_KEPT_SECONDS = 60.0
"""What is between us and Microsoft forgets connections that are idle for some minutes."""

_MOST = 10


@dataclass(frozen=True, slots=True)
class _Kept:
    client: Any
    until: float


class Clients:
    """Returns what calls are made with; nothing is called yet."""

    def __init__(self, adapter: CloudAdapter, *, app_id: str, clock: Clock) -> None:
        self._adapter = adapter
        self._app_id = app_id
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._loop = ThreadsAsLoop(Threads(CONNECTIONS))

    async def conversations(self, service_url: str) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Return botbuilder's ``conversations`` of a service."""
        now = self._clock()
        kept = self._kept.get(service_url)
        if kept is None or now >= kept.until:
            kept = _Kept(await self._made(service_url), now + _KEPT_SECONDS)
            while len(self._kept) >= _MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[service_url] = kept
        return kept.client.conversations

    async def _made(self, service_url: str) -> Any:  # noqa: ANN401  # botbuilder has no types
        identity = self._adapter.create_claims_identity(self._app_id)
        factory = self._adapter.bot_framework_authentication.create_connector_factory(identity)
        client = await factory.create(service_url)
        # msrest would repeat calls by itself, posts among them.
        pool = HTTPAdapter(pool_maxsize=CONNECTIONS, max_retries=0)

        def configured(session: Any, *_: object, **sent: object) -> dict[str, object]:  # noqa: ANN401
            if session.adapters["https://"] is not pool:
                session.mount("https://", pool)
                session.mount("http://", pool)
            return {**sent, "session": _Session(session), "loop": self._loop}

        client.config.session_configuration_callback = configured
        client.config.connection.timeout = TIMEOUT_SECONDS
        return client


class _Session:
    """A session as msrest calls it, with the loop it runs the call in as one more argument."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401  # botbuilder has no types
        self._session = session

    def request(self, *named: object, loop: object, **sent: object) -> Any:  # noqa: ANN401, ARG002
        return self._session.request(*named, **sent)
