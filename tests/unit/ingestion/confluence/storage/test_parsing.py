"""Storage format is parsed, broken or large as it may be, at a bounded cost."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.storage import parsing
from ingestion.confluence.storage.convert import convert, needs
from ingestion.confluence.storage.parsing import parse, well_formed
from ingestion.confluence.storage.writer import Converted, Needs, Resolve
from ingestion.documents.html_elements import all_text
from ingestion.errors import PageUnreadable
from tests.unit.ingestion.confluence.storage.conversion import converted, macro, read

LARGE = 1_500_000
GROWTH = 10
MOST_GROWTH = 3 * GROWTH
"""What grows by the square would cost a hundred times as much."""
KILOBYTES = 150 * 1024
ROOT = Path(__file__).parents[5]
STATUS = Path("/proc/self/status")


@pytest.mark.parametrize("storage", ["", " \n ", "<p />", "<p></p><p>&nbsp;</p>", "<!-- x -->"])
def test_an_empty_page_has_no_blocks(storage: str) -> None:
    assert converted(storage) == Converted(())
    assert needs(storage) == Needs()


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("<p>a<b>c</p><p>d</p>", "ac\n\nd"),
        ("<p>a</p></div><p>b</p>", "a\n\nb"),
        ("</r></r><p>a</p>", "a"),
        ("<p>1 < 2 and 3 > 2</p><p>b", "1 < 2 and 3 > 2\n\nb"),
        ('<p a=1 a="2" b>x</p>', "x"),
        ('<p a="x<y">z</p>', '<p a="x<y">z'),
        ("<p>a<![CDATA[ open", "a open"),
        ("<p>a<!DOCTYPE x>b</p>", "a<!DOCTYPE x>b"),
        ("<p>a</p", "a</p"),
    ],
)
def test_malformed_pages_lose_nothing(storage: str, shown: str) -> None:
    assert read(storage) == shown


def test_what_is_malformed_is_told_with_its_place() -> None:
    assert converted("<p>fine</p>\n<p>x<b></p>").notes == (
        "is not well-formed at line 2, character 12; it was mended",
    )
    assert converted("<fab:x>undeclared</fab:x>").notes == ()


def test_characters_by_name_and_number_are_read_and_others_stay_as_written() -> None:
    assert read(
        "<p>&eacute;&#233;&#xe9;&auml; &amp;nbsp; &lol; R&D &#0;&#xD800;&#99999999;.</p>"
    ) == ("éééä &nbsp; &lol; R&D .")


def test_names_of_characters_inside_cdata_stay_as_written() -> None:
    assert read(macro("code", plain="&nbsp;&lt;")) == "```\n&nbsp;&lt;\n```"


def test_entities_of_a_document_type_are_never_defined() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 30))
    page = f'<!DOCTYPE p [<!ENTITY l0 "lol">{laughs}]><p>&l29;</p>'

    assert read(page) == "&l29;"
    assert converted(page).notes == ("a document type was left out",)


def test_nothing_is_fetched_or_read_from_elsewhere() -> None:
    page = (
        '<?xml version="1.0"?><!DOCTYPE p SYSTEM "http://127.0.0.1:9/x.dtd" '
        '[<!ENTITY x SYSTEM "file:///etc/passwd">]><p>&x;</p>'
        '<xi:include href="file:///etc/passwd" parse="text" />'
    )

    assert read(page) == "&x;"


def test_control_characters_are_left_out_and_told() -> None:
    found = converted("<p>a\x00\x08b\ud800\ufffe c</p>")

    assert read("<p>a\x00\x08b\ud800\ufffe c</p>") == "ab c"
    assert found.notes == ("characters that nobody can see were left out",)


@pytest.mark.parametrize("tag", ["p", "div", "span", "ac:layout", "ul", "blockquote"])
def test_a_page_nested_without_end_is_refused(tag: str) -> None:
    for page in (f"<{tag}>" * 100_000, f"<{tag}>" * 100_000 + f"</{tag}>" * 100_000):
        with pytest.raises(PageUnreadable, match="nested too deeply"):
            converted(page)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<div>", "</div>"),
        ("<span>", "</span>"),
        ("<blockquote>", "</blockquote>"),
        ("<ul><li>", "</li></ul>"),
        ("<table><tr><td>x</td><td>", "</td></tr></table>"),
        ("<ac:layout-cell>", "</ac:layout-cell>"),
        (
            '<ac:structured-macro ac:name="info"><ac:rich-text-body>',
            "</ac:rich-text-body></ac:structured-macro>",
        ),
        ("<ac:task-list><ac:task><ac:task-body>", "</ac:task-body></ac:task></ac:task-list>"),
    ],
)
def test_what_is_nested_as_deep_as_the_parser_goes_keeps_its_text(
    opening: str, closing: str
) -> None:
    levels = 250 // opening.count("<")

    assert "core" in read(opening * levels + "core" + closing * levels)


@pytest.mark.parametrize("tag", ["ul", "table", "tr", "ac:task-list", "ac:link", "ac:image"])
def test_parts_without_their_whole_are_read_or_refused(tag: str) -> None:
    try:
        converted(f"<{tag}>" * 250 + "x" + f"</{tag}>" * 250)
    except PageUnreadable as error:
        assert str(error) == "is nested too deeply"  # noqa: PT017 - both are right


def test_a_page_beyond_all_measure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PageUnreadable, match=r"too large \(10000001 of"):
        parse("x" * 10_000_001)
    monkeypatch.setattr(parsing, "MOST_TAGS", 10)
    with pytest.raises(PageUnreadable, match="11 of at most 10 tags"):
        parse("<b/>" * 11)


def _large() -> str:
    section = (
        "<h2>Step</h2><p>Press <strong>Enter</strong> and wait for the light to go green, then "
        "call the desk at the number that is shown on the screen of the printer.</p>"
        + macro("info", "<p>It takes a while, and nothing is lost meanwhile.</p>")
        + macro("code", plain="for each in range(10):\n    print(each)", language="python")
        + "<table><tbody>"
        + "<tr><td><p>Port</p></td><td><p>What it is used for there</p></td></tr>" * 5
        + "</tbody></table><ul><li>One thing to do</li><li>Another thing to do</li></ul>"
        '<p><ac:link><ri:page ri:content-title="VPN FAQ" /></ac:link></p>'
    )
    return section * (5_000_000 // len(section))


def _broken() -> str:
    return "<p>a < b and further words of a paragraph <b>c</p></i>" * 92_000


HOSTILE: Mapping[str, Callable[[int], str]] = {
    "loose ampersands": lambda size: "&" * size,
    "open document types": lambda size: "<!DOCTYPE [" * (size // 11),
    "open comments": lambda size: "<!--" * (size // 10),
    "one endless tag": lambda size: "<p " + "a " * (size // 2),
    "one endless name": lambda size: "<" + "a-" * (size // 2),
    "dropped elements": lambda size: "<p>" + "a<ac:placeholder/>" * (size // 18) + "</p>",
}


@pytest.mark.mended(id="tests-parsing")
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_costs_in_proportion_to_its_size(make: Callable[[int], str]) -> None:
    """One of three readings is enough: what else runs on the machine only adds to them."""
    page, part = make(LARGE), make(LARGE // GROWTH)
    small = min(cost(part) for _ in range(3))

    assert any(cost(page) < MOST_GROWTH * small for _ in range(3))


def cost(page: str) -> float:
    """Return the CPU seconds of a reading."""
    began = time.process_time()
    converted(page)
    return time.process_time() - began


MEASURED = """
import sys, time
from pathlib import Path
from ingestion.confluence.storage.convert import convert
from ingestion.confluence.storage.writer import Resolve

