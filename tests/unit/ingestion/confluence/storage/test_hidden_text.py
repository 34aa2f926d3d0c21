"""Text that a reader of a page cannot see is not indexed; what looks like it is."""

from __future__ import annotations

import pytest

from tests.fakes.costs import costs_in_proportion
from tests.unit.ingestion.confluence.storage.conversion import macro, read

WHITE = '<span style="color: {};">secret</span>'
LIGHT = '<span style="color: rgb(255,255,255);">shown</span>'
ROW, END = "<table><tbody><tr>", "</tr></tbody></table>"
HIDDEN = (
    *(
        f'<p style="{style}">secret</p>'
        for style in (
            "display:none",
            "visibility: hidden",
            "opacity:0",
            "font-size:0",
            "font-size: 0.5px !important",
            "font-size: 1%",
            "position:absolute; left:-9999px",
            "text-indent: -100em",
            "clip: rect(0, 0, 0, 0)",
            "clip-path: inset(100%)",
            "height: 0; overflow: hidden",
            "color: transparent",
            "color: #ffffff00",
            "color: #fff0",
            "color: #123456; background: #123456",
            "color: #123456; background: #1e4062",
            "color: #fff !important; color: #172b4d",
            "color: #000; background: #fff; background: #000",
            "visibility: collapse; color: rgb(1.2.3)",
            "position: absolute; left: -100vw",
            "margin-left: -9999px",
            "clip-path: inset(50%)",
        )
    ),
    *(
        f"<p>{WHITE.format(colour)}</p>"
        for colour in (
            "#fff",
            "#FFFFFF",
            "white",
            "rgb(255,255,255)",
            "rgba(254, 254, 254, 1)",
            "rgba(1,2,3,0)",
            "rgb(100%, 100%, 100%)",
            "rgba(255, 255, 255, 0.5)",
            "rgb(0 0 0 / 4%)",
            "hsl(0,0%,100%)",
        )
    ),
    '<p><font color="white">secret</font></p>',
    '<p><font color="FFFFFF">secret</font></p>',
    '<p style="color: #fff">secret <b style="color: #172b4d">dark</b> secret</p>',
    '<p style="font-size: 0">secret <b>secret</b></p>',
    '<p style="font-size: 30%"><b style="font-size: 30%">secret</b></p>',
    '<pre>a <span style="display: none">secret</span></pre>',
    "<p>a <code><b hidden>secret</b>b</code></p>",
    '<div style="background: #000"><p style="background: #fff; color: #fff">secret</p></div>',
    f'<p class="auto-cursor-target">{WHITE.format("#fff")}</p>',
    '<table bgcolor="#000000"><tbody><tr><td style="color: #000">secret</td></tr></tbody></table>',
    '<p aria-hidden="true">secret</p>',
    "<p hidden>secret</p>",
    "<!-- secret -->",
    "<p>a<!-- secret -->b</p>",
    "<ac:placeholder>secret</ac:placeholder>",
    "<script>secret</script>",
    f"<ul><li>{WHITE.format('#ffffff')}</li></ul>",
    f"<table><tbody><tr><td>{WHITE.format('#ffffff')}</td><td>b</td></tr></tbody></table>",
    macro("excerpt", "<p>secret</p>", hidden="true"),
    macro("html", plain='<div style="display:none">secret</div><!-- secret --><p>b</p>'),
)
STYLES_THAT_HIDE_NOTHING = (
    "color: #fff; background-image: url(x.png)",
    "color: #fff; background-image: linear-gradient(#000, #333)",
    "color: #fff; background: url(x.png); background-color: #fff",
    "color: transparent; background: linear-gradient(red, blue); -webkit-background-clip: text",
    "color: #fff; text-shadow: 0 0 3px #000",
    "color: #fff; position: absolute; top: 20px",
    "color: #fff; margin-top: -40px",
    "color: #f2f2f2",
    "color: #1e4063; background: #123456",
    "color: rgba(0,0,0,1.2.3)",
    "color: #172b4d !important; color: #fff",
    "overflow: hidden; max-width: 100%; height: 5%",
    "overflow: hidden; height: 0; padding-bottom: 56%",
    "overflow: hidden; height: 0; min-height: 20px",
    "position: absolute; left: 50%; margin-left: -1480px",
    "margin-left: -50vw",
    "left: -9999px",
    "margin-left: -1200px; padding-left: 1200px",
    "clip-path: inset(60% 0 0 0)",
    "font-size: 1",
    "font-size: 0.9",
    "visibility: visible; opacity: 1; text-indent: 2em",
)
SHOWN = (
    *(f'<p style="{style}">shown</p>' for style in STYLES_THAT_HIDE_NOTHING),
    '<p><span style="color:#fff"><span style="color:#172b4d">shown</span></span></p>',
    '<p style="color:#fff"><span style="background:#000">shown</span></p>',
    '<p style="font-size:0"><span style="font-size:14px">shown</span></p>',
    '<p style="visibility:hidden"><span style="visibility:visible">shown</span></p>',
    '<p style="color:#fff">a <a href="https://x.test">shown</a></p>',
    '<p>a <span style="overflow: hidden; width: 0">shown</span></p>',
    '<p class="lozenge" style="color:#fff">shown</p>',
    f'<p class="lozenge">{LIGHT}</p>',
    f"{ROW}<th>{LIGHT}</th><td>b</td>{END}",
    f"{ROW}<td class='confluenceTh'>{LIGHT}</td><td>b</td>{END}",
    f"{ROW}<td bgcolor='#003366'>{LIGHT}</td><td>b</td>{END}",
    f"{ROW}<td bgcolor='navy'>{LIGHT}</td><td>b</td>{END}",
    f"<table><colgroup><col style='background: #036'/></colgroup><tr><td>{LIGHT}</td></tr></table>",
    macro("style", plain="p { background: #036 }") + f"<p>{LIGHT}</p>",
    macro("html", plain=f"<style>p {{ background: #036 }}</style><p>{LIGHT}</p>"),
    f'<div style="background: #fff"><style>p {{ background: #036 }}</style><p>{LIGHT}</p></div>',
    f'<link rel="stylesheet" href="x.css"/><p>{LIGHT}</p>',
    '<style>b { font-size: 9pt }</style><p style="font-size:0"><b>shown</b></p>',
    macro("a-macro-of-ours", f"<p>{LIGHT}</p>"),
    '<p style="color: #172b4d">shown</p>',
    '<p style="font-size: 9px; text-indent: -20px">shown</p>',
    '<p style="background: #000; color: #fff">shown</p>',
    '<p style="color: #fff; background: url(x.png)">shown</p>',
    '<p style="opacity: 0.6; height: 0">shown</p>',
    '<div style="background-color: navy"><p style="color: white">shown</p></div>',
    '<p style="position: absolute; left: 10px; overflow: hidden; width: 200px">shown</p>',
    f"{ROW}<th data-highlight-colour='#003366'><p>{LIGHT}</p></th><td>b</td>{END}",
    f"{ROW}<td class='highlight-blue'>{LIGHT}</td><td>b</td>{END}",
    macro("panel", '<p style="color: #fff">shown</p>', bgColor="#003366"),
    macro("expand", "<p>shown</p>", title="More"),
    macro("html", plain="<p>shown</p>"),
)


