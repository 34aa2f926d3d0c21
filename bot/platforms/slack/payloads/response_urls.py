"""Keep the response URLs of commands encrypted: whoever has one can write in the bot's name."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from cryptography.fernet import Fernet, InvalidToken

from bot.domain.messages import Message
from bot.domain.settings import Settings
from bot.platforms.slack.payloads.events import kept_response_url

_PLAIN = "http"
"""How one begins that a version before 0.3 kept; none is an encrypted text's beginning."""


class ResponseUrls:
    """Encrypts response URLs for the record and reads them back.

    The key is derived from the secret by which Slack reaches this app, which the data directory
    does not hold. With another secret a URL is as good as expired.
    """

    def __init__(self, settings: Settings) -> None:
        secret = settings.slack_signing_secret or settings.slack_app_token
        known = secret.get_secret_value().encode() if secret else b""
        key = hmac.digest(known, b"response url", hashlib.sha256)
        self._fernet = Fernet(base64.urlsafe_b64encode(key))

    def reply_to(self, url: str) -> str:
        """Return the ``reply_to`` of a message that is answered at a response URL."""
        return json.dumps({"response_url": self._fernet.encrypt(url.encode()).decode()})

    def of(self, message: Message) -> str | None:
        """Return where a message is answered, None if not by a response URL, or not any more."""
        kept = kept_response_url(message)
        if kept is None or kept.startswith(_PLAIN):
            return kept
        try:
            return self._fernet.decrypt(kept.encode()).decode()
        except InvalidToken:
            return None
