"""One thing that was tried with a Confluence, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ingestion.confluence.errors import WikiRefused
from ingestion.errors import IngestionError


@dataclass(frozen=True, slots=True)
class Check:
    """``works`` None: it does not, and much is answered all the same.

    ``name`` is "" for the site itself. ``detail`` is what came of it, with the cure.
    """

    name: str
    works: bool | None
    detail: str


async def tried(
    name: str, work: Callable[[], Awaitable[Check]], cure: str, *, vital: bool = True
) -> Check:
    """Return what came of it; what fails is broken, or without ``vital`` merely wanting."""
    try:
        return await work()
    except WikiRefused as error:
        # The token was taken before, so that what it lacks is this one right.
        return Check(name, works=False if vital else None, detail=f"{_scope(error)} {cure}")
    except IngestionError as error:
        return Check(name, works=False if vital else None, detail=f"{error} {cure}")


def _scope(error: WikiRefused) -> str:
    return f"{error} Other requests are answered, so it may lack a scope (docs/confluence.md)."