@pytest.mark.parametrize("storage", HIDDEN)
def test_text_that_a_reader_cannot_see_is_left_out(storage: str) -> None:
    assert "secret" not in read(f"<p>before</p>{storage}<p>after</p>")


@pytest.mark.parametrize("storage", SHOWN)
def test_text_that_a_reader_can_see_or_open_is_kept(storage: str) -> None:
    assert "shown" in read(f"<p>before</p>{storage}<p>after</p>")


@pytest.mark.parametrize(
    "style",
    [
        "color: rgba(0,0,0,1.2.3)",
        f"color: rgb({'1' * 5_000},0,0)",
        f"font-size: {'1' * 5_000}px",
        "font-size: ٣px; left: --1px; clip: rect(",
        ";;:;: x; color:; background: hsl(,,)",
    ],
)
def test_a_malformed_style_hides_nothing_and_stops_nothing(style: str) -> None:
    assert "shown" in read(f'<p style="{style}">shown</p>')


@pytest.mark.parametrize(
    ("before", "piece", "after", "characters"),
    [
        ('<p style="', "a", '">x</p>', 40_000),
        ('<p style="font-size:', "1", 'x">x</p>', 40_000),
        ("<p>", '<b style="color:#123">x</b>', "</p>", 400_000),
        ("<p>", '<b style="background:#456"/><b style="color:#456">x</b>', "</p>", 400_000),
    ],
)
def test_styles_cost_in_proportion(before: str, piece: str, after: str, characters: int) -> None:
    def convert_styled(styles: str) -> None:
        read(f"{before}{styles}{after}")

    assert costs_in_proportion(convert_styled, piece, characters)
