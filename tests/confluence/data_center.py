"""Data Center's API."""

from __future__ import annotations

from tests.confluence.call import Route

ROUTES: tuple[Route, ...] = ()
