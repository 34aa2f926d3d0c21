"""One real ``serve`` in a process of its own, to be asked, stopped, killed and watched."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp

from tests.e2e.conftest import environment
from tests.fakes.slack import events
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack
from tests.fork_server import Programme, Running, started
from tests.sweeps.chaos.questions import TOPICS
from tests.sweeps.faults.model import QuotingModel

CHANNELS = tuple(f"C0HELP{number:03d}" for number in range(100))
"""A channel takes an answer a second; a company asks in many."""


def channel_of(ts: str) -> str:
    """Return where a question is asked."""
    return CHANNELS[int(ts[2:10]) % len(CHANNELS)]


SERVING = re.compile(r"Serving (http://\S+) ")
START_SECONDS = 180.0
"""A guard against a server that never listens; a busy machine takes its time."""
LONG = 120.0
"""Within so long everything happens, unless it never does."""
ADMIN_TOKEN = "open-sesame-open-sesame"
BEARER = {"Authorization": f"Bearer {ADMIN_TOKEN}"}

UNLIMITED = {
    "FRONTDESK_ADMIN_TOKEN": ADMIN_TOKEN,
    "CONFIDENCE_THRESHOLD": "0.05",
    "RATE_PER_USER_PER_MINUTE": "0",
    "RATE_PER_CHANNEL_PER_MINUTE": "0",
}
"""A threshold so low that what is answered does not hang on the trained figures."""


def on_slack(url: str) -> dict[str, str]:
    """Return the settings of a server on a workspace that runs here."""
    return {
        "SLACK_BOT_TOKEN": TOKEN,
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_API_URL": url,
        "SLACK_TEAM_ID": TEAM,
    }


def on_model(url: str) -> dict[str, str]:
    """Return the settings of a server with a model that runs here."""
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_MODEL": "quoting",
        "OPENAI_API_KEY": "none",
        "OPENAI_TIMEOUT_SECONDS": "60",
    }


class Server:
    """A server that may run; its data directory stays.

    ``said`` and ``logged`` are what it wrote to standard output and standard error, in lines.
    ``program`` is the module that is run: ``bot``, or one that prepares the process for it.
    ``plain``: by an interpreter of its own, as what is measured must be; otherwise it is forked.
    """

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, str],
        arguments: Sequence[str] = (),
        *,
        program: str = "bot",
        plain: bool = True,
    ) -> None:
        self.data_dir = data_dir
        self._program = program
        self._plain = plain
        self._arguments = arguments
        self.settings = {**UNLIMITED, **settings}
        self.url = ""
        self.said: list[str] = []
        self.logged: list[str] = []
        self._process: Running | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._serving = asyncio.Event()

    @property
    def pid(self) -> int:
        """Return the number of the process, which must have been started."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start and wait until it listens. Fails when it ends instead."""
        await self.launch()
        listens = asyncio.create_task(self._serving.wait())
        assert self._process is not None
        ended = asyncio.create_task(self._process.wait())
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.wait([listens, ended], return_when=asyncio.FIRST_COMPLETED)
            assert self._serving.is_set(), self.logged[-5:]
        finally:
            listens.cancel()
            ended.cancel()

    async def launch(self) -> None:
        """Start without waiting for anything."""
        self._serving.clear()
        arguments = (self._program, "serve", *self._arguments)
        programme = Programme(arguments, environment(self.data_dir, **self.settings))
        process = self._process = await started(programme, plain=self._plain)
        assert process.stderr
        self._reading = [
            asyncio.create_task(self._read(process.stdout, self.said)),
            asyncio.create_task(self._read(process.stderr, self.logged)),
        ]

    async def ended(self, within_seconds: float = LONG) -> int:
        """Wait until it ends by itself; return its exit code. Raises TimeoutError."""
        assert self._process is not None
        async with asyncio.timeout(within_seconds):
            code = await self._process.wait()
            await asyncio.gather(*self._reading)
        return code

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        """End it at once, whatever it does; harmless when it has ended."""
        if self._process is not None:
            self.send(signal.SIGKILL)
            await self.ended(START_SECONDS)

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        async for line in stream:
            lines.append(line.decode().rstrip())
            if found := SERVING.search(lines[-1]):
                self.url = found.group(1)
                self._serving.set()


@asynccontextmanager
async def server(
    data_dir: Path, how: Literal["forked", "plain"] = "forked", /, **settings: str
) -> AsyncIterator[Server]:
    """Make a server, not started; when the block ends it is ended and shown."""
    made = Server(data_dir, settings, plain=how == "plain")
    try:
        yield made
    finally:
        await made.kill()
        print("\n".join([*made.said, *made.logged]))


