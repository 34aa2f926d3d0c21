"""Answers recorded of a real Confluence are read as they are; skipped without recordings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingestion.confluence.client.cloud import Page
from ingestion.confluence.client.payloads import (
    Content,
    ContentPart,
    Reference,
    attachment_of,
    page_kind,
)
from ingestion.confluence.client.transport import Part
from ingestion.confluence.client.urls import AddressTarget, address_target

BASE = "https://querypie.atlassian.net/wiki"
ROOT = Path(__file__).parents[5]
RECORDED = Path(
    os.environ.get("CONFLUENCE_RECORDED", ROOT.parent / "shared/data/confluence_recorded")
)
PAGES = sorted(each for each in RECORDED.glob("*") if each.is_dir())

pytestmark = pytest.mark.skipif(not PAGES, reason="no recorded answers here")


def recorded(page: Path, name: str) -> str:
    """Return a recorded answer as it went over the wire; it is kept as YAML."""
    told: Any = yaml.safe_load((page / name).read_text())
    return json.dumps(told, default=str)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_the_newer_api_is_read(page: Path) -> None:
    read = Page.model_validate_json(recorded(page, "page.v2.yaml"))

    head = read.head("page", space_key="QM", base=BASE)
    assert head.id == page.name
    assert head.title
    assert head.version >= 1
    assert head.updated_by
    assert head.url.startswith(f"{BASE}/spaces/QM/")
    assert read.status == "current"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_the_older_api_is_read(page: Path) -> None:
    read = Content.model_validate_json(recorded(page, "page.v1.yaml"))

    assert (read.id, page_kind(read.type), read.status) == (page.name, "page", "current")
    assert read.body is not None
    assert read.body.storage is not None
    assert read.body.storage.value.startswith("<")
    ancestors = Part[Reference].model_validate_json(recorded(page, "ancestors.v1.yaml")).results
    assert read.ancestors is not None
    assert [each.id for each in read.ancestors] == [each.id for each in ancestors]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_short_link_holds_its_id(page: Path) -> None:
    links = json.loads(recorded(page, "page.v1.yaml"))["_links"]

    assert address_target(links["base"] + links["tinyui"]) == AddressTarget(page_id=page.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_attachments_are_read_as_far_as_they_were_expanded(page: Path) -> None:
    part = ContentPart.model_validate_json(recorded(page, "attachments.v1.yaml"))

    for content in part.results:
        # What was recorded was asked for without its version; all else is there.
        versioned = content.model_copy(update={"version": _version()})
        told = attachment_of(versioned, base=BASE, page_id=page.name)
        assert told is not None
        assert told.id.startswith("att")
        assert told.bytes > 0
        assert "/" in told.media_type
        assert told.download.startswith(f"/download/attachments/{page.name}/")
        named = address_target(told.url)
        assert named is not None
        assert (named.page_id, named.attachment_id) == (page.name, told.id)


def _version() -> object:
    content = {
        "id": "1",
        "type": "attachment",
        "version": {"number": 1, "when": "2026-01-01T00:00Z"},
    }
    return Content.model_validate(content).version
