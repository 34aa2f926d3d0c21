"""``python -m tests.conformance`` runs every case on every platform and prints the table."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from tests.conformance.cases import CASES
from tests.conformance.missing import MISSING
from tests.conformance.suite import PLATFORMS, faults
from tests.conformance.table import YES, table


async def main() -> int:
    """Print the table; return how many cells are not as they must be."""
    found: dict[tuple[str, str], str] = {}
    for case in CASES:
        for platform in PLATFORMS:
            with TemporaryDirectory() as directory:
                wrong = await faults(case, platform, Path(directory))
            found[case.name, platform] = "; ".join(wrong) or YES
    names = [case.name for case in CASES]
    print(table(names, list(PLATFORMS), MISSING, lambda case, platform: found[case, platform]))
    return sum(told != YES for told in found.values())


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sys.exit(min(1, asyncio.run(main())))
