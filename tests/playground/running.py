"""The playground as a program: started on a port of its own, and ended for good."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest

from tests.playground.company import CONFIG

_PACKAGE = Path(__file__).parent / "node_modules" / "@microsoft" / "m365agentsplayground"
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
