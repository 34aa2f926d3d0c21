"""``doctor``: what of the Confluence that is set works, tried for real."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ingestion.commands.codes import FAILED
from ingestion.config import Settings
from ingestion.confluence.check import Check
from ingestion.opening import check_wiki

_SIGNS = {True: "+", None: "~", False: "!"}


async def examine(_options: argparse.Namespace, settings: Settings) -> int:
    """Print a line for each thing that was tried; FAILED when something is broken."""
    checks = await check_wiki(settings)
    if not checks:
        print("  - Confluence is not configured. Set CONFLUENCE_URL and CONFLUENCE_TOKEN.")
        return 0
    print("\n".join(map(_line, checks)))
    broken = [check for check in checks if check.works is False]
    wanting = [check for check in checks if check.works is None]
    if broken:
        print(f"\nBroken: {_named(broken)}.")
    elif wanting:
        print(f"\nNothing is broken. See: {_named(wanting)}.")
    else:
        print("\nAll of it works.")
    return FAILED if broken else 0


def _line(check: Check) -> str:
    return f"  {_SIGNS[check.works]} {check.name or 'Confluence':<16} {check.detail}"


def _named(checks: Sequence[Check]) -> str:
    return ", ".join(check.name or "Confluence" for check in checks)
