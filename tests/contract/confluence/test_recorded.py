"""Our JSON compared with what a real Cloud answered; skipped without the recordings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.confluence.conftest import ApiClient
from tests.fakes.confluence.site import Site

ROOT = Path(__file__).resolve().parents[3]
RECORDED = (
    Path(os.environ.get("FRONTDESK_EVAL_DATA", ROOT.parent / "shared" / "data"))
    / "confluence_recorded"
    / "692355151"
)
OTHERS = {"ari", "base64EncodedAri", "macroRenderedOutput", "collection", "lastOwnerId"}
"""What nobody reads, and is not told here; an owner before the last is null there as well."""
pytestmark = pytest.mark.skipif(not RECORDED.exists(), reason="no recordings here")


def recorded(name: str) -> Any:  # noqa: ANN401 - JSON
    return yaml.safe_load((RECORDED / name).read_text(encoding="utf-8"))


def lacking(real: Any, ours: Any, at: str = "") -> list[str]:  # noqa: ANN401 - JSON
    """Return where ours lacks something that the real one has, or has it of another type."""
    if isinstance(real, dict) and isinstance(ours, dict):
        keys = [key for key in real if key not in OTHERS and key != "_expandable"]
        missing = [f"{at}.{key}" for key in keys if key not in ours]
        there = [key for key in keys if key in ours]
        return missing + [
            each for key in there for each in lacking(real[key], ours[key], f"{at}.{key}")
        ]
    if isinstance(real, list) and isinstance(ours, list) and real and ours:
        return lacking(real[0], ours[0], f"{at}[]")
    same = real is None or ours is None or type(real) is type(ours)
    return [] if same else [f"{at}: {type(ours).__name__} for {type(real).__name__}"]


async def test_a_page_of_the_newer_api_is_shaped_as_recorded(rita: ApiClient, site: Site) -> None:
    top = site.create("IT", "Top")
    page = site.create("IT", "Page", parent=top.id)
    ours = await rita.get(f"/api/v2/pages/{page.id}", **{"body-format": "atlas_doc_format"})
    assert lacking(recorded("page.v2.yaml"), ours) == []


async def test_a_page_of_the_older_api_is_shaped_as_recorded(rita: ApiClient, site: Site) -> None:
    top = site.create("IT", "Top")
    page = site.create("IT", "Page", parent=top.id)
    ours = await rita.get(f"/rest/api/content/{page.id}", expand="ancestors,body.storage,body.view")
    assert lacking(recorded("page.v1.yaml"), ours) == []


async def test_files_of_the_older_api_are_shaped_as_recorded(pat: ApiClient, site: Site) -> None:
    page = site.create("IT", "Page")
    site.attach(page.id, "image-20241030-004258.png", b"x")
    ours = await pat.get(f"/rest/api/content/{page.id}/child/attachment")
    assert lacking(recorded("attachments.v1.yaml"), ours) == []
