"""HTML becomes blocks."""

from __future__ import annotations

import socket

import pytest
from lxml import etree

from ingestion.documents.convert import convert
from ingestion.documents.convert_html import blocks_in, blocks_of, page_title
from ingestion.errors import PageUnreadable
from ingestion.text import markdown
from ingestion.types import Code, Heading, ItemList, Paragraph, Quote, Table

pytestmark = pytest.mark.attack


def read(source: str) -> str:
    return "\n\n".join(markdown(block) for block in blocks_of(source))


def test_each_kind_of_block_is_known() -> None:
    assert blocks_of(
        "<h2>Leave</h2><p>Ten days.</p><ul><li>a<li>b</ul><ol start=3><li>c</ol>"
        "<pre><code class='language-py'>x = 1\n  y</code></pre><blockquote>said</blockquote>"
        "<table><tr><th>A<th>B<tr><td>1<td>2</table><dl><dt>PTO<dd>Paid time off</dl>"
    ) == (
        Heading(2, "Leave"),
        Paragraph("Ten days."),
        ItemList(("- a", "- b")),
        ItemList(("3. c",)),
        Code("x = 1\n  y", "py"),
        Quote("said"),
        Table(("A", "B"), (("1", "2"),)),
        ItemList(("- PTO: Paid time off",)),
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "<nav>secret</nav>",
        "<script>secret</script>",
        "<style>secret</style>",
        "<noscript>secret</noscript>",
        "<template>secret</template>",
        "<iframe>secret</iframe>",
        "<svg><text>secret</text></svg>",
        "<p hidden>secret</p>",
        "<p aria-hidden='true'>secret</p>",
        "<p style='DISPLAY : none'>secret</p>",
        "<span style='color:red;visibility:hidden'>secret</span>",
        "<span style='font-size:0'>secret</span>",
        "<span style='opacity: 0.0;'>secret</span>",
        "<!-- secret -->",
        "<?php secret ?>",
        "<select><option>secret</option></select>",
        "<footer>secret</footer>",
        "<header><nav>x</nav>secret</header>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    assert read(f"<body><p>before</p>{hidden}<p>after</p></body>") == "before\n\nafter"


def test_text_after_a_hidden_element_stays() -> None:
    assert read("<p>a<span hidden>x</span> tail</p>") == "a tail"
    assert read("<p>a<!-- x --> tail</p>") == "a tail"


@pytest.mark.parametrize("empty", ["embed", "source", "track"])
def test_text_after_an_element_without_content_stays(empty: str) -> None:
    assert read(f"<p>before</p><{empty} src='x'><p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize("style", ["opacity:0.8", "font-size:0.9em", "display:block"])
def test_styles_that_hide_nothing_hide_nothing(style: str) -> None:
    assert read(f"<p style='{style}'>shown</p>") == "shown"


def test_a_page_that_hides_itself_while_it_loads_is_read() -> None:
    assert read("<body style='opacity:0' class='js'><p>shown</p></body>") == "shown"


def test_hidden_text_in_a_part_taken_out_of_a_tree_is_left_out() -> None:
    page = etree.fromstring("<div><section><p hidden=''>secret</p><p>shown</p></section></div>")
    part = page[0]
    page.remove(part)

    assert blocks_in(part) == (Paragraph("shown"),)


def test_a_hidden_cell_leaves_no_column() -> None:
    source = "<table><tr><th>a<th style='display:none'>x<th>b<tr><td>1<td hidden>2<td>3</table>"

    assert read(source) == read("<table><tr><th>a<th>b<tr><td>1<td>3</table>")


def test_a_span_of_any_number_of_digits_is_read() -> None:
    assert "shown" in read(f"<table><tr><td colspan={'9' * 5_000}>shown<td>b</table>")


def test_only_the_main_part_is_read_where_there_is_one() -> None:
    assert read("<body>menu<main><p>text</p></main>more</body>") == "text"


def test_entities_and_external_files_are_not_expanded() -> None:
    source = (
        '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY a "aaaa">'
        '<!ENTITY b "&a;&a;">]><p>&x; &b; &lt;ok&gt;</p>'
    )

    shown = read(source)

    assert "root:" not in shown
    assert "aaaa" not in shown
    assert "<ok>" in shown


def test_nothing_is_loaded_from_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert read('<!DOCTYPE html SYSTEM "http://127.0.0.1:9/x.dtd"><p>text</p>') == "text"


def test_spans_are_repeated_so_that_each_cell_stands_alone() -> None:
    source = (
        "<table><thead><tr><th>Who<th colspan=2>What</thead><tr><td rowspan=2>HR<td>Pay<td>1"
        "<tr><td>Leave<td>2</table>"
    )

    assert read(source) == (
        "| Who | What | What |\n| --- | --- | --- |\n| HR | Pay | 1 |\n| HR | Leave | 2 |"
    )


def test_what_fills_its_row_alone_is_said_once() -> None:
    source = "<table><tr><td colspan=2>Section<tr><td>a<td>b</table>"

    assert read(source) == "| Section |  |\n| a | b |"


def test_a_table_inside_a_cell_is_said_row_by_row() -> None:
    inner = "<table><tr><th>Port<th>Use<tr><td>22<td>SSH<tr><td>80<td></table>"

    assert read(f"<table><tr><td>x<td>{inner}</table>") == "| x | Port: 22, Use: SSH; Port: 80 |"


def test_code_inside_a_cell_stays_code() -> None:
    assert read("<table><tr><td>x<td><pre>a |\n  b</pre></table>") == "| x | `a \\| b` |"


def test_nested_spans_do_not_grow_beyond_all_bounds() -> None:
    source = "text of some length"
    for _ in range(12):
        cell = f"<td rowspan=60 colspan=9>{source}</td><td>x</td>"
        source = f"<table><tr>{cell}</tr>{'<tr></tr>' * 59}</table>"

    assert len(read(source)) < 1_000_000


def test_a_bold_first_row_is_a_header_and_a_plain_one_is_not() -> None:
    bold = "<table><tr><td><b>A</b><td><strong>B</strong><tr><td>1<td>2</table>"
    plain = "<table><tr><td>A<td>B<tr><td>1<td>2</table>"

    assert blocks_of(bold) == (Table(("A", "B"), (("1", "2"),)),)
    assert blocks_of(plain) == (Table((), (("A", "B"), ("1", "2"))),)


def test_cells_with_lists_and_paragraphs_stay_on_one_line() -> None:
    source = "<table><tr><td>x<td><p>Ask:</p><ul><li>Ann<li>Bob</ul><p>a|b</p></table>"

    assert read(source) == "| x | Ask: Ann; Bob; a\\|b |"


def test_a_table_that_only_places_things_is_no_table() -> None:
    assert read("<table><tr><td><h3>T</h3><p>text</p></td></tr></table>") == "T\n\ntext"


def test_a_picture_speaks_only_where_nothing_else_does() -> None:
    source = "<p>Press <img alt='gear'> now</p><table><tr><td>A<td><img alt='yes'></table>"

    assert read(source) == "Press now\n\n| A | yes |"


def test_absurd_spans_and_numbers_are_bounded() -> None:
    source = "<table><tr><td colspan=999999999>a<td>b</table><ol start=99999999999><li>x</ol>"

    assert len(read(source)) < 500


def test_block_elements_inside_spans_keep_their_breaks() -> None:
    assert read("<span>a<p>b</p>c</span>") == "a\n\nb\n\nc"


def test_footnote_marks_and_anchor_signs_go() -> None:
    assert read("<h2>Setup<a href='#setup'>¶</a></h2><p>x<sup><a href='#f1'>1</a></sup></p>") == (
        "Setup\n\nx"
    )


def test_deep_nesting_keeps_its_text() -> None:
    assert "core" in read("<div>" * 600 + "core" + "</div>" * 600)


@pytest.mark.parametrize("tag", ["div", "b"])
def test_absurd_nesting_fails_rather_than_lose_text(tag: str) -> None:
    source = f"<{tag}>" * 20_000 + "core" + f"</{tag}>" * 20_000

    with pytest.raises(PageUnreadable, match="nested too deeply"):
        convert("a.html", source.encode())


def test_the_title_element_names_the_page() -> None:
    assert page_title("<html><head><title> VPN\n set-up </title></head></html>") == "VPN set-up"
    assert page_title("<p>x</p>") is None
    assert page_title("") is None


def test_nothing_gives_no_blocks() -> None:
    assert blocks_of("") == ()
    assert blocks_of("<!-- only -->") == ()


@pytest.mark.parametrize(
    "rows",
    [
        "<tr>" + "<td>y</td>" * 5_000 + "</tr>" + "<tr><td>x</td></tr>" * 5_000,
        "<tr><td colspan=60 rowspan=60>x</td></tr>" * 5_000,
    ],
    ids=["one wide row", "spans"],
)
def test_a_table_never_has_many_times_the_cells_that_are_written(rows: str) -> None:
    (table,) = convert("a.html", f"<table>{rows}</table>".encode()).blocks

    assert isinstance(table, Table)
    assert sum(map(len, table.rows)) <= 1_000_000


def test_what_is_wider_than_any_table_shares_the_last_column() -> None:
    cells = "".join(f"<td>{number}</td>" for number in range(502))
    rows = f"<tr>{cells}</tr><tr><td>x</td><td>y</td></tr>"
    (table,) = convert("a.html", f"<table>{rows}</table>".encode()).blocks

    assert isinstance(table, Table)
    assert table.rows[0][-2:] == ("498", "499 500 501")
    assert table.rows[1][:3] == ("x", "y", "")
