"""A case: what is done, and what stands behind the platform while it is."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.messages import Refusal
from tests.conformance.desks import OpensDesk
from tests.conformance.plays import Play


@dataclass(frozen=True)
class Case:
    """What is done, and what stands behind the platform while it is.

    ``refusal``: admission turns every question away. ``full``: the inbox takes none.
    ``open_spaces``: what people from outside are answered from. ``mended`` names the finding that
    it keeps mended.
    """

    name: str
    desk: OpensDesk
    play: Play
    refusal: Refusal | None = None
    full: bool = False
    open_spaces: frozenset[str] = frozenset()
    mended: str = ""
