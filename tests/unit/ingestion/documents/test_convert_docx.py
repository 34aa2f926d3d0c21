"""Word files become blocks."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ingestion.documents.convert import convert
from ingestion.documents.convert_docx import docx_document
from ingestion.errors import PageUnreadable
from ingestion.text import markdown
from ingestion.types import Code, Heading, ItemList, Paragraph, Quote, Table
from tests.fakes.ingestion import saved, word

pytestmark = pytest.mark.attack


def test_styles_become_blocks() -> None:
    document = docx_document(
        word(
            ("Title", "Expenses"),
            ("Heading 1", "Limits"),
            ("Normal", "Thirty euros a day."),
            ("List Bullet", "Breakfast"),
            ("List Bullet 2", "with coffee"),
            ("List Bullet", "Lunch"),
            ("Heading 2", "Steps"),
            ("List Number", "Keep the receipt"),
            ("List Number", "Send it"),
            ("Quote", "No receipt, no money."),
        )
    )

    assert document.title == "Expenses"
    assert document.blocks == (
        Heading(1, "Limits"),
        Paragraph("Thirty euros a day."),
        ItemList(("- Breakfast\n  - with coffee", "- Lunch")),
        Heading(2, "Steps"),
        ItemList(("1. Keep the receipt", "2. Send it")),
        Quote("No receipt, no money."),
    )


def test_tables_and_cells_that_span_are_read() -> None:
    made = docx.Document()
    table = made.add_table(rows=2, cols=3)
    for row, texts in enumerate((("Role", "Days", "Note"), ("Intern", "20", "first year"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    wide = table.add_row()
    wide.cells[0].merge(wide.cells[1]).text = "All\nothers"

    assert docx_document(saved(made)).blocks == (
        Table(("Role", "Days", "Note"), (("Intern", "20", "first year"), ("All others", "", ""))),
    )


def _with(xml: str) -> bytes:
    made = docx.Document()
    paragraph = made.add_paragraph("before ")
    paragraph._p.append(parse_xml(xml))  # noqa: SLF001  # the library cannot write these elements
    paragraph.add_run("after")
    return saved(made)


@pytest.mark.parametrize(
    ("xml", "shown"),
    [
        (f"<w:del {nsdecls('w')}><w:r><w:delText>gone</w:delText></w:r></w:del>", "before after"),
        (f"<w:ins {nsdecls('w')}><w:r><w:t>new </w:t></w:r></w:ins>", "before new after"),
        (
            f"<w:r {nsdecls('w')}><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>",
            "before after",
        ),
        (f"<w:r {nsdecls('w')}><w:t>a</w:t><w:br/><w:t>b </w:t></w:r>", "before a\nb after"),
        (
            f"<w:smartTag {nsdecls('w')}><w:r><w:t>smart </w:t></w:r></w:smartTag>",
            "before smart after",
        ),
    ],
)
def test_what_a_reader_sees_is_read_and_nothing_else(xml: str, shown: str) -> None:
    assert docx_document(_with(xml)).blocks == (Paragraph(shown),)


def test_links_keep_where_they_lead() -> None:
    made = docx.Document()
    target = made.part.relate_to(
        "https://it.example.com",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink",
        is_external=True,
    )
    made.add_paragraph("See the ")._p.append(  # noqa: SLF001  # the library cannot write links
        parse_xml(
            f'<w:hyperlink {nsdecls("w", "r")} r:id="{target}"><w:r><w:t>portal</w:t></w:r>'
            "</w:hyperlink>"
        )
    )

    assert docx_document(saved(made)).blocks == (
        Paragraph("See the portal (https://it.example.com)"),
    )


def test_content_controls_are_opened() -> None:
    made = docx.Document()
    made.element.body.insert(
        0,
        parse_xml(
            f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>inside</w:t></w:r></w:p>"
            "</w:sdtContent></w:sdt>"
        ),
    )

    assert docx_document(saved(made)).blocks == (Paragraph("inside"),)


def test_lines_in_a_code_style_are_one_code_block() -> None:
    made = docx.Document()
    made.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
    for line in ("if x:", "    run()"):
        made.add_paragraph(line, style="Source Code")

    assert docx_document(saved(made)).blocks == (Code("if x:\n    run()"),)


@pytest.mark.parametrize(
    "content",
    [b"", b"no zip", b"\xd0\xcf\x11\xe0 old or encrypted", word(("Normal", "x"))[:400]],
)
def test_a_broken_file_is_unreadable(content: bytes) -> None:
    with pytest.raises(PageUnreadable):
        docx_document(content)


def test_a_zip_that_is_no_word_file_is_unreadable() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "x")

    with pytest.raises(PageUnreadable):
        docx_document(stream.getvalue())


def test_a_file_that_unpacks_to_a_flood_is_not_unpacked() -> None:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w", force_zip64=True) as member,
    ):
        for _ in range(210):
            member.write(b" " * 1024 * 1024)

    with pytest.raises(PageUnreadable, match="200 MB"):
        docx_document(stream.getvalue())


def test_tables_inside_text_flow_stay_in_place() -> None:
    made = docx.Document()
    made.add_paragraph("above")
    made.add_table(rows=1, cols=2).cell(0, 0).text = "cell"
    made.add_paragraph("below")

    shown = [markdown(block) for block in docx_document(saved(made)).blocks]

    assert shown == ["above", "| cell |  |\n| --- | --- |", "below"]


@pytest.mark.mended(id="attack-11")
def test_of_a_file_that_breaks_its_parser_no_exception_is_named() -> None:
    """A document that is none: python-docx fails in a way that it does not declare."""
    kinds = (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
        'package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="'
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/'
        '2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
        "</Relationships>"
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", kinds)
        archive.writestr("_rels/.rels", relations)
        archive.writestr("word/document.xml", "<document/>")

    with pytest.raises(PageUnreadable) as refused:
        convert("a.docx", content.getvalue())

    assert "Error" not in str(refused.value)
