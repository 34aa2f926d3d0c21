"""Find everything that denotes a person in the record, and export what is kept about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, func, not_, or_, select

from bot.domain.errors import StoreUnavailable
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Message, Person
from bot.domain.personal_data import PersonKeys, PersonSummary, known_identity, merged
from bot.store.connections import Transactions
from bot.store.learning_tables import WebhookEventRow
from bot.store.person_tables import ACTS, acted_rows, asked_by, owned_rows
from bot.store.sessions import SESSION_CODEC
from bot.store.tables import (
    AuditRow,
    ConversationRow,
    FeedbackRow,
    InteractionRow,
    NoteRow,
    SessionRow,
    Table,
)

FORMAT = 1
"""Increased when the form of an export changes."""

REQUESTS = "person:forget:"
"""Key prefix of the notes that hold open requests to forget somebody; the rest is the pseudonym."""

ERASE_PAGES = "person:erase-pages"
"""Key of the note that says since when the index has words of a forgotten person to erase."""

ANOTHER = "(another person)"
"""Stands for everybody else in an export."""

_JSON_BEGINS = ("{", "[")


class StoredPeople:
    """Reads what is kept about a person."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._messages = Codec(Message)

    async def keys(self, tenant: str, identities: Collection[str]) -> PersonKeys:
        """Return everything that denotes a person, from ids or e-mail addresses of theirs.

        Ids are joined by the verified address under which they asked or signed in.
        """
        found = merged([known_identity(each) for each in identities if each.strip()])
        while True:
            more = merged([found, *map(_keys_of, await self._persons(tenant, found))])
            if more == found:
                break
            found = more
        named = PersonKeys(found.ids, found.emails, found.names | await self._names(tenant, found))
        channels = await self._own_channels(tenant, named)
        return PersonKeys(named.ids, named.emails, named.names, channels)

    async def summary(self, tenant: str, keys: PersonKeys) -> PersonSummary:
        """Return how many rows of each table are about a person, those of none left out."""
        counts: Counter[str] = Counter()
        for table, condition in _conditions(tenant, keys).items():
            count = select(func.count()).select_from(table).where(condition)
            counts[table.__tablename__] = await self._transactions.scalar(count) or 0
        counts[SessionRow.__tablename__] = len(await self.sessions(tenant, keys))
        counts[NoteRow.__tablename__] = len(await self.notes(tenant, keys))
        return PersonSummary(keys, {name: count for name, count in counts.items() if count})

    async def export(self, tenant: str, keys: PersonKeys, at: datetime) -> dict[str, object]:
        """Return all that is kept about a person, as JSON values; see docs/security.md.

        Other people are left out: who else acted, and the words of others' questions.
        """
        records: dict[str, Sequence[Mapping[str, object]]] = {}
        owned, acted = owned_rows(tenant, keys), acted_rows(tenant, keys)
        for table in [each for each in Table.__subclasses__() if each in {*owned, *acted}]:
            rows = [] if table not in owned else await self._rows(table, owned[table])
            whole = [_masked(table, each, keys) for each in rows]
            if table in acted:
                others = (
                    [acted[table]] if table not in owned else [acted[table], not_(owned[table])]
                )
                rows = await self._rows(table, *others)
                whole += [_masked(table, _without_others(table, row), keys) for row in rows]
            records[table.__tablename__] = whole
        sessions = await self.sessions(tenant, keys)
        records[SessionRow.__tablename__] = [
            {**_plain(row), "id": "(the hash of a cookie)", "refresh_token": "(encrypted)"}
            for row in sessions
        ]
        records[NoteRow.__tablename__] = [_plain(row) for row in await self.notes(tenant, keys)]
        about = await self.rows_naming(tenant, keys, AuditRow, "subject", "detail")
        records[AuditRow.__tablename__] = [
            *records[AuditRow.__tablename__],
            *(
                _masked(AuditRow, _plain(row), keys)
                for row in about
                if row.actor not in keys.actors
            ),
        ]
        return {
            "format": FORMAT,
            "exported_at": at.isoformat(),
            "person": {
                "ids": sorted(keys.ids),
                "emails": sorted(keys.emails),
                "names": sorted(keys.names),
            },
            "records": {name: rows for name, rows in sorted(records.items()) if rows},
        }

    async def sessions(self, tenant: str, keys: PersonKeys) -> Sequence[Row[Any]]:
        """Return the web sessions of a person."""
        rows = await self._transactions.rows(
            select(*SessionRow.__table__.c).where(SessionRow.tenant == tenant)
        )
        return [row for row in rows if _is_of(_session_person(row.person), keys)]

    async def notes(self, tenant: str, keys: PersonKeys) -> Sequence[Row[Any]]:
        """Return the notes whose key or text has an identifier of a person."""
        found = await self.rows_naming(tenant, keys, NoteRow, "key", "text")
        return [each for each in found if not each.key.startswith(REQUESTS)]

    async def rows_naming(
        self, tenant: str, keys: PersonKeys, table: type[Table], *names: str
    ) -> Sequence[Row[Any]]:
        """Return the rows of a table in one of whose columns an identifier of a person stands."""
        columns = table.__table__.c
        likely = or_(
            *(
                columns[name].icontains(storable(token), autoescape=True)
                for token in sorted(keys.tokens)
                for name in names
            )
        )
        found = await self._transactions.rows(
            select(*columns).where(columns.tenant == tenant, likely)
        )
        return [each for each in found if any(keys.is_in(getattr(each, name)) for name in names)]

    async def _persons(self, tenant: str, keys: PersonKeys) -> Sequence[Person]:
        """Return the authors and signed-in persons who have one of the ids or addresses."""
        row = InteractionRow
        likely = or_(
            row.person.in_(sorted(map(storable, keys.ids))),
            *(
                row.message.icontains(f'"email": {json.dumps(email)}', autoescape=True)
                for email in sorted(keys.emails)
            ),
        )
        found = await self._transactions.scalars(
            select(row.message).where(row.tenant == tenant, likely)
        )
        authors = {self._messages.decode(text).author for text in found}
        sessions = await self._transactions.scalars(
            select(SessionRow.person).where(SessionRow.tenant == tenant)
        )
        signed_in = {person for text in sessions if (person := _session_person(text))}
        return [each for each in authors | signed_in if _is_of(each, keys)]

    async def _names(self, tenant: str, keys: PersonKeys) -> frozenset[str]:
        """Return the names under which a person acted."""
        names: set[str] = set()
        for act in ACTS:
            if act.name:
                name = act.table.__table__.c[act.name]
                acted = select(name).where(act.is_by(tenant, keys)).distinct()
                names |= {each for each in await self._transactions.scalars(acted) if each}
        return frozenset(names)

    async def _own_channels(self, tenant: str, keys: PersonKeys) -> frozenset[str]:
        """Return the private channels in which only this person asked, such as a direct message."""
        row = InteractionRow
        theirs = select(row.channel).where(asked_by(tenant, keys))
        shared = select(row.channel).where(
            row.tenant == tenant, row.person.not_in(sorted(map(storable, keys.ids)))
        )
        private = select(ConversationRow.channel).where(
            ConversationRow.tenant == tenant, ConversationRow.private
        )
        found = await self._transactions.scalars(
            theirs.where(row.channel.in_(private), row.channel.not_in(shared)).distinct()
        )
        split = (each.partition(":") for each in found)
        return frozenset(channel for platform, _, channel in split if channel not in {"", platform})

    async def _rows(
        self, table: type[Table], *conditions: ColumnElement[bool]
    ) -> Sequence[Mapping[str, object]]:
        statement: Select[Any] = select(*table.__table__.c).where(*conditions)
        found = await self._transactions.rows(statement.order_by(*table.__table__.primary_key))
        return [_plain(row) for row in found]


