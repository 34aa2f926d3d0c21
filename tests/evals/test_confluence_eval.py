from __future__ import annotations

from pathlib import Path

import pytest

from tests.evals.confluence_eval import FLOOR, SHARED, Kept, added, main, measured, pages, share

STORAGE = (
    "<h2>One</h2><p>two three <a href='https://a.test/x'>four</a></p>"
    '<ul><li><ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[go  on]]>'
    "</ac:plain-text-body></ac:structured-macro></li></ul>"
    "<table><tr><td>a|b</td><td>c</td></tr></table>"
)
EXPECTED = """---
title: 'T'
---

import { Callout } from 'x'

# T

### One

two three [four](https://a.test/x)

* ```
  go  on
  ```

| a\\|b | c |
| --- | --- |
"""


def page(folder: Path, expected: str) -> Path:
    place = folder / "confluence_recorded" / "1"
    place.mkdir(parents=True)
    (place / "page.xhtml").write_text(STORAGE, "utf-8")
    (place / "expected.mdx").write_text(expected, "utf-8")
    return place


def test_what_is_all_there_is_kept_whole(tmp_path: Path) -> None:
    kept = measured(page(tmp_path, EXPECTED))

    assert kept == Kept(words=(9, 9), code_blocks=(1, 1), cells=(2, 2), links=(1, 1))
    assert main(["--shared", str(tmp_path)]) == 0


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    more = "zebra\n\n```\nrm\n```\n\n| y |\n\n[z](https://b.test)\n"

    kept = measured(page(tmp_path, EXPECTED + more))

    assert kept == Kept(words=(9, 13), code_blocks=(1, 2), cells=(2, 3), links=(1, 2))
    assert main(["--shared", str(tmp_path)]) == 1


def test_without_recorded_pages_nothing_is_claimed(tmp_path: Path) -> None:
    assert pages(tmp_path) == []
    assert main(["--shared", str(tmp_path)]) == 2


@pytest.mark.skipif(not pages(SHARED), reason="the recorded pages are not here")
def test_recorded_pages_are_kept() -> None:
    whole = added([measured(each) for each in pages(SHARED)])

    assert share(whole.words) >= FLOOR
    assert share(whole.code_blocks) == share(whole.cells) == share(whole.links) == 1.0
