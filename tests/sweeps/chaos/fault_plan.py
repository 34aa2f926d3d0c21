"""Which faults come when, drawn from a seed, and how each is done."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import aiohttp
import numpy as np
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.postgres import Server
from tests.sweeps.chaos.server_processes import START_SECONDS, Replica, ServerProcesses, Timeline

Trouble = Literal["none", "cut after", "cut before", "500 after", "500 before", "429"]

_POST = "chat.postMessage"
_LOOK_UP = frozenset({"conversations.replies", "conversations.history"})
_TROUBLES: tuple[Trouble, ...] = (
    "none",
    "cut after",
    "cut before",
    "500 after",
    "500 before",
    "429",
)
_SHARES: Mapping[str, tuple[float, ...]] = {
    "post": (0.85, 0.04, 0.02, 0.04, 0.02, 0.03),
    "first post": (0.4, 0.2, 0.1, 0.15, 0.05, 0.1),
    "look-up": (0.88, 0.0, 0.04, 0.0, 0.04, 0.04),
}
"""How often each trouble comes: at any post, at the first post after a kill, at a look-up."""

_BEFORE_SECONDS = 0.03
_AFTER_SECONDS = 0.3
"""At most so long a post is on its way, and its answer on the way back."""


class SlackConnection:
    """A proxy before a Slack: slow around each post, and sometimes broken at the worst moment.

    ``stormy`` turns both on. ``forgetful`` hides what look-ups need, so that a check that finds
    repeated replies can be seen to find them.
    """

    def __init__(self, target: str, draw: np.random.Generator, *, forgetful: bool = False) -> None:
        self._target = target
        self._draw = draw
        self._forgetful = forgetful
        self._after_kill = False
        self._session: aiohttp.ClientSession | None = None
        self.stormy = False
        self.url = ""
        self.troubles: Counter[Trouble] = Counter()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[SlackConnection]:
        """Run the proxy until the block ends."""
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._handle)
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            aiohttp.ClientSession(connector=connector) as self._session,
            TestServer(app, host="127.0.0.1") as server,
        ):
            self.url = str(server.make_url("/api/"))
            yield self

    def after_kill(self) -> None:
        """Make trouble likely at the next post."""
        self._after_kill = True

    async def _handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        body = await request.read()
        trouble = self._trouble(method)
        if trouble in {"cut before", "500 before", "429"}:
            return _broken(request, trouble)
        slow = self.stormy and method == _POST
        await asyncio.sleep(self._draw.random() * _BEFORE_SECONDS if slow else 0)
        answer = await self._forward(request, method, body)
        await asyncio.sleep(self._draw.random() * _AFTER_SECONDS if slow else 0)
        return answer if trouble == "none" else _broken(request, trouble)

    def _trouble(self, method: str) -> Trouble:
        if not self.stormy or method not in {_POST, *_LOOK_UP}:
            return "none"
        kind = "look-up"
        if method == _POST:
            kind = "first post" if self._after_kill else "post"
            self._after_kill = False
        trouble = _TROUBLES[int(self._draw.choice(len(_TROUBLES), p=_SHARES[kind]))]
        if trouble != "none":
            self.troubles[trouble] += 1
        return trouble

    async def _forward(self, request: web.Request, method: str, body: bytes) -> web.Response:
        assert self._session is not None
        passed = ("Authorization", "Content-Type")
        async with self._session.request(
            request.method,
            self._target + method,
            params=request.query,
            data=body,
            headers={name: request.headers[name] for name in passed if name in request.headers},
        ) as answer:
            content = await answer.read()
            if self._forgetful and method in _LOOK_UP:
                content = _without_metadata(content)
            scopes = {n: v for n, v in answer.headers.items() if n.lower() == "x-oauth-scopes"}
            return web.Response(
                body=content,
                status=answer.status,
                headers=scopes,
                content_type="application/json",
            )


def _broken(request: web.Request, trouble: Trouble) -> web.Response:
    match trouble:
        case "cut before" | "cut after":
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        case "429":
            said = {"ok": False, "error": "ratelimited"}
            return web.json_response(said, status=429, headers={"Retry-After": "1"})
        case _:
            return web.json_response({"ok": False, "error": "internal_error"}, status=500)


def _without_metadata(content: bytes) -> bytes:
    answer = json.loads(content)
    for message in answer.get("messages", ()):
        message.pop("metadata", None)
    return json.dumps(answer).encode()


Kind = Literal["kill", "kill for good", "restart", "crash", "disconnect"]

_LONGEST_WAIT_SECONDS = 1.0
_AT_WORK_SHARE = 0.75
_MOST_REPLIES = 20
_LONGEST_AT_WORK_SECONDS = 20.0
_GLANCE_SECONDS = 0.05
_STILL_TO_COME = 8
"""So many questions are asked around and after the last fault."""
_NEWCOMER_SECONDS = (2.0, 6.0)
"""A server that is gone for good is replaced by another one after a while."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Comes ``wait_seconds`` after question number ``after`` was sent.

    ``replies``: most kills wait until so many replies have been posted since the server takes
    questions. Others, with 0, may find it starting, and taking up what the one before left.
    kill: the server is started again at once. kill for good: another one takes its place.
    restart, crash: PostgreSQL is stopped, orderly or not, and started. disconnect: all of its
    connections are cut.
    """

    after: int
    wait_seconds: float
    kind: Kind
    replies: int


def draw_faults(
    questions: int, kinds: Sequence[Kind], draw: np.random.Generator
) -> tuple[Fault, ...]:
    """Spread faults over the questions: each at random within its share of them.

    The last kind comes last, while the last questions are asked.
    """
    share = questions / len(kinds)
    last = max(0, questions - _STILL_TO_COME)
    points = [int((number + draw.random()) * share) for number in range(len(kinds) - 1)]
    earlier = [
        Fault(
            after=min(after, last),
            wait_seconds=float(draw.random()) * _LONGEST_WAIT_SECONDS,
            kind=kind,
            replies=_replies(draw),
        )
        for after, kind in zip(points, kinds[:-1], strict=True)
    ]
    return (*earlier, Fault(last, float(draw.random()), kinds[-1], replies=0))


def _replies(draw: np.random.Generator) -> int:
    """Draw how much a server does before it is killed; a slow machine only takes longer for it."""
    at_work = draw.random() < _AT_WORK_SHARE
    return int(draw.integers(1, _MOST_REPLIES + 1)) if at_work else 0


def on_sqlite(kills: int) -> tuple[Kind, ...]:
    """Return the faults of one server that always comes back."""
    return tuple("kill" for _ in range(kills))


def on_postgresql(
    kills: int, restarts: int, disconnects: int, draw: np.random.Generator
) -> tuple[Kind, ...]:
    """Return the faults of several servers on one database, in random order.

    Every other kill is for good, and so is the last fault of all: its work must be taken over.
    """
    chosen: list[Kind] = ["kill" if number % 2 else "kill for good" for number in range(1, kills)]
    chosen += ["restart" if number % 2 else "crash" for number in range(restarts)]
    chosen += ["disconnect"] * disconnects
    shuffled: list[Kind] = [chosen[index] for index in draw.permutation(len(chosen)).tolist()]
    return (*shuffled, "kill for good")


class Saboteur:
    """Does the faults, one after the other, while questions are asked.

    ``done`` counts them; ``awaited`` is set while no question is asked until one more is done.
    """

    def __init__(
        self,
        fleet: ServerProcesses,
        wire: SlackConnection,
        timeline: Timeline,
        draw: np.random.Generator,
        *,
        posted: Callable[[], int],
        unanswered: Callable[[], int],
        database: Server | None = None,
        name: str = "",
    ) -> None:
        self._fleet = fleet
        self._wire = wire
        self._timeline = timeline
        self._draw = draw
        self._posted = posted
        self._unanswered = unanswered
        self._database = database
        self._name = name
        self.done = 0
        self.awaited = False
        self._coming: list[asyncio.Task[None]] = []

    async def do(self, fault: Fault) -> None:
        """Do one fault, and what follows at once; a newcomer comes later."""
        victim = self._victim(at_work=fault.kind == "kill for good")
        if fault.replies:
            await self._at_work(victim, fault.replies)
        await asyncio.sleep(fault.wait_seconds)
        match fault.kind:
            case "kill" | "kill for good":
                await self._kill(victim, for_good=fault.kind == "kill for good")
            case "restart" | "crash":
                await self._restart(crash=fault.kind == "crash")
            case "disconnect":
                await self._disconnect()
        self.done += 1

    async def end(self) -> None:
        """Bring no more newcomers."""
        for task in self._coming:
            task.cancel()
        await asyncio.gather(*self._coming, return_exceptions=True)

    async def _at_work(self, victim: Replica, replies: int) -> None:
        """Wait until a server runs and some replies were posted, or none are due any more."""
        async with asyncio.timeout(START_SECONDS):
            await victim.ready.wait()
        enough = self._posted() + replies
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_AT_WORK_SECONDS):
                while self._posted() < enough and not self._in_vain():  # noqa: ASYNC110 - elsewhere
                    await asyncio.sleep(_GLANCE_SECONDS)

    def _in_vain(self) -> bool:
        """Tell whether all is answered, and nothing more is asked before this fault is done."""
        return self.awaited and self._unanswered() <= 0

    async def _kill(self, victim: Replica, *, for_good: bool) -> None:
        self._wire.after_kill()
        await self._fleet.kill(victim)
        if for_good:
            self._fleet.remove(victim)
            self._coming.append(asyncio.create_task(self._newcomer()))
        else:
            await self._fleet.start(victim)

    def _victim(self, *, at_work: bool) -> Replica:
        """Choose a server; one that never comes back should have work that is to be taken over."""
        living = [replica for replica in self._fleet.replicas if replica.alive]
        working = [replica for replica in living if at_work and replica.ready.is_set()]
        candidates = working or living or self._fleet.replicas
        return candidates[int(self._draw.integers(len(candidates)))]

    async def _newcomer(self) -> None:
        await asyncio.sleep(float(self._draw.uniform(*_NEWCOMER_SECONDS)))
        await self._fleet.add()

    async def _restart(self, *, crash: bool) -> None:
        if self._database is not None:
            how = "crashed" if crash else "stopped"
            self._timeline.note(f"PostgreSQL {how}", fault=True)
            await asyncio.to_thread(self._database.restart, crash=crash)
            self._timeline.note("PostgreSQL is back", fault=True)

    async def _disconnect(self) -> None:
        if self._database is not None:
            await asyncio.to_thread(self._database.disconnect, self._name)
            self._timeline.note("all connections to PostgreSQL cut", fault=True)
