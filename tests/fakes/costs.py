"""What a long text costs beside a short one, whatever the machine and whatever else it does."""

from __future__ import annotations

import time
from collections.abc import Callable

_TIMES = 4
_LEAST_SECONDS = 0.03
"""Below that, a collection of garbage would count for more than the text."""


def costs_in_proportion(work: Callable[[str], object], piece: str, characters: int) -> bool:
    """Return whether work on a repeated piece takes twice its share at most, as it gets longer.

    ``characters`` is the longer text's length; the shorter one's is a quarter of it. Where the cost
    grows with the square of the length, the longer one takes four times its share.
    """

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        began = time.process_time()
        work(text)
        return time.process_time() - began

    short = max(_LEAST_SECONDS, min(seconds(characters // _TIMES) for _ in range(2)))
    # A collection of garbage may fall into one measurement; a quadratic cost exceeds all three.
    return any(seconds(characters) < 2 * _TIMES * short for _ in range(3))
