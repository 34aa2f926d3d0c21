"""What ``make attack`` tries of hostile text; run as a module, it says how much that is."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.sweeps.hostile.attacks import OWN, with_goals
from tests.sweeps.hostile.combinations import Combination, combinations

WHOLE = combinations(with_goals(OWN), carriers_each=3)
PLATFORMS = 4
_CHATS = 2
"""Files are attached in Slack and Teams alone."""


def on_platforms() -> Iterator[tuple[Combination, int]]:
    """Yield each combination with each platform that it is tried on."""
    for each in WHOLE:
        for platform in range(_CHATS if each.carrier == "attachment" else PLATFORMS):
            yield each, platform


def main() -> int:
    """Say how many combinations there are."""
    tried = sum(1 for _ in on_platforms())
    sys.stdout.write(
        f"Hostile text: {len(WHOLE):,} combinations of attack, goal, form and carrier, "
        f"{tried:,} with the platforms\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
