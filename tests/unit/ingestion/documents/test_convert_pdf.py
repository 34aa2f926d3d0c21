"""PDF files become blocks, tables included, in a process of their own."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter

from ingestion.documents.convert_pdf import pdf_document
from ingestion.documents.converter_process import text_of_pdf
from ingestion.documents.pdf_layout import Line, table_at
from ingestion.errors import PageUnreadable
from ingestion.types import Heading, ItemList, Paragraph, Table
from tests.fakes.ingestion import encrypted, pdf, pdf_of

PAGES = (
    (
        "Acme handbook 2024",
        "Time off",
        "Everyone has thirty days of leave each year, which are to be agreed with",
        "the team before they are booked in the time-off tool of the human resour-",
        "ces department.",
        "Bring with you when you start:",
        "- a passport that is valid for at least another six months, or an equiva",
        "lent paper",
        "- a bank card",
        "Page 1 of 3",
    ),
    (
        "Acme handbook 2024",
        "All human resources are listed here, in the order in which they were found.",
        "Page 2 of 3",
    ),
    ("Acme handbook 2024", "The last page is short.", "Page 3 of 3"),
)


def test_lines_become_headings_paragraphs_and_lists_with_their_page() -> None:
    blocks = pdf_document(pdf(*PAGES, headings={"Time off"})).blocks

    assert blocks[0] == Heading(1, "Time off", 1)
    assert blocks[1] == Paragraph(
        "Everyone has thirty days of leave each year, which are to be agreed with the team before "
        "they are booked in the time-off tool of the human resources department.",
        1,
    )
    assert blocks[2] == Paragraph("Bring with you when you start:", 1)
    assert isinstance(blocks[3], ItemList)
    assert blocks[3].items[1] == "- a bank card"
    assert [block.page for block in blocks[4:]] == [2, 3]


@pytest.mark.parametrize("next_line", ["T* ", ""])
def test_tables_are_read_as_rows_with_their_header(next_line: str) -> None:
    drawn = "BT "
    for row, cells in enumerate((("Zone", "Charge"), ("1", "none"), ("2", "4.90 euros"))):
        for column, cell in enumerate(cells):
            font = "F2" if row == 0 else "F1"
            place = f"1 0 0 1 {72 + 90 * column} {700 - 19 * row} Tm"
            drawn += f"/{font} 10 Tf {place} ({cell}) Tj {next_line}"
    content = pdf_of([drawn + "ET"])

    assert pdf_document(content).blocks == (
        Table(("Zone", "Charge"), (("1", "none"), ("2", "4.90 euros")), 1),
    )


def test_a_paragraph_after_a_list_is_not_drawn_into_it() -> None:
    drawn = ""
    for x, y, text in (
        (70, 700, "1."),
        (85, 700, "Open the client and sign in with the account that you were given."),
        (70, 686, "Nobody needs to do this twice, not even after a change of the device."),
    ):
        drawn += f"BT /F1 11 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET "
    blocks = pdf_document(pdf_of([drawn])).blocks

    assert [type(block) for block in blocks] == [ItemList, Paragraph]


def test_headers_and_footers_of_most_pages_are_left_out() -> None:
    text = repr(pdf_document(pdf(*PAGES)).blocks)

    assert "Acme handbook" not in text
    assert "of 3" not in text


def test_short_files_keep_all_their_lines() -> None:
    text = repr(pdf_document(pdf(("Title", "Text."), ("Title", "More."))).blocks)

    assert text.count("Title") == 2


def test_a_hyphen_that_belongs_to_the_word_stays() -> None:
    blocks = pdf_document(
        pdf(("We build the best and most cutting-", "edge tools that one can buy for money."))
    ).blocks

    assert blocks[0] == Paragraph(
        "We build the best and most cutting-edge tools that one can buy for money.", 1
    )


def _written(writer: PdfWriter) -> bytes:
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_an_encrypted_file_is_unreadable_with_the_cure() -> None:
    with pytest.raises(PageUnreadable, match="save it without a password"):
        pdf_document(encrypted(pdf(("Secret",))))


def test_a_file_locked_only_against_changes_is_read() -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(("Open text",)))))
    writer.encrypt(user_password="", owner_password="owner", algorithm="AES-256")

    assert pdf_document(_written(writer)).blocks == (Paragraph("Open text", 1),)


def test_a_file_of_pictures_is_unreadable_with_the_cure() -> None:
    writer = PdfWriter()
    writer.add_blank_page(width=100, height=100)

    with pytest.raises(PageUnreadable, match="OCR"):
        pdf_document(_written(writer))


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"no pdf at all", pdf(("x",))[:200]])
def test_a_broken_file_is_unreadable(content: bytes) -> None:
    with pytest.raises(PageUnreadable):
        pdf_document(content)


@pytest.mark.parametrize(
    ("title", "kept"),
    [("Travel policy", "Travel policy"), ("Microsoft Word - x.doc", ""), ("a.pdf", "")],
)
def test_only_a_title_that_is_one_is_taken(title: str, kept: str) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(("Text",)))))
    writer.add_metadata({"/Title": title, "/ModDate": "D:20240531100000+02'00'"})

    document = pdf_document(_written(writer))

    assert document.title == kept
    assert document.updated_at is not None
    assert document.updated_at.isoformat() == "2024-05-31T08:00:00+00:00"


def line(text: str, x: float, y: float, *, bold: bool = False) -> Line:
    return Line(text, 10.0, bold, x, y)


HEADER = [line("Zone", 70, 700, bold=True), line("Countries", 110, 700, bold=True)]
ROWS = [
    line("1", 70, 680),
    line("Norway, Iceland,", 110, 680),
    line("Chad", 110, 668),
    line("2", 70, 650),
    line("Japan", 110, 650),
]
AFTER = [line("Running text goes on below the table.", 70, 630)]


def test_cells_beside_each_other_make_rows_and_wrapped_cells_stay_whole() -> None:
    found = table_at([*HEADER, *ROWS, *AFTER], 0, 3)

    assert found == (
        Table(("Zone", "Countries"), (("1", "Norway, Iceland, Chad"), ("2", "Japan")), 3),
        7,
    )


def test_a_first_row_that_is_not_bold_is_no_header() -> None:
    found = table_at(ROWS, 0, 1)

    assert found
    assert found[0].header == ()
    assert len(found[0].rows) == 2


def test_a_cell_that_is_missing_leaves_its_column_empty() -> None:
    rows = [*HEADER, line("Note", 160, 700, bold=True)]
    rows += [line("1", 70, 680), line("far", 158, 680)]

    found = table_at(rows, 0, 1)

    assert found
    assert found[0].rows == (("1", "", "far"),)


def test_running_text_is_no_table() -> None:
    text = [line(f"Line {number} of a paragraph", 70, 700 - 12 * number) for number in range(5)]

    assert table_at(text, 0, 1) is None


def test_one_pair_beside_each_other_is_no_table() -> None:
    assert table_at([*HEADER, *AFTER], 0, 1) is None


def test_columns_of_a_page_are_no_table() -> None:
    left = [line(f"left {number}", 70, 700 - 12 * number) for number in range(5)]
    right = [line(f"right {number}", 300, 700 - 12 * number) for number in range(5)]

    assert table_at([*left, *right], 0, 1) is None


async def test_the_text_of_a_pdf_comes_back() -> None:
    text = await text_of_pdf(pdf(("Error 809", "The VPN port is blocked.")))

    assert "Error 809" in text
    assert "The VPN port is blocked." in text


@pytest.mark.parametrize("content", [b"", b"no pdf", b"%PDF-1.4\nbroken"])
async def test_what_has_no_text_is_unreadable(content: bytes) -> None:
    with pytest.raises(PageUnreadable):
        await text_of_pdf(content)


async def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(PageUnreadable, match="too long"):
        await text_of_pdf(pdf(("Error 809",)), seconds=0.001)
