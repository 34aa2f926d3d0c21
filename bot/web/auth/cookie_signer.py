"""Sign cookie values with HMAC-SHA256, so that a browser cannot change them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from bot.domain.errors import SettingInvalid

KEY_BYTES = 32


class Signer:
    """Signs short values for one purpose; other keys and purposes reject them."""

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key = hmac.digest(key, purpose.encode(), hashlib.sha256)

    def sign(self, value: str) -> str:
        return f"{value}.{self._mark(value)}"

    def read(self, signed: str) -> str | None:
        """Return the value, or None if its signature is invalid."""
        value, _, mark = signed.rpartition(".")
        if value and hmac.compare_digest(_bytes(mark), _bytes(self._mark(value))):
            return value
        return None

    def _mark(self, value: str) -> str:
        digest = hmac.digest(self._key, value.encode("utf-8", "replace"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def signing_key(path: Path) -> bytes:
    """Return the key stored in a file (mode 0600); the first call creates it.

    Raises SettingInvalid when the file is not a key or can't be read or written.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise SettingInvalid(
            f"{str(path)!r} can't be used as the key of browser cookies: {error.strerror}. Look "
            "at the data directory's permissions and free space, or move what is there away."
        ) from error
    if len(key) != KEY_BYTES:
        raise SettingInvalid(
            f"{str(path)!r} has {len(key)} bytes, a key has {KEY_BYTES}. Delete it; a new one is "
            "made at the next start, and browsers that nobody signed in with begin anew."
        )
    return key


def secrets_match(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(_digest(given), _digest(expected))


def _digest(text: str) -> bytes:
    return hashlib.sha256(_bytes(text)).digest()


def _bytes(text: str) -> bytes:
    """Encode text as bytes, lone surrogates included: headers and JSON can contain them."""
    return text.encode("utf-8", "surrogatepass")


def _make_key(path: Path) -> None:
    """Create the key file atomically; of two processes, the first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:
        _copy(Path(draft), path)
    finally:
        Path(draft).unlink()


def _copy(draft: Path, path: Path) -> None:
    """Create the key file without hard links (e.g. on an SMB share); the first process wins."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(draft.read_bytes())
