"""Two sizes of a long run: a smoke in ``make test``, the whole in ``make sweeps``."""

from __future__ import annotations

import pytest

SWEEP = (pytest.mark.sweep, pytest.mark.timeout(3600))
"""The marks of what only ``make sweeps`` runs."""


def sizes(name: str, *, smoke: object, whole: object) -> pytest.MarkDecorator:
    """Give a test its size, as the argument of this name."""
    values = [pytest.param(smoke, id="smoke"), pytest.param(whole, id="whole", marks=SWEEP)]
    return pytest.mark.parametrize(name, values)
