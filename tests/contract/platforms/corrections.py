"""What is shown of an answer once its page has changed, or was closed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from bot.answering.admission import VouchedDirectory
from bot.learning.corrections import (
    Correction,
    CorrectionDelivery,
    CorrectionLimits,
    correction_line,
)
from bot.learning.quote_fates import QuoteFates
from rag.ports import SearchIndex
from rag.types import Principal
from tests.contract.platforms.driver import Question
from tests.contract.platforms.scenario import Scenario, Words
from tests.fakes.board_app import TwoPageIndex
from tests.fakes.builders import chunk
from tests.fakes.corrections import ListedRuns, nothing_expired
from tests.fakes.desk import PAGE, VPN

_HR = (frozenset({Principal("group:hr")}),)


@dataclass(frozen=True)
class IsCorrected:
    """The answer is edited twice, by processes that did not post it; the line is there once."""

    shown: tuple[Words, ...]
    closed: bool = False
    private: bool = False

    async def __call__(self, scene: Scenario) -> None:
        question = Question("vpn down?", private=self.private)
        await scene.ask(question)
        for _ in range(2):
            await self._correct(scene)
        line = correction_line("closed" if self.closed else "changed", scene.people.now())
        whole = (line,) if self.closed else (*self.shown, line)
        await scene.expect_shown(question, whole, absent=self.shown if self.closed else ())

    async def _correct(self, scene: Scenario) -> None:
        store, now, asked = scene.people.store, scene.people.now(), await scene.recorded()
        tenant = asked.message.thread.tenant
        changed = chunk(
            "Call the desk.",
            page_id=VPN.page_id,
            tenant=tenant,
            readers=_HR if self.closed else PAGE.readers,
        )
        index = cast("SearchIndex", TwoPageIndex((changed,)))
        channel = scene.platform.another_channel()
        delivery = CorrectionDelivery(
            tenant,
            record=store.corrections,
            interactions=store.interactions,
            audits=store.audits,
            runs=ListedRuns(),
            channels={} if channel is None else {channel.platform: channel},
            fates=partial(QuoteFates, tenant, index, VouchedDirectory(), nothing_expired),
            limits=CorrectionLimits(50, 500),
            public_url=None,
        )
        found = Correction(asked.id, "IT", VPN.page_id, now, "due", now)
        await store.corrections.found(tenant, (), [found])
        await delivery.round(now)
        (page,) = await store.corrections.pages(tenant, 5, 0)
        scene.expect(page.told == 1, f"it was not told: {page}")
