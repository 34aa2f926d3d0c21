"""Cache botbuilder's connector clients and tokens, and run their blocking calls in threads.

botbuilder creates a client with its own connections for every call; here one client per service is
cached for a while. It creates new credentials for every turn, each with its own token request, and
fetches the token in a blocking call on the event loop; here credentials are created once. The
threads are our own: limited in number, and daemons, so that the exit of the process waits for none.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from botbuilder.integration.aiohttp import CloudAdapter
from botframework.connector.auth import ServiceClientCredentialsFactory
from requests.adapters import HTTPAdapter

from bot.platforms.teams.client.errors import NoToken
from bot.platforms.teams.client.rate_limits import Clock
from bot.platforms.teams.client.registration import TokenRefusal, token_refusal_of

_P = ParamSpec("_P")
_T = TypeVar("_T")
_QueuedCall = tuple[Future[Any], Callable[[], Any]] | None


class DaemonThreadPool(Executor):
    """Executor of daemon threads, separate from the event loop's own, which other code needs.

    A blocked call delays nothing else. At process exit a running call is abandoned and may or may
    not have been carried out, as when the process is killed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun = 0
        self._calls: SimpleQueue[_QueuedCall] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        weakref.finalize(self, self._calls.put, None)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Queue a call until a thread is free; must be called from one thread only."""
        future: Future[_T] = Future()
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if not self._idle.acquire(blocking=False) and self._begun < self._most:
            self._begun += 1
            name, work = f"teams-{self._begun}", (self._calls, self._idle)
            threading.Thread(target=_run_calls, args=work, name=name, daemon=True).start()
        return future


class LoopForBlockingCalls:
    """Event loop stand-in for msrest, which runs blocking calls in our threads."""

    def __init__(self, threads: DaemonThreadPool) -> None:
        self._threads = threads

    def run_in_executor(self, _: object, call: Callable[[], _T]) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, call)


def _run_calls(calls: SimpleQueue[_QueuedCall], idle: threading.Semaphore) -> None:
    """Run queued calls until the pool is gone."""
    while (call := _next_call(calls, idle)) is not None:
        future, act = call
        if future.set_running_or_notify_cancel():
            _run_call(future, act)
        del call, future, act
    calls.put(None)


def _next_call(calls: SimpleQueue[_QueuedCall], idle: threading.Semaphore) -> _QueuedCall:
    try:
        return calls.get_nowait()
    except Empty:
        idle.release()
        return calls.get()


def _run_call(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        result = act()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told who waits
        future.set_exception(error)
    else:
        future.set_result(result)


TIMEOUT_SECONDS = 15.0
CONNECTIONS = 32
"""Calls that run concurrently, one thread each; the default executor has CPUs + 4 threads."""

_CLIENT_SECONDS = 60.0
"""Lifetime of a client: proxies and firewalls drop connections that are idle for minutes."""

_MOST_CLIENTS = 10


@dataclass(frozen=True, slots=True)
class _CachedClient:
    client: Any
    until: float


class ConnectorClients:
    """Caches one connector client per service; nothing is called yet."""

    def __init__(self, adapter: CloudAdapter, *, app_id: str, clock: Clock) -> None:
        self._adapter = adapter
        self._app_id = app_id
        self._clock = clock
        self._kept: dict[str, _CachedClient] = {}
        self._loop = LoopForBlockingCalls(DaemonThreadPool(CONNECTIONS))

    async def conversations(self, service_url: str) -> Any:  # noqa: ANN401  # botbuilder has no types
        """Return botbuilder's ``conversations`` operations of a service."""
        now = self._clock()
        kept = self._kept.get(service_url)
        if kept is None or now >= kept.until:
            kept = _CachedClient(await self._made(service_url), now + _CLIENT_SECONDS)
            while len(self._kept) >= _MOST_CLIENTS:
                del self._kept[next(iter(self._kept))]
            self._kept[service_url] = kept
        return kept.client.conversations

    async def _made(self, service_url: str) -> Any:  # noqa: ANN401  # botbuilder has no types
        identity = self._adapter.create_claims_identity(self._app_id)
        factory = self._adapter.bot_framework_authentication.create_connector_factory(identity)
        client = await factory.create(service_url)
        # msrest would retry by itself, even posts, which are not idempotent.
        pool = HTTPAdapter(pool_maxsize=CONNECTIONS, max_retries=0)

        def configured(session: Any, *_: object, **sent: object) -> dict[str, object]:  # noqa: ANN401
            if session.adapters["https://"] is not pool:
                session.mount("https://", pool)
                session.mount("http://", pool)
            return {**sent, "session": _SessionWithLoop(session), "loop": self._loop}

        client.config.session_configuration_callback = configured
        client.config.connection.timeout = TIMEOUT_SECONDS
        return client


class _SessionWithLoop:
    """Requests session with the signature msrest expects: the loop as one more argument."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401  # botbuilder has no types
        self._session = session

    def request(self, *named: object, loop: object, **sent: object) -> Any:  # noqa: ANN401, ARG002
        return self._session.request(*named, **sent)


class TokenCredentials:
    """Credentials that sign with the last fetched token; botbuilder's fetch one on each signing."""

    def __init__(self, credentials: Any) -> None:  # noqa: ANN401  # botbuilder has no types
        self._credentials = credentials
        self._token = ""

    def get_access_token(self, force_refresh: bool = False) -> str:  # noqa: FBT001, FBT002  # its signature
        """Fetch a token with a blocking call; MSAL caches it while it is valid."""
        self._token = str(self._credentials.get_access_token(force_refresh))
        return self._token

    def signed_session(self, session: Any) -> Any:  # noqa: ANN401  # msrest has no types
        """Set the session's Authorization header, or none without a token (development)."""
        session.headers.pop("Authorization", None)
        if self._token:
            session.headers["Authorization"] = f"Bearer {self._token}"
        return session


class CachedCredentials:
    """Caches the credentials of a factory, whose interface it has itself.

    ``trouble`` is why the last token request failed, or None if it succeeded.
    """

    def __init__(self, factory: ServiceClientCredentialsFactory) -> None:
        self._factory = factory
        self._made: dict[tuple[str, str, str, bool], TokenCredentials] = {}
        self._fetching = asyncio.Lock()
        self._thread = DaemonThreadPool(1)
        self.trouble: TokenRefusal | None = None

    async def is_valid_app_id(self, app_id: str) -> bool:
        return bool(await self._factory.is_valid_app_id(app_id))

    async def is_authentication_disabled(self) -> bool:
        return bool(await self._factory.is_authentication_disabled())

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001  # its signature
    ) -> TokenCredentials:
        key = (app_id, oauth_scope, login_endpoint, validate_authority)
        if key not in self._made:
            self._made[key] = TokenCredentials(await self._factory.create_credentials(*key))
        return self._made[key]

    async def warm(self) -> None:
        """Fetch a valid token for all credentials created so far. Raises NoToken."""
        async with self._fetching:
            if await self.is_authentication_disabled():
                return
            loop = asyncio.get_running_loop()
            try:
                for credentials in list(self._made.values()):
                    await loop.run_in_executor(self._thread, credentials.get_access_token)
            except Exception as error:
                # botbuilder raises many types, among them PermissionError for a rejected secret.
                raise self.refused(error) from error
            self.trouble = None

    def refused(self, error: Exception) -> NoToken:
        """Store why no token was issued; return it as a NoToken error."""
        self.trouble = token_refusal_of(error)
        return NoToken(str(self.trouble))
