from __future__ import annotations

from dataclasses import replace

from bot.answering.desk import SupersededMarker
from bot.domain.interactions import Outcome, Response, Source
from bot.domain.messages import Inquiry, Stage
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE, VPN
from tests.builders import inquiry, message

OLD = replace(VPN, labels=("how-to", "Archived"))


class _Says:
    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def handle(self, inquiry: Inquiry, report: object) -> Outcome:
        return self._outcome


async def _quiet(_: Stage, __: int = 0) -> None: ...


async def _marked(outcome: Outcome, *labels: str) -> Outcome:
    return await SupersededMarker(_Says(outcome), labels).handle(inquiry(message("vpn?")), _quiet)


def _sources(response: Response) -> tuple[Source, ...]:
    return response.sources if response.kind == "reply" else response.suggestions


async def test_cited_offered_and_private_pages_are_marked_by_their_own_label() -> None:
    cited = Outcome(replace(ANSWER, sources=(OLD, VPN)), TRACE, replace(ANSWER, sources=(OLD,)))
    offered = Outcome(replace(HANDED_OVER, suggestions=(OLD,)), TRACE)

    both = await _marked(cited, "superseded", "archived")

    assert [each.superseded for each in _sources(both.response)] == ["Archived", ""]
    assert both.private is not None
    assert both.private.sources[0].superseded == "Archived"
    assert _sources((await _marked(offered, "ARCHIVED")).response)[0].superseded == "Archived"


async def test_without_such_a_label_nothing_changes() -> None:
    outcome = Outcome(replace(ANSWER, sources=(OLD, VPN)), TRACE)
    assert await _marked(outcome, "superseded") == outcome
    assert await _marked(outcome) == outcome