class Client:
    """Sends what platforms, programs and probes send."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def mention(self, url: str, text: str, ts: str, **more: object) -> int:
        """Deliver a question as Slack does, once; return the status, 0 without an answer.

        It is asked in one of many channels.
        """
        more = {"channel": channel_of(ts), **more}
        raw = json.dumps(events.envelope(events.mention(text, ts, **more))).encode()
        try:
            async with self.session.post(
                f"{url}/slack/events",
                data=raw,
                headers=events.signed(raw),
                timeout=aiohttp.ClientTimeout(total=10),
            ) as answer:
                return answer.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0

    async def ask(self, url: str, question: str, key: str) -> tuple[int, dict[str, Any]]:
        """Ask over the API; return status and body, 0 when the connection was cut."""
        try:
            async with self.session.post(
                f"{url}/api/v1/ask",
                json={"question": question},
                headers={**BEARER, "Idempotency-Key": key},
            ) as answer:
                return answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0, {}

    async def upload(self, url: str, space: str, name: str, text: str) -> int:
        """Send a document; return the status."""
        sent = aiohttp.FormData()
        sent.add_field("file", text.encode(), filename=name)
        address = f"{url}/api/v1/documents/{space}"
        async with self.session.post(address, data=sent, headers=BEARER) as answer:
            return answer.status

    async def post(self, url: str, body: Mapping[str, object]) -> int:
        """Do something as an admin; return the status."""
        async with self.session.post(url, json=body, headers=BEARER) as answer:
            return answer.status

    async def delete(self, url: str) -> int:
        """Delete something as an admin; return the status."""
        async with self.session.delete(url, headers=BEARER) as answer:
            return answer.status

    async def get(self, url: str) -> tuple[int, dict[str, Any]]:
        """Fetch something as an operator."""
        async with self.session.get(url, headers=BEARER) as answer:
            return answer.status, await answer.json()

    async def page(self, url: str) -> int:
        """Open a page as an operator; return the status."""
        async with self.session.get(url, headers=BEARER) as answer:
            return answer.status


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    """Open a client whose connections are not limited and not kept."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Client(session)


_LOOK_SECONDS = 0.1


def question(number: int) -> tuple[str, str]:
    """Return a question's text and its ts, which also names its thread."""
    return TOPICS[number % len(TOPICS)].question, f"17{number:08d}.000100"


def mark(number: int) -> str:
    """Return the word that only the answer to a question shows."""
    return TOPICS[number % len(TOPICS)].mark


async def until(happened: Callable[[], bool], *, within_seconds: float = LONG) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(within_seconds):
        while not happened():  # noqa: ASYNC110 - what happens is in other processes
            await asyncio.sleep(_LOOK_SECONDS)


async def until_found(look: Callable[[], Awaitable[bool]], *, within_seconds: float = LONG) -> None:
    """Wait until a look finds something. Raises TimeoutError."""
    async with asyncio.timeout(within_seconds):
        while not await look():  # noqa: ASYNC110 - as above
            await asyncio.sleep(_LOOK_SECONDS)


async def until_ready(asker: Client, url: str, *, within_seconds: float = LONG) -> dict[str, Any]:
    """Wait until the server says that it is ready; return what it says. Raises TimeoutError."""
    told: dict[str, Any] = {}

    async def ready() -> bool:
        nonlocal told
        status, told = await asker.get(f"{url}/ready")
        return status == 200

    await until_found(ready, within_seconds=within_seconds)
    return told


async def until_not_ready(asker: Client, url: str, *, within_seconds: float = LONG) -> str:
    """Wait until the server says that it is not ready; return what it says of its troubles."""
    told: dict[str, Any] = {}

    async def not_ready() -> bool:
        nonlocal told
        status, told = await asker.get(f"{url}/ready")
        return status == 503

    await until_found(not_ready, within_seconds=within_seconds)
    failed = [part for part in told["parts"] if part["state"] == "failed"]
    return " ".join(f"{part['name']}: {part['detail']} {part['cure'] or ''}" for part in failed)


def replies(slack: FakeSlack, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many replies each question has that say what its answer says."""
    return {
        number: sum(mark(number) in post.shown for post in slack.in_thread(channel_of(ts), ts))
        for number in numbers
        for _, ts in [question(number)]
    }


async def ask_of_held(
    model: QuotingModel, asker: Client, running: Server, numbers: Sequence[int]
) -> None:
    """Start a server, and ask until the model, which answers nothing, has all questions."""
    model.hold()
    await running.start()
    for number in numbers:
        assert await asker.mention(running.url, *question(number)) == 200
    await until(lambda: model.waiting == len(numbers))


def all_once(slack: FakeSlack, numbers: Sequence[int]) -> Callable[[], bool]:
    """Return a look that tells whether each question is answered, and once."""
    return lambda: set(replies(slack, numbers).values()) == {1}


async def until_indexed(asker: Client, url: str, space: str, documents: int) -> None:
    """Wait until a space holds so many documents. Raises TimeoutError."""

    async def all_there() -> bool:
        _, told = await asker.get(f"{url}/api/v1/documents/{space}")
        return len(told.get("documents", ())) == documents

    await until_found(all_there)


async def waiting_case(asker: Client, url: str) -> str:
    """Wait until one question has gone to people, and return its id."""
    found: list[dict[str, Any]] = []

    async def there() -> bool:
        _, told = await asker.get(f"{url}/api/v1/escalations")
        found[:] = told["escalations"]
        return bool(found)

    await until_found(there)
    return str(found[0]["interaction_id"])
