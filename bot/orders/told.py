"""A run as those who follow it are told; frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RunState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted", "gone"]
"""interrupted: killed, and not gone on with yet. gone: it can't be followed any more."""


Extent = Literal["all", "changes", "page"]
"""How much of a space a run looks at: all of it, what changed since the last run, one page."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that could not be read, why, and the cure; ``page`` "" is a whole space.

    ``mass_delete``: the run held back, for more would vanish than is plausible.
    """

    space: str
    page: str
    reason: str
    cure: str
    mass_delete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTold:
    """How far a run is, or how it ended.

    ``run_id`` is the one that was asked for, also where the run went on under another. ``space``
    None is all; of it, ``extent`` is looked at, and ``page`` is the one page's address or id.
    ``pages`` of ``total`` are done. ``remaining`` is in words, "" while not known;
    ``resumed``: it was interrupted and goes on, the figures are since then. Of ``failed`` troubles
    the first few are in ``troubles``. ``note`` is one sentence for states without
    figures, ``embedding`` one on tokens and their price, or "".
    """

    run_id: str
    state: RunState
    space: str | None = None
    extent: Extent = "all"
    page: str = ""
    at_space: str = ""
    dry_run: bool = False
    pages: int = 0
    total: int = 0
    chunks: int = 0
    chunks_per_second: float = 0.0
    remaining: str = ""
    added: int = 0
    changed: int = 0
    removed: int = 0
    readers_changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    embedding: str = ""
    troubles: tuple[Trouble, ...] = ()
    resumed: bool = False
    note: str = ""
    ended: bool = False
