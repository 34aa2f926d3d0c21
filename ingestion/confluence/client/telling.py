"""What the answers of REST v1 are to us: marks, heads, attachments; pure."""

from __future__ import annotations

from ingestion.confluence.client.shapes import Content, Extensions, Label
from ingestion.confluence.client.wording import web
from ingestion.confluence.types import Kind, PageHead, PageMarks, WikiAttachment
from ingestion.errors import PageUnreadable


def labels_of(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return the labels that everybody sees, in order."""
    return tuple(sorted({label.name for label in labels if label.prefix == "global"}))


def kind_of(content_type: str) -> Kind | None:
    """Return which kind of page it is; None for what is none."""
    match content_type:
        case "page":
            return "page"
        case "blogpost":
            return "blogpost"
        case _:
            return None


def marks_of(content: Content) -> PageMarks | None:
    """Return restrictions and labels; None where the answer does not hold all of them."""
    restrictions, metadata = content.restrictions, content.metadata
    if restrictions is None or restrictions.read is None or metadata is None:
        return None
    named = restrictions.read.restrictions
    if metadata.labels is None or not named.last or named.unnamed:
        return None
    return PageMarks(
        id=content.id, readers=named.subjects(), labels=labels_of(metadata.labels.results)
    )


def head_of(content: Content, *, base: str) -> PageHead:
    """Return a page's head. Raises PageUnreadable, which names what is missing."""
    kind = kind_of(content.type)
    if kind is None:
        raise PageUnreadable(f"{content.id} is no page but {content.type!r}.")
    if content.space is None or content.version is None or content.ancestors is None:
        raise PageUnreadable(
            f"Confluence does not say space, version and place of page {content.id}."
        )
    parent = content.ancestors[-1] if content.ancestors else None
    return PageHead(
        id=content.id,
        kind=kind,
        title=content.title,
        space_key=content.space.key,
        parent_id=parent.id if parent else None,
        version=content.version.number,
        updated_at=content.version.when,
        url=web(content.links.base or base, content.links.webui),
        parent_kind=parent.type if parent else "page",
        updated_by=content.version.by.id if content.version.by else "",
    )


def attachment_of(content: Content, *, base: str, page_id: str = "") -> WikiAttachment | None:
    """Return an attachment; None for one that is not current, or is on nothing."""
    on = content.container.id if content.container else page_id
    if content.status != "current" or content.version is None or not on:
        return None
    extensions = content.extensions or Extensions.model_validate({})
    media_type = extensions.media_type or (content.metadata.media_type if content.metadata else "")
    return WikiAttachment(
        id=content.id,
        page_id=on,
        name=content.title,
        media_type=media_type,
        bytes=extensions.file_size,
        version=content.version.number,
        updated_at=content.version.when,
        url=web(content.links.base or base, content.links.webui),
        download=content.links.download,
    )
