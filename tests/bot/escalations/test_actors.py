"""One id for one person, wherever they act."""

from __future__ import annotations

from bot.domain.cases import actor_of, expert_of
from bot.domain.messages import Person


def test_who_has_a_verified_address_is_known_by_it_and_keeps_their_id_here() -> None:
    anna = actor_of(Person("oidc-1", "Anna Lopez", email="Anna@Acme.example"), "expert")
    assert (anna.id, anna.name, anna.role) == ("anna@acme.example", "Anna Lopez", "expert")
    assert anna.has("anna@acme.example")
    assert anna.has("oidc-1")
    assert not anna.has("oidc-2")
    assert not anna.has("")


def test_who_has_none_is_known_by_their_id() -> None:
    visitor = actor_of(Person("visitor-1"), "asker", name="Somebody")
    assert (visitor.id, visitor.name, visitor.also) == ("visitor-1", "Somebody", frozenset())


def test_the_same_person_is_the_same_actor_on_any_platform() -> None:
    web = actor_of(Person("oidc-1", "Anna", email="anna@acme.example"), "expert")
    slack = actor_of(Person("slack:U1", "Anna", email="ANNA@acme.example"), "expert")
    assert web == slack


def test_an_expert_is_known_by_their_address_and_by_their_ids_on_the_platform() -> None:
    actor = expert_of("teams", Person("object-id", "Anna", "Anna@acme.example"))
    assert actor.id == "anna@acme.example"
    assert all(map(actor.has, ("teams:object-id", "object-id")))


def test_an_expert_without_an_address_is_known_by_their_platforms_id() -> None:
    actor = expert_of("teams", Person("object-id", "Anna"))
    assert (actor.id, actor.role) == ("teams:object-id", "expert")
    assert actor.has("object-id"), "they may have asked it themselves"
