"""What one who looks may see of what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bot.answering.asker_identity import Reader
from bot.answering.visibility import PassageOnPage, Visibility, visibility_of
from bot.domain.interactions import Clarification, Escalation, Reply, Response, Source
from bot.web.board.responses import response_view
from rag.errors import IndexUnavailable
from rag.types import EVERYONE, Chunk, Principal
from tests.builders import chunk

PAGE = chunk("Use port 4500. Ask Bea.", section="Ports")
CITED = Source(
    PAGE.id, PAGE.page_id, PAGE.title, "", PAGE.section, "Use port 4500.", None, 1.0, "folder", ""
)
SEEING = Visibility({PAGE.id: PAGE})


def quoting(*sources: Source) -> Reply:
    return Reply("Use port 4500. [1]", "found", sources)


class Away:
    """An index that can't be asked."""

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        raise IndexUnavailable("The disk is away.")


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (PAGE, True),
        (replace(PAGE, text="Ask Bea."), False),
        (replace(PAGE, title="Payroll"), False),
        (replace(PAGE, section="Doors"), False),
    ],
    ids=["as it was", "quote gone", "another page", "another section"],
)
def test_an_answer_is_shown_while_its_quotes_are_on_pages_that_may_be_read(
    page: Chunk, *, seen: bool
) -> None:
    assert Visibility({page.id: page}).shows(quoting(CITED)) is seen


@pytest.mark.parametrize(
    "response",
    [
        quoting(CITED, replace(CITED, chunk_id="secret")),
        Clarification("VPN or payroll?", suggestions=(CITED, replace(CITED, chunk_id="secret"))),
    ],
)
def test_one_page_that_may_not_be_read_hides_all_that_names_it(response: Response) -> None:
    assert not SEEING.shows(response)


def test_of_what_could_be_meant_only_pages_that_may_be_read_are_named() -> None:
    meant = Clarification("Which?", ("VPN: Ports", "Salary bands"), suggestions=(CITED,))

    assert response_view(meant, "a", SEEING).options == ("VPN: Ports",)


def test_what_is_said_at_a_hand_over_names_no_page() -> None:
    assert Visibility().shows(Escalation("Shall I ask?", "nothing_found", "vpn?", (CITED,)))


def test_pages_that_may_not_be_read_are_counted_and_left_out() -> None:
    found = (CITED, replace(CITED, chunk_id="secret"))

    assert SEEING.seen(found) == (CITED,)
    assert SEEING.hidden(found) == 1


async def test_while_the_index_is_away_nothing_is_seen() -> None:
    blind = await visibility_of(Away(), "default", [CITED], Reader(frozenset({EVERYONE})))

    assert blind.blind
    assert not blind.shows(quoting(CITED))
