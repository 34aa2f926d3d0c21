"""What a page in storage format refers to, what that stands for, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ingestion.types import Block


class PageRef(NamedTuple):
    """A page or blog post as another one names it; ``space`` "" is the space of that other one."""

    space: str
    title: str


class FileRef(NamedTuple):
    """An attachment by its name, on a page; ``page`` None is the page that names it."""

    page: PageRef | None
    name: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What a page refers to, each once, in reading order.

    ``pages`` are linked or included; ``includes`` are those whose text (or excerpt) the page
    shows. ``users`` are account ids on Cloud, user keys or names on Data Center. ``files`` are
    attachments that are linked; pictures are no part of it.
    """

    users: tuple[str, ...] = ()
    pages: tuple[PageRef, ...] = ()
    includes: tuple[PageRef, ...] = ()
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolve:
    """What the references stand for, looked up beforehand; what is missing is named by its title.

    ``here`` is the page itself. ``pages`` and ``files`` hold URLs, ``users`` names, ``includes``
    texts in storage format. A file of this page may be named with its page or with None.
    """

    here: PageRef = field(default_factory=lambda: PageRef("", ""))
    users: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[PageRef, str] = field(default_factory=dict)
    files: Mapping[FileRef, str] = field(default_factory=dict)
    includes: Mapping[PageRef, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Converted:
    """A page's blocks.

    ``unknown_macros`` counts by name the macros that have no rule: what text they hold is in the
    blocks. ``included`` are the pages whose text is in the blocks, so that who may not read all of
    them must not read this one. ``notes`` say what was odd, fit for the report.
    """

    blocks: tuple[Block, ...]
    unknown_macros: Mapping[str, int] = field(default_factory=dict)
    included: tuple[PageRef, ...] = ()
    notes: tuple[str, ...] = ()
