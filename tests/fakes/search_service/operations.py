"""Each call of the service: its right, what it does, and what can be made to go wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from tests.fakes.search_service import search
from tests.fakes.search_service.indexes import Aliases, Indexes, Result, StoredIndex
from tests.fakes.search_service.odata import compares_texts
from tests.fakes.search_service.protocol import (
    Json,
    Refused,
    bad_filter,
    bad_parameter,
    not_found,
)
from tests.fakes.search_service.search import Partial

Role = Literal[
    "Search Index Data Reader", "Search Index Data Contributor", "Search Service Contributor"
]
Right = Literal["read", "write", "define"]
"""Read documents; write documents; define indexes and aliases and read their definitions."""

_RIGHTS: dict[Role, frozenset[Right]] = {
    "Search Index Data Reader": frozenset({"read"}),
    "Search Index Data Contributor": frozenset({"read", "write"}),
    "Search Service Contributor": frozenset({"define"}),
}
_ALL: frozenset[Right] = frozenset({"read", "write", "define"})


@dataclass(slots=True)
class Access:
    """Keys and tokens that are taken. ``tokens``: a bearer token, and the roles of its owner."""

    admin_key: str = "admin-key"
    query_key: str = "query-key"
    tokens: dict[str, frozenset[Role]] = field(default_factory=dict)

    def grant(self, token: str, *roles: Role) -> None:
        """Give a token's owner these roles and no others."""
        self.tokens[token] = frozenset(roles)

    def check(self, headers: Mapping[str, str], right: Right, *, secure: bool) -> None:
        """Refuse with 401 who is nobody, and with 403 who may not."""
        if right not in self._rights(headers, secure=secure):
            raise Refused(403, "Forbidden", "The caller does not have permission to do this.")

    def _rights(self, headers: Mapping[str, str], *, secure: bool) -> frozenset[Right]:
        authorization = headers.get("Authorization")
        if authorization is not None:
            return self._of_token(authorization.removeprefix("Bearer "), secure=secure)
        key = headers.get("api-key")
        if key is None:
            raise _nobody("Authorization is required; there is neither key nor token.")
        if key not in {self.admin_key, self.query_key}:
            raise Refused(403, "Forbidden", "Access denied due to an invalid key.")
        return _ALL if key == self.admin_key else frozenset({"read"})

    def _of_token(self, token: str, *, secure: bool) -> frozenset[Right]:
        if not secure:
            raise Refused(403, "Forbidden", "Tokens are only taken over https.")
        if token not in self.tokens:
            raise _nobody("The token is invalid or has expired.")
        rights: frozenset[Right] = frozenset()
        return rights.union(*(_RIGHTS[role] for role in self.tokens[token]))


def _nobody(message: str) -> Refused:
    refused = Refused(401, "Unauthorized", message)
    refused.headers["WWW-Authenticate"] = "Bearer"
    return refused


Cut = Literal["before", "after"]
_WORDS = {
    429: "You are sending too many requests. Please try again later.",
    503: "The service is temporarily unavailable.",
    500: "Something went wrong.",
}


@dataclass(slots=True)
class Fault:
    """Something that happens to the next ``times`` calls of a kind; None: to all kinds.

    status: What is answered instead. seconds: How late it is answered. cut: The connection ends,
    before or after the call is done. hang: Nothing is ever answered.
    """

    kind: str | None
    times: int
    status: int | None = None
    retry_after: str | None = None
    seconds: float = 0.0
    cut: Cut | None = None
    hang: bool = False

    def refusal(self) -> Refused | None:
        if self.status is None:
            return None
        refused = Refused(self.status, "", _WORDS.get(self.status, "Refused by the test."))
        if self.retry_after is not None:
            refused.headers["Retry-After"] = self.retry_after
        return refused


@dataclass(slots=True)
class ItemFault:
    """Actions that fail inside a batch that is otherwise done (207); None: whichever key."""

    status: int
    times: int
    keys: frozenset[str] | None