def peak():
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else ["VmHWM: 0"]
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def seconds(text):
    began = time.process_time()
    convert(text, Resolve())
    return time.process_time() - began

page = sys.stdin.read()
part = page[: len(page) // int(sys.argv[1])]
small = min(seconds(part) for _ in range(3))
before = peak()
print(seconds(page) / small, peak() - before)
"""


@pytest.mark.mended(id="tests-parsing")
@pytest.mark.parametrize("make", [_large, _broken], ids=["large", "broken"])
def test_five_megabytes_cost_in_proportion_and_in_bounded_memory(make: Callable[[], str]) -> None:
    """Memory is told by Linux alone."""
    command = [sys.executable, "-c", MEASURED, str(GROWTH)]
    done = subprocess.run(
        command, input=make(), cwd=ROOT, capture_output=True, text=True, check=True
    )

    growth, kilobytes = done.stdout.split()
    assert float(growth) < MOST_GROWTH
    assert int(kilobytes) < KILOBYTES
    assert int(kilobytes) > 0 or not STATUS.exists()


@given(st.text(alphabet="<>/&;\"'=!-[]:ab rp\n"))
def test_any_text_can_be_read_and_what_is_mended_is_well_formed(text: str) -> None:
    convert(text, Resolve())

    assert parse(text).root is not None


@given(st.lists(st.sampled_from(["<p>", "</p>", "<b>", "</b>", "<br/>", "x1", "<", ">", "y2"])))
def test_mending_keeps_every_word(parts: list[str]) -> None:
    markup = " ".join(parts)

    found = all_text(parse(markup).root).split()

    assert [word for word in found if word in {"x1", "y2"}] == [
        part for part in parts if part in {"x1", "y2"}
    ]
    assert well_formed(well_formed(markup)).count("<p>") == well_formed(markup).count("<p>")