def _conditions(tenant: str, keys: PersonKeys) -> Mapping[type[Table], ColumnElement[bool]]:
    owned, acted = owned_rows(tenant, keys), acted_rows(tenant, keys)
    both = {table: or_(owned[table], acted[table]) for table in owned if table in acted}
    return {**owned, **acted, **both}


def _keys_of(person: Person) -> PersonKeys:
    return PersonKeys(
        frozenset({person.id}) - {""},
        frozenset({person.email.lower()} if person.email else ()),
        frozenset({person.name} if person.name else ()),
    )


def _is_of(person: Person | None, keys: PersonKeys) -> bool:
    if person is None:
        return False
    return person.id in keys.ids or (person.email or "").lower() in keys.emails


def _session_person(text: str) -> Person | None:
    try:
        return SESSION_CODEC.decode(text).person
    except StoreUnavailable:
        # Another version wrote it: nobody can be signed in with it.
        return None


def _plain(row: Row[Any]) -> dict[str, object]:
    """Return a row as JSON values: texts that are JSON parsed, vectors left out."""
    return {name: _value(value) for name, value in row._asdict().items() if not _is_binary(value)}


def _is_binary(value: object) -> bool:
    return isinstance(value, bytes | memoryview)


def _value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) and value.startswith(_JSON_BEGINS):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _without_others(table: type[Table], row: Mapping[str, object]) -> Mapping[str, object]:
    """Return a row in which the person only acted, without what is about somebody else."""
    hidden = {name for act in ACTS if act.table is table for name in act.others}
    return {name: value for name, value in row.items() if name not in hidden}


def _masked(
    table: type[Table], row: Mapping[str, object], keys: PersonKeys
) -> Mapping[str, object]:
    """Return a row in which nobody else is named."""
    masked = dict(row)
    for actor, name in _actor_columns(table):
        given = row.get(actor)
        if given and str(given) not in keys.actors:
            masked[actor] = ANOTHER
            if name in row:
                masked[name] = ""
    if isinstance(said := row.get("complaints"), list):
        masked["complaints"] = [each for each in said if each[1] in keys.actors]
    return masked


def _actor_columns(table: type[Table]) -> Iterable[tuple[str, str]]:
    if table is FeedbackRow:
        yield "person", ""
    if table is WebhookEventRow:
        yield "owner_name", ""
    for act in ACTS:
        if act.table is table:
            yield act.actor, act.name
