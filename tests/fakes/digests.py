"""Digests: subscriptions in memory, what was sent, and a mail server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

from bot.domain.errors import DeliveryFailed
from bot.learning.digest import Digest, Schedule, Sending, Subscription

MONDAY_MORNING = Schedule(0, 8, UTC)
DUE = datetime(2026, 11, 23, 8, tzinfo=UTC)
"""A Monday morning."""


def sending(*, again: bool = False, key: str = "digest:2026-W48:x") -> Sending:
    """A digest with a line that must not become live."""
    line = "\u2022 \u201cvpn <!channel> *809*?\u201d: 3 questions https://desk.example.com/board"
    digest = Digest("Frontdesk, the week", (("What the wiki lacks:", (line,)),), "No more: off")
    return Sending(key, digest, datetime.now(UTC), again)


class MemoryDigests:
    """Implements bot.learning.digest.DigestRecord in memory; no case and no answer is in it."""

    def __init__(self) -> None:
        self.kept: dict[str, Subscription] = {}
        self.acts: list[tuple[str, str, str]] = []

    async def subscribe(self, tenant: str, wanted: Subscription, *, actor: str) -> None:
        self.kept[wanted.target] = wanted
        self.acts.append((actor, "digest on", wanted.target))

    async def unsubscribe(self, tenant: str, target: str, *, actor: str) -> bool:
        there = target in self.kept and not self.kept[target].off
        if there:
            self.kept[target] = replace(self.kept[target], off=True)
            self.acts.append((actor, "digest off", target))
        return there

    async def one(self, tenant: str, target: str) -> Subscription | None:
        return self.kept.get(target)

    async def listed(self, tenant: str) -> Sequence[Subscription]:
        return list(self.kept.values())

    async def tried(self, tenant: str, target: str, week: str) -> None:
        self.kept[target] = replace(self.kept[target], tried_week=week)

    async def ended(self, tenant: str, target: str, week: str, failure: str = "") -> None:
        self.kept[target] = replace(self.kept[target], sent_week=week, failure=failure)

    async def failed(self, tenant: str, target: str, failure: str) -> None:
        self.kept[target] = replace(self.kept[target], failure=failure)

    async def open_since(self, tenant: str) -> Sequence[datetime]:
        return []

    async def answers_live_since(self, tenant: str, since: datetime) -> int:
        return 0


@dataclass
class SentDigests:
    """Implements SendsDigests; ``failing`` is what sending raises, ``dies`` after it has sent."""

    sent: list[tuple[str, Sending]] = field(default_factory=list)
    failing: DeliveryFailed | None = None
    dies: bool = False
    platform: str = "slack"

    async def send_digest(self, address: str, sending: Sending) -> None:
        if self.failing is not None:
            raise self.failing
        if sending.again and any(each.key == sending.key for _, each in self.sent):
            return
        self.sent.append((address, sending))
        if self.dies:
            raise asyncio.CancelledError


@dataclass
class MailServer:
    """A mail server on this machine; ``mails`` are what it took, ``refusal`` what it says to them.

    Without ``tls`` it offers no STARTTLS.
    """

    tls: ssl.SSLContext | None
    mails: list[EmailMessage] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    refusal: str = ""
    port: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[MailServer]:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(b"220 here\r\n")
            secure = False
            while line := (await reader.readline()).decode().strip():
                secure = await self._answer(line, reader, writer, secure=secure)
        writer.close()

    async def _answer(
        self,
        line: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        secure: bool,
    ) -> bool:
        verb = line.split(maxsplit=1)[0].upper()
        if verb == "EHLO":
            offers = "AUTH PLAIN" if secure else "STARTTLS" if self.tls else "SIZE 1000000"
            writer.write(f"250-here\r\n250 {offers}\r\n".encode())
        elif verb == "STARTTLS" and self.tls:
            writer.write(b"220 go\r\n")
            await writer.start_tls(self.tls)
            return True
        elif verb == "AUTH":
            self.logins.append(line)
            writer.write(b"235 welcome\r\n")
        elif verb == "RCPT" and self.refusal:
            writer.write(f"{self.refusal}\r\n".encode())
        elif verb == "DATA":
            writer.write(b"354 go on\r\n")
            text = await reader.readuntil(b"\r\n.\r\n")
            self.mails.append(message_from_bytes(text[:-5], policy=policy.default))
            writer.write(b"250 taken\r\n")
        else:
            writer.write(b"221 bye\r\n" if verb == "QUIT" else b"250 fine\r\n")
        return secure
