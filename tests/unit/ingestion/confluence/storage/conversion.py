"""Convert storage format to Markdown, as a chunk would show it."""

from __future__ import annotations

from ingestion.confluence.storage.convert import convert
from ingestion.confluence.storage.writer import Converted, FileRef, PageRef, Resolve
from ingestion.text import markdown

HERE = PageRef("IT", "Handbook")
KNOWN = Resolve(
    here=HERE,
    users={"acc-1": "Ann Lee"},
    pages={
        PageRef("IT", "VPN FAQ"): "https://wiki.test/pages/7",
        PageRef("HR", "Leave"): "https://wiki.test/pages/8",
    },
    files={
        FileRef(None, "plan.pdf"): "https://wiki.test/files/plan.pdf",
        FileRef(PageRef("HR", "Leave"), "form.docx"): "https://wiki.test/files/form.docx",
    },
)


def converted(storage: str, resolve: Resolve = KNOWN) -> Converted:
    return convert(storage, resolve)


def read(storage: str, resolve: Resolve = KNOWN) -> str:
    return "\n\n".join(markdown(block) for block in converted(storage, resolve).blocks)


def macro(kind: str, rich: str = "", /, *, plain: str = "", **parameters: str) -> str:
    """Return a macro; a parameter ``_`` has no name, as Confluence's default parameter."""
    given = "".join(
        f'<ac:parameter ac:name="{"" if key == "_" else key}">{value}</ac:parameter>'
        for key, value in parameters.items()
    )
    body = f"<ac:rich-text-body>{rich}</ac:rich-text-body>" if rich else ""
    body += f"<ac:plain-text-body><![CDATA[{plain}]]></ac:plain-text-body>" if plain else ""
    return (
        f'<ac:structured-macro ac:name="{kind}" ac:schema-version="1">'
        f"{given}{body}</ac:structured-macro>"
    )
