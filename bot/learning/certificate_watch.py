"""Hold a week's labels against the certificate of the gate, and suspend what does not hold.

A certificate promises that at most a share of the given answers is wrong, as long as questions are
like those that it was made from. Each week the accepted labels of that week are tested against it:
by the exact one-sided Clopper-Pearson bound, the same that certifies (Bates et al., "Distribution-
free, risk-controlling prediction sets", use it so). Only if the error is above the promise beyond
the noise, the certificate is suspended: the stricter default of bot.answering.gate holds, until
another certificate is made or an admin ends the suspension.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from bot.answering.evaluation.certificate import upper_bound
from bot.answering.gate import Gate
from bot.domain.errors import DeliveryFailed
from bot.domain.outcomes import as_given, confidence_level
from bot.domain.ports import Audits, Interactions, TellsPeople
from bot.domain.record_reports import NEEDED_THE_WIKI, Span, Tally
from bot.domain.texts import Text, marked, number_text, tr
from bot.learning.insights import CountsQuestions
from bot.learning.jobs import JobMarks, week_begin
from bot.learning.labels import UNBIASED, Label, Labels

LEAST_LABELS = 20
"""Labels of a week below which nothing is concluded: 3 wrong of 19 would still be noise at 5 %."""

CONFIDENCE = 0.95
"""How sure it must be that the error is above the promise."""

JOB = "certificate_watch"
_WEEK = timedelta(days=7)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Suspension:
    """A suspended certificate (its record as JSON) of a calibration, since when and why."""

    calibration: str
    certificate: str
    since: datetime
    reason: str


class Suspensions(Protocol):
    """The suspended certificates in the record. Raises StoreUnavailable."""

    async def current(self, tenant: str) -> Mapping[str, Suspension]:
        """Return the suspensions by calibration."""
        ...

    async def suspend(self, tenant: str, suspension: Suspension) -> None:
        """Keep a suspension, in place of an earlier one of the calibration."""
        ...

    async def end(self, tenant: str, calibration: str) -> bool:
        """Forget the suspension of a calibration; return whether there was one."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """The labels of one calibration's answers in a week.

    ``sampled``: only labels that do not depend on how good the answer was; else there were too few
    of them, and votes count too, which are given to the worst answers first.
    """

    labels: int
    wrong: int
    sampled: bool

    @property
    def error_at_least(self) -> float:
        """The share of wrong answers that is exceeded with ``CONFIDENCE``, 0..1."""
        return 1.0 - upper_bound(self.labels - self.wrong, self.labels, CONFIDENCE)


@dataclass(frozen=True, slots=True)
class WeekOfUse:
    """A week to hold against certificates: its questions, and what labels say by calibration."""

    questions: Tally
    evidence: Mapping[str, Evidence]

    @property
    def answered(self) -> float | None:
        """The share answered of the questions that needed the wiki; None without any."""
        needed = sum(map(self.questions.of, NEEDED_THE_WIKI))
        return self.questions.of("answered") / needed if needed else None


class CertificateWatch:
    """Suspends certificates that use does not bear out, and tells the gate which ones are.

    Args:
        tenant: The company.
        gate: The gate of this process.
        platforms: Where admins are told.
        now: Returns the current time.
    """

    def __init__(
        self,
        tenant: str,
        *,
        gate: Gate,
        labels: Labels,
        interactions: Interactions,
        questions: CountsQuestions,
        suspensions: Suspensions,
        marks: JobMarks,
        audits: Audits,
        platforms: Sequence[TellsPeople],
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._gate = gate
        self._labels = labels
        self._interactions = interactions
        self._questions = questions
        self._suspensions = suspensions
        self._marks = marks
        self._audits = audits
        self._platforms = platforms
        self._now = now

    async def refresh(self) -> None:
        """Tell the gate of this process what is suspended. Raises StoreUnavailable."""
        self._gate.suspended = frozenset(await self.current())

    async def current(self) -> Mapping[str, Suspension]:
        """Return the suspensions of certificates that the gate has now, by calibration."""
        kept = await self._suspensions.current(self._tenant)
        return {
            name: each for name, each in kept.items() if self._certificate(name) == each.certificate
        }

    async def run(self) -> bool:
        """Judge the last whole week, once; return False: nothing is left to do."""
        ends = week_begin(self._now())
        week = ends.date().isoformat()
        if await self._marks.mark(self._tenant, JOB) < week:
            await self._judge(ends)
            await self._marks.set_mark(self._tenant, JOB, week)
        return False

    async def end(self, calibration: str, *, actor: str) -> bool:
        """End a suspension by an admin's decision; return whether there was one."""
        ended = await self._suspensions.end(self._tenant, calibration)
        if ended:
            await self._audits.append(self._tenant, actor, "certificate.resume", calibration)
            await self.refresh()
        return ended

    async def _judge(self, ends: datetime) -> None:
        held = await self.current()
        for name, evidence in (await self.evidence(ends - _WEEK, ends)).items():
            certificate = self._gate.certificate(name)
            if certificate is None or name in held or evidence.labels < LEAST_LABELS:
                continue
            if evidence.error_at_least > certificate.target_error:
                await self._suspend(name, evidence, certificate.target_error)

    async def evidence(self, since: datetime, until: datetime) -> Mapping[str, Evidence]:
        """Return what the labels accepted in a time say, by calibration."""
        by_calibration: dict[str, list[Label]] = defaultdict(list)
        for label in await self._labels.accepted(self._tenant, since, until):
            asked = await self._interactions.get(label.key.interaction_id)
            outcome = None if asked is None else asked.outcome
            if outcome is not None and confidence_level(as_given(outcome)) in {"sure", "partial"}:
                by_calibration[outcome.trace.calibration].append(label)
        return {name: _evidence(labels) for name, labels in by_calibration.items()}

    async def last_week(self) -> WeekOfUse:
        """Return the last whole week. Raises StoreUnavailable."""
        ends = week_begin(self._now())
        since = ends - _WEEK
        figures = await self._questions.figures(self._tenant, Span(since, ends))
        return WeekOfUse(figures.total, await self.evidence(since, ends))

    async def _suspend(self, name: str, evidence: Evidence, promised: float) -> None:
        reason = _reason(evidence, promised)
        await self._suspensions.suspend(
            self._tenant, Suspension(name, self._certificate(name), self._now(), reason)
        )
        await self._audits.append(
            self._tenant, f"job:{JOB}", "certificate.suspend", name, detail=reason
        )
        await self.refresh()
        log.error("certificate.suspended", calibration=name, why=reason)
        for platform in self._platforms:
            try:
                await platform.tell_people(
                    tr(
                        "The certificate of the answers' confidence is suspended: {reason} A "
                        "stricter threshold holds until `python -m bot certify` makes another one.",
                        reason=reason,
                    )
                )
            except DeliveryFailed as error:
                log.warning("certificate.not_told", platform=platform.platform, why=str(error))

    def _certificate(self, name: str) -> str:
        certificate = self._gate.certificate(name)
        return "" if certificate is None else certificate.model_dump_json()


