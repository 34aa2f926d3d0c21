"""Where is asked."""

from __future__ import annotations

CHANNELS = tuple(f"C0HELP{number:03d}" for number in range(100))
"""A channel takes an answer a second; a company asks in many."""


def channel_of(ts: str) -> str:
    """Return where a question is asked."""
    return CHANNELS[int(ts[2:10]) % len(CHANNELS)]
