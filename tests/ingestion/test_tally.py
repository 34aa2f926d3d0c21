"""What went wrong is told with a cure for whoever it concerns."""

from __future__ import annotations

import pytest

from ingestion.confluence.client.retry import error_of
from ingestion.confluence.space_scan import space_not_visible
from ingestion.confluence.wiki import WikiSpace
from ingestion.runs.tracking import failure_of

SPACE = WikiSpace("1", "IT", "IT", "https://wiki.test/spaces/IT")
UNREACHABLE = "No answer from wiki.test to GET /rest/api/space. Try again later."


@pytest.mark.mended(id="confluence-9")
@pytest.mark.parametrize(
    ("reason", "cure"),
    [
        (str(error_of(401, {}, "GET /rest/api/space")), "CONFLUENCE_TOKEN"),
        (str(error_of(403, {}, "GET /rest/api/space")), "next run"),
        (str(error_of(404, {}, "GET /rest/api/space")), "next run"),
        (str(error_of(503, {}, "GET /rest/api/space")), "Try again"),
        (UNREACHABLE, "Try again"),
        (str(space_not_visible(SPACE)), "CONFLUENCE_TOKEN"),
    ],
    ids=["401", "403", "404", "503", "unreachable", "lost sight"],
)
@pytest.mark.parametrize("page", ["", "65601"])
def test_trouble_with_a_wiki_is_not_put_down_to_a_file(page: str, reason: str, cure: str) -> None:
    told = failure_of("IT", page, reason)

    assert cure in told.cure
    assert "file" not in told.cure
    assert not told.reason.endswith(".")
    assert told.cure.endswith(".")
    assert not told.cure.endswith("..")
