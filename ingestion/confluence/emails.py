"""E-mail addresses, as they are compared. Pure."""

from __future__ import annotations


def folded(email: str) -> str:
    """Return an address in small letters, and no further.

    Letters that only look or sort alike stay apart: with ``ß`` and with ``ss`` these are two
    domains, of two owners.
    """
    return "".join(map(_small, email.strip()))


def _small(letter: str) -> str:
    # The sign for kelvin is a k in small letters, but no k is that sign in capitals.
    small = letter.lower()
    return small if small.upper() == letter else letter
