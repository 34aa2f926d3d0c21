"""Dates as each API writes them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def in_utc(moment: datetime) -> str:
    """Return a date as Cloud writes it: ``2026-11-23T09:00:01.000Z``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def in_zone(moment: datetime, zone: tzinfo) -> str:
    """Return a date as Data Center writes it: ``2026-11-23T10:00:01.000+01:00``."""
    return moment.astimezone(zone).isoformat(timespec="milliseconds")