@dataclass(slots=True)
class Faults:
    """All that is to go wrong. ``largest_body``: bytes of a request that are still taken."""

    largest_body: int = 16 * 1024 * 1024
    _calls: list[Fault] = field(default_factory=list)
    _items: list[ItemFault] = field(default_factory=list)
    _partial: list[Partial] = field(default_factory=list)

    def refuse(
        self, kind: str | None, status: int, *, times: int = 1, retry_after: str | None = None
    ) -> None:
        """Answer the next calls of a kind with this status."""
        self._calls.append(Fault(kind, times, status=status, retry_after=retry_after))

    def slow(self, kind: str | None, seconds: float, *, times: int = 1) -> None:
        self._calls.append(Fault(kind, times, seconds=seconds))

    def hang(self, kind: str | None, *, times: int = 1) -> None:
        self._calls.append(Fault(kind, times, hang=True))

    def cut(self, kind: str | None, when: Cut, *, times: int = 1) -> None:
        """End the connection without an answer: nobody knows whether it was done."""
        self._calls.append(Fault(kind, times, cut=when))

    def fail_items(
        self, status: int, *, times: int = 1, keys: Collection[str] | None = None
    ) -> None:
        """Fail the next actions, of these keys, within their batches."""
        self._items.append(ItemFault(status, times, None if keys is None else frozenset(keys)))

    def degrade(self, partial: Partial, *, times: int = 1) -> None:
        """Answer the next semantic searches with 206."""
        self._partial.extend([partial] * times)

    def clear(self) -> None:
        """Let everything go well again."""
        for pending in (self._calls, self._items, self._partial):
            pending.clear()

    def next_of(self, kind: str) -> Fault | None:
        """Return what happens to this call, which uses it up."""
        for fault in self._calls:
            if fault.kind in {None, kind} and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def of_item(self, key: str) -> Result | None:
        for fault in self._items:
            if fault.times > 0 and (fault.keys is None or key in fault.keys):
                fault.times -= 1
                return Result(key, fault.status, "The action failed; try again.")
        return None

    def next_partial(self) -> Partial | None:
        return self._partial.pop(0) if self._partial else None


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read: what stands in its address, its query, its headers and its body."""

    name: str
    key: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply; no body where there is nothing to say."""

    status: int
    body: Json | int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """All that the service holds."""

    indexes: Indexes
    aliases: Aliases = field(default_factory=Aliases)
    faults: Faults = field(default_factory=Faults)
    takes_text_ranges: bool = True

    def documents_of(self, name: str) -> StoredIndex:
        """Return an index by its name or an alias."""
        return self.indexes.get(self.aliases.resolve(name))


Do = Callable[[Kept, Call], Answer]


@dataclass(frozen=True, slots=True)
class Operation:
    kind: str
    method: str
    address: re.Pattern[str]
    right: Right
    do: Do


def find(method: str, path: str) -> tuple[Operation, re.Match[str]]:
    """Return the operation at an address; raise Refused where there is none."""
    known = [(each, match) for each in OPERATIONS if (match := each.address.fullmatch(path))]
    if not known:
        raise not_found("resource", path)
    for operation, match in known:
        if operation.method == method:
            return operation, match
    raise Refused(405, "", f"{method} is not allowed at {path}.")


def _put_index(kept: Kept, call: Call) -> Answer:
    name = kept.aliases.resolve(call.name)
    body = {**call.body, "name": name} if call.body.get("name") == call.name else call.body
    new, index = kept.indexes.put(name, body, call.headers)
    return Answer(HTTPStatus.CREATED if new else HTTPStatus.OK, index)


def _get_index(kept: Kept, call: Call) -> Answer:
    return Answer(HTTPStatus.OK, kept.documents_of(call.name).shown())


def _list_indexes(kept: Kept, call: Call) -> Answer:
    shown = [index.shown() for index in kept.indexes.all().values()]
    if call.query.get("$select") == "name":
        shown = [{"name": each["name"]} for each in shown]
    return Answer(HTTPStatus.OK, {"value": shown})


def _delete_index(kept: Kept, call: Call) -> Answer:
    if kept.aliases.leads_to(call.name):
        raise bad_parameter(f"The index {call.name!r} can't be deleted: an alias leads to it.")
    kept.indexes.delete(call.name, call.headers)
    return Answer(HTTPStatus.NO_CONTENT)


def _put_alias(kept: Kept, call: Call) -> Answer:
    kept.aliases.check_supported()
    new, alias = kept.aliases.put(call.name, call.body, kept.indexes.all())
    return Answer(HTTPStatus.CREATED if new else HTTPStatus.OK, alias)


def _index(kept: Kept, call: Call) -> Answer:
    name = kept.aliases.resolve(call.name)
    results = kept.indexes.write(name, call.body, kept.faults.of_item)
    failed = any(result.error is not None for result in results)
    status = HTTPStatus.MULTI_STATUS if failed else HTTPStatus.OK
    return Answer(status, {"value": [result.shown() for result in results]})


def _search(kept: Kept, call: Call) -> Answer:
    asked = str(call.body.get("filter") or "")
    if asked and not kept.takes_text_ranges and compares_texts(asked):
        raise bad_filter("Strings can be compared for exact matches only, by 'eq' and 'ne'.")
    corpus = kept.documents_of(call.name).corpus
    semantic = call.body.get("queryType") == "semantic" or call.body.get("semanticQuery")
    partial = kept.faults.next_partial() if semantic else None
    reply = search.answer(call.body, corpus, partial)
    return Answer(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK, reply)


def _operation(kind: str, method: str, address: str, right: Right, do: Do) -> Operation:
    pattern = re.sub(r"\{(\w+)\}", r"(?:\\('(?P<\1>[^']*)'\\)|/(?P<\1_>[^/]+))", address)
    return Operation(kind, method, re.compile(pattern), right, do)


OPERATIONS = (
    _operation("list_indexes", "GET", r"/indexes", "define", _list_indexes),
    _operation("put_index", "PUT", r"/indexes{name}", "define", _put_index),
    _operation("get_index", "GET", r"/indexes{name}", "define", _get_index),
    _operation("delete_index", "DELETE", r"/indexes{name}", "define", _delete_index),
    _operation("put_alias", "PUT", r"/aliases{name}", "define", _put_alias),
    _operation("index", "POST", r"/indexes{name}/docs/search\.index", "write", _index),
    _operation("search", "POST", r"/indexes{name}/docs/search\.post\.search", "read", _search),
)