_WRONG: Final = marked(
    "{wrong} of {labels} labelled answers of last week were wrong, more than the {promised} of its "
    "certificate beyond the noise."
)
_WRONG_BY_VOTES: Final = marked(
    "{wrong} of {labels} labelled answers of last week were wrong, more than the {promised} of its "
    "certificate beyond the noise (votes included, as few sampled ones were labelled)."
)
_VALUES = {"wrong": r"(\d+)", "labels": r"(\d+)", "promised": r"(\d+%)"}


def _reason(evidence: Evidence, promised: float) -> Text:
    why = _WRONG if evidence.sampled else _WRONG_BY_VOTES
    return _filled(why, str(evidence.wrong), str(evidence.labels), f"{promised:.0%}")


def suspension_in_words(reason: str) -> str:
    """Return the text of a reason that the record keeps; one of an older version as it is."""
    for why in (_WRONG, _WRONG_BY_VOTES):
        pattern = re.escape(why).replace(r"\{", "{").replace(r"\}", "}").format(**_VALUES)
        found = re.fullmatch(pattern, reason)
        if found is not None:
            return _filled(why, *found.groups())
    return reason


def _filled(why: str, wrong: str, labels: str, promised: str) -> Text:
    return tr(why, wrong=wrong, labels=labels, promised=number_text(promised))


def _evidence(labels: Sequence[Label]) -> Evidence:
    sampled = [each for each in labels if each.key.origin in UNBIASED]
    enough = len(sampled) >= LEAST_LABELS
    counted = sampled if enough else _one_each(labels)
    return Evidence(len(counted), sum(each.truth != "right" for each in counted), enough)


def _one_each(labels: Sequence[Label]) -> Sequence[Label]:
    """Return the last label of each question."""
    return list({each.key.interaction_id: each for each in labels}.values())
