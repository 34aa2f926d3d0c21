"""Send digests by mail: SMTP, encrypted, in a thread."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from hashlib import sha256
from typing import Literal
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import SecretStr

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.learning.digest import Sending

_TIMEOUT_SECONDS = 30.0
_PERMANENT = range(500, 600)


@dataclass(frozen=True, slots=True)
class DigestMail:
    """Sends digests by mail. Implements SendsDigests.

    A repeated mail has the same Message-ID, by which servers and clients drop it. ``tls`` decides
    which certificates are trusted.
    """

    url: SecretStr
    sender: str
    tls: ssl.SSLContext

    @property
    def platform(self) -> Literal["email"]:
        return "email"

    async def send_digest(self, address: str, sending: Sending) -> None:
        """Send a mail. Raises DeliveryFailed, DeliveryRefused."""
        mail = _mail(self.sender, address, sending)
        server = urlsplit(self.url.get_secret_value())
        try:
            await asyncio.to_thread(_send, server, mail, self.tls)
        except smtplib.SMTPResponseException as error:
            raise _failure(server, error.smtp_code) from error
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            raise _failure(server, max(codes, default=0)) from error
        except (smtplib.SMTPException, OSError) as error:
            raise DeliveryFailed(
                f"The mail server {server.hostname!r} can't be used ({type(error).__name__}). "
                "Look at SMTP_URL; the connection must be encrypted (STARTTLS or smtps://)."
            ) from error


def _failure(server: SplitResult, code: int) -> DeliveryFailed:
    kind = DeliveryRefused if code in _PERMANENT else DeliveryFailed
    return kind(
        f"The mail server {server.hostname!r} refused the mail with {code}. Look at SMTP_URL, "
        "SMTP_FROM and the address."
    )


def _mail(sender: str, address: str, sending: Sending) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = sending.digest.subject
    mail["From"], mail["To"] = sender, address
    mail["Date"] = format_datetime(datetime.now(sending.since.tzinfo))
    domain = sender.rpartition("@")[2]
    mail["Message-ID"] = f"<{sha256(sending.key.encode()).hexdigest()[:32]}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(sending.digest.text())
    return mail


def _send(server: SplitResult, mail: EmailMessage, tls: ssl.SSLContext) -> None:
    host = server.hostname or ""
    if server.scheme == "smtps":
        with smtplib.SMTP_SSL(
            host, server.port or 465, timeout=_TIMEOUT_SECONDS, context=tls
        ) as connection:
            _hand_over(connection, server, mail)
        return
    with smtplib.SMTP(host, server.port or 587, timeout=_TIMEOUT_SECONDS) as connection:
        connection.starttls(context=tls)
        _hand_over(connection, server, mail)


def _hand_over(connection: smtplib.SMTP, server: SplitResult, mail: EmailMessage) -> None:
    if server.username:
        connection.login(unquote(server.username), unquote(server.password or ""))
    connection.send_message(mail)
