"""What the key of a saved answer holds: each part that an answer depends on changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime

import pytest

from bot.answering.answer_plan import ModelProfile, SearchRequest
from bot.answering.cache_keys import CacheKeys, is_for_others, normalized
from bot.answering.gate import Gate, load_gate
from bot.domain.interactions import Route, Trace
from bot.domain.messages import Audience, Inquiry, Intent
from rag.errors import IndexUnavailable
from rag.search_scope import Asked, Scope
from rag.types import EVERYONE, Principal, Turn
from tests.fakes.builders import inquiry, message

READERS = frozenset({EVERYONE, Principal("user:anna")})
REQUEST = SearchRequest("How do I reset the VPN token?", Scope("default", READERS))
TRACE = Trace(Route(Intent.DOMAIN, 0.9, "rule", REQUEST.question))


@dataclass
class Revisions:
    """An index whose revision is that of its number, and of who asks where."""

    number: int | None = 1

    async def revision(
        self, tenant: str, spaces: frozenset[str] | None, readers: frozenset[Principal]
    ) -> str | None:
        del tenant, spaces
        return None if self.number is None else f"{self.number} {sorted(readers)}"


@dataclass(frozen=True)
class Case:
    """All that a key is made from."""

    asked: Inquiry = field(default_factory=lambda: inquiry(message(REQUEST.question)))
    request: SearchRequest = REQUEST
    model: str = "m1"
    calibrated_as: str = "m1"
    suspended: frozenset[str] = frozenset()
    basis: str = "basis"
    today: date = date(2026, 11, 24)
    revision: int | None = 1
    trace: Trace = TRACE

    async def key(self) -> str | None:
        gate: Gate = load_gate()
        gate.suspended = self.suspended
        keys = CacheKeys(Revisions(self.revision), gate, basis=self.basis, today=lambda: self.today)
        profile = ModelProfile(
            route=None,  # type: ignore[arg-type]  # the next three are not called
            reply_generically=None,  # type: ignore[arg-type]
            pipeline=None,  # type: ignore[arg-type]
            model=self.model,
            calibrated_as=self.calibrated_as,
        )
        return await keys.of(self.asked, profile, self.trace, self.request)

    def scoped(self, **changes: object) -> Case:
        scope = replace(self.request.scope, **changes)  # type: ignore[arg-type]  # fields of a scope
        return replace(self, request=replace(self.request, scope=scope))

    def searching(self, **changes: object) -> Case:
        return replace(self, request=replace(self.request, **changes))  # type: ignore[arg-type]  # fields of a request


PLAIN = Case()
IN_CHANNEL = Audience("channel", frozenset({EVERYONE}))
DIFFERENT: dict[str, Case] = {
    "question": PLAIN.searching(question="How do I reset the VPN?"),
    "language": PLAIN.searching(asked=Asked("Wie setze ich ihn zurück?", "de")),
    "ceiling": PLAIN.searching(ceiling="partial"),
    "spelling as typed": PLAIN.searching(corrects=False),
    "attached": PLAIN.searching(attached=("a file",)),
    "tenant": PLAIN.scoped(tenant="other"),
    "readers": PLAIN.scoped(readers=frozenset({EVERYONE})),
    "spaces": PLAIN.scoped(spaces=frozenset({"IT"})),
    "other spaces": PLAIN.scoped(spaces=frozenset({"IT", "HR"})),
    "no spaces": PLAIN.scoped(spaces=frozenset()),
    "source type": PLAIN.scoped(source_type="upload"),
    "excluded pages": PLAIN.scoped(excluded_pages=frozenset({"p"})),
    "label": PLAIN.scoped(label="old"),
    "changed since": PLAIN.scoped(changed_since=datetime(2026, 1, 1, tzinfo=UTC)),
    "audience": replace(PLAIN, asked=replace(PLAIN.asked, audience=IN_CHANNEL)),
    "overheard": replace(
        PLAIN, asked=replace(PLAIN.asked, message=replace(message("x"), overheard=True))
    ),
    "outsiders": replace(PLAIN, asked=replace(PLAIN.asked, outsiders=True)),
    "model": replace(PLAIN, model="m2"),
    "server and effort of a named model": replace(PLAIN, calibrated_as="m1@host/v1,low"),
    "suspended certificate": replace(PLAIN, suspended=frozenset({"extractive"})),
    "settings, prompts, code and gate": replace(PLAIN, basis="another"),
    "day": replace(PLAIN, today=date(2026, 11, 25)),
    "revision": replace(PLAIN, revision=2),
}


@pytest.mark.parametrize("case", DIFFERENT.values(), ids=DIFFERENT.keys())
async def test_whatever_an_answer_depends_on_changes_the_key(case: Case) -> None:
    assert await case.key() not in {None, await PLAIN.key()}


async def test_no_two_of_these_share_a_key() -> None:
    keys = {await case.key() for case in DIFFERENT.values()}

    assert len(keys) == len(DIFFERENT)


def test_every_field_of_a_search_is_in_the_table() -> None:
    of_scope = {each.name for each in fields(Scope)}
    of_request = {each.name for each in fields(SearchRequest)} - {"scope"}
    changed = [case.request for case in DIFFERENT.values()]

    def differs(get: Callable[[SearchRequest], object]) -> bool:
        return any(get(each) != get(REQUEST) for each in changed)

    assert all(differs(lambda each, name=name: getattr(each.scope, name)) for name in of_scope)  # type: ignore[misc]  # a bound name
    assert all(differs(lambda each, name=name: getattr(each, name)) for name in of_request)  # type: ignore[misc]  # a bound name


@pytest.mark.parametrize(
    "typed",
    [
        "how do I reset the VPN token",
        "  How do\tI reset the vpn\ntoken ? ",
        "HOW DO I RESET THE VPN TOKEN?!…",
    ],
)
async def test_case_blanks_and_end_marks_leave_the_key(typed: str) -> None:
    assert await PLAIN.searching(question=typed).key() == await PLAIN.key()


@pytest.mark.parametrize("typed", ["???", "  ", "…"])
async def test_a_question_of_marks_alone_has_no_key(typed: str) -> None:
    assert normalized(typed) == ""
    assert await PLAIN.searching(question=typed).key() is None


async def test_the_same_values_give_the_same_key_in_any_order() -> None:
    one, other = (PLAIN.scoped(spaces=frozenset(each)) for each in ("ABCDEFG", "GFEDCBA"))

    assert await one.key() == await other.key()


async def test_an_index_that_does_not_know_its_revision_gives_no_key() -> None:
    assert await replace(PLAIN, revision=None).key() is None


async def test_an_index_that_is_away_gives_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> str:
        raise IndexUnavailable("gone")

    monkeypatch.setattr(Revisions, "revision", away)

    assert await PLAIN.key() is None


def test_a_question_of_which_words_were_masked_is_not_for_others() -> None:
    masked = replace(TRACE, masked_question="my number is [PHONE]")

    assert is_for_others(PLAIN.asked, TRACE)
    assert not is_for_others(PLAIN.asked, masked)


def test_a_translation_beside_earlier_turns_is_not_for_others() -> None:
    route = replace(TRACE.route, language="de", search_query="How do I reset it?")
    translated = replace(TRACE, route=route)
    later = inquiry(message("Wie geht das?"), Turn("user", "VPN", "e1"))

    assert is_for_others(PLAIN.asked, translated)
    assert not is_for_others(later, translated)
