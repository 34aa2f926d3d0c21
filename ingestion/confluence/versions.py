"""Fingerprints of all that shapes a page's document and its place. Pure.

Readers are no part: they change without new text. Two looks at the same page, whole or single,
must give the same; so addresses, which Confluence tells in two ways, are none either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ingestion.confluence.types import PageHead, WikiAttachment
from ingestion.convert import CONVERTER

READER = 1
"""Counts up whenever the same page of Confluence gives another document."""


def page_version(
    head: PageHead,
    *,
    ancestors: Sequence[str],
    labels: Iterable[str],
    included: Iterable[tuple[str, int]] = (),
) -> str:
    """Return a page's fingerprint; ``included`` are ids and versions of what it shows of others.

    Those have a part of their own, after a ``.``: see ingestion.types.SourcePage.
    """
    own = _digest(
        *(READER, head.kind, head.version, head.title, "ancestors", *ancestors),
        *("labels", *sorted(labels), "included"),
    )
    shown = [part for one in sorted(included) for part in one]
    return f"{own}.{_digest(*shown)}" if shown else own


def attachment_version(
    attachment: WikiAttachment, *, ancestors: Sequence[str], labels: Iterable[str]
) -> str:
    """Return an attachment's fingerprint; its page is the last of ``ancestors``."""
    shape = (READER, CONVERTER, attachment.version, attachment.name)
    return _digest(*shape, "ancestors", *ancestors, "labels", *sorted(labels))


def _digest(*parts: object) -> str:
    shape = "\0".join(str(part) for part in parts)
    return hashlib.blake2b(shape.encode(errors="replace"), digest_size=16).hexdigest()
