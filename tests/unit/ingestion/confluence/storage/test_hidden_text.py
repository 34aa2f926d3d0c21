"""Text that a reader of a page cannot see is not indexed; what looks like it is."""

from __future__ import annotations

import pytest

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
            "color: #123456; background: #123456",
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
        )
    ),
    '<p><font color="white">secret</font></p>',
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
SHOWN = (
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
