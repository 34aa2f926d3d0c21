"""Two sizes of a long run: a smoke in ``make test``, the whole in ``make sweeps``."""

from __future__ import annotations

import pytest

WHOLE_SECONDS = 3_600
"""What a test of a whole run may take: it ends what hangs, on a slow machine as well."""

PATIENCE_SECONDS = 1_200.0
"""How long to wait for an answer: less than a test may take, so that it says what is not there."""

SWEEP = (pytest.mark.sweep, pytest.mark.timeout(WHOLE_SECONDS))
"""The marks of what only ``make sweeps`` runs."""


def sizes(name: str, *, smoke: object, whole: object) -> pytest.MarkDecorator:
    """Give a test its size, as the argument of this name."""
    values = [pytest.param(smoke, id="smoke"), pytest.param(whole, id="whole", marks=SWEEP)]
    return pytest.mark.parametrize(name, values)
