"""Each call of the service: its address, the right it needs, and what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.search_service import search
from tests.search_service.aliases import Aliases
from tests.search_service.analyzers import analyze, is_known
from tests.search_service.auth import Right
from tests.search_service.errors import (
    Json,
    Refused,
    bad_filter,
    bad_parameter,
    not_found,
    not_simulated,
)
from tests.search_service.faults import Faults
from tests.search_service.indexes import Indexes, StoredIndex
from tests.search_service.odata import compares_texts
from tests.search_service.request import check_select
from tests.search_service.schema import read_schema


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


def _create_index(kept: Kept, call: Call) -> Answer:
    schema = read_schema(call.body)
    _check_no_alias(kept, schema.name)
    return Answer(HTTPStatus.CREATED, kept.indexes.create(schema))


def _put_index(kept: Kept, call: Call) -> Answer:
    name = kept.aliases.resolve(call.name)
    body = {**call.body, "name": name} if call.body.get("name") == call.name else call.body
    new, index = kept.indexes.put(name, body, call.headers)
    return Answer(HTTPStatus.CREATED if new else HTTPStatus.OK, index)


def _check_no_alias(kept: Kept, name: str) -> None:
    if kept.aliases.resolve(name) != name:
        raise bad_parameter(f"There is an alias with the name of the index {name!r}.")


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


def _stats(kept: Kept, call: Call) -> Answer:
    return Answer(HTTPStatus.OK, kept.indexes.get(call.name).statistics())


def _service_stats(kept: Kept, _: Call) -> Answer:
    used: Json = {name: {"usage": 0} for name in ("documentCount", "storageSize")}
    used["indexesCount"] = {"usage": len(kept.indexes.all()), "quota": kept.indexes.most}
    return Answer(HTTPStatus.OK, {"counters": used, "limits": {}})


def _analyze(kept: Kept, call: Call) -> Answer:
    kept.indexes.get(call.name)
    name = call.body.get("analyzer")
    if name is None:
        raise not_simulated("analysis by tokenizer")
    if not is_known(str(name)):
        raise bad_parameter(f"There is no analyzer {name!r}.")
    tokens = [
        {
            "token": token.text,
            "startOffset": token.start,
            "endOffset": token.end,
            "position": token.position,
        }
        for token in analyze(str(name), call.body["text"])
    ]
    return Answer(HTTPStatus.OK, {"tokens": tokens})


def _put_alias(kept: Kept, call: Call) -> Answer:
    kept.aliases.check_supported()
    new, alias = kept.aliases.put(call.name, call.body, kept.indexes.all())
    return Answer(HTTPStatus.CREATED if new else HTTPStatus.OK, alias)


def _create_alias(kept: Kept, call: Call) -> Answer:
    kept.aliases.check_supported()
    name = str(call.body.get("name"))
    return Answer(HTTPStatus.CREATED, kept.aliases.put(name, call.body, kept.indexes.all())[1])


def _get_alias(kept: Kept, call: Call) -> Answer:
    kept.aliases.check_supported()
    return Answer(HTTPStatus.OK, kept.aliases.get(call.name))


def _list_aliases(kept: Kept, _: Call) -> Answer:
    kept.aliases.check_supported()
    return Answer(HTTPStatus.OK, kept.aliases.list())


def _delete_alias(kept: Kept, call: Call) -> Answer:
    kept.aliases.check_supported()
    kept.aliases.delete(call.name)
    return Answer(HTTPStatus.NO_CONTENT)


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


def _lookup(kept: Kept, call: Call) -> Answer:
    index = kept.documents_of(call.name)
    document = index.corpus.get(call.key)
    if document is None:
        raise not_found("document", call.key)
    names = tuple(name for name in call.query.get("$select", "").split(",") if name)
    shown = (
        check_select(names, index.schema)
        if names and names != ("*",)
        else tuple(f.name for f in index.schema.fields.values() if f.retrievable)
    )
    return Answer(HTTPStatus.OK, {name: document.get(name) for name in shown})


def _count(kept: Kept, call: Call) -> Answer:
    return Answer(HTTPStatus.OK, len(kept.documents_of(call.name).corpus))


def _not_here(_: Kept, call: Call) -> Answer:
    raise not_simulated(f"this call of {call.name!r}")


def _operation(kind: str, method: str, address: str, right: Right, do: Do) -> Operation:
    pattern = re.sub(r"\{(\w+)\}", r"(?:\\('(?P<\1>[^']*)'\\)|/(?P<\1_>[^/]+))", address)
    return Operation(kind, method, re.compile(pattern), right, do)


OPERATIONS = (
    _operation("create_index", "POST", r"/indexes", "define", _create_index),
    _operation("list_indexes", "GET", r"/indexes", "define", _list_indexes),
    _operation("put_index", "PUT", r"/indexes{name}", "define", _put_index),
    _operation("get_index", "GET", r"/indexes{name}", "define", _get_index),
    _operation("delete_index", "DELETE", r"/indexes{name}", "define", _delete_index),
    _operation("stats", "GET", r"/indexes{name}/search\.stats", "define", _stats),
    _operation("analyze", "POST", r"/indexes{name}/search\.analyze", "define", _analyze),
    _operation("create_alias", "POST", r"/aliases", "define", _create_alias),
    _operation("list_aliases", "GET", r"/aliases", "define", _list_aliases),
    _operation("put_alias", "PUT", r"/aliases{name}", "define", _put_alias),
    _operation("get_alias", "GET", r"/aliases{name}", "define", _get_alias),
    _operation("delete_alias", "DELETE", r"/aliases{name}", "define", _delete_alias),
    _operation("index", "POST", r"/indexes{name}/docs/search\.index", "write", _index),
    _operation("search", "POST", r"/indexes{name}/docs/search\.post\.search", "read", _search),
    _operation("suggest", "POST", r"/indexes{name}/docs/search\.post\.\w+", "read", _not_here),
    _operation("count", "GET", r"/indexes{name}/docs/\$count", "read", _count),
    _operation("get", "GET", r"/indexes{name}/docs{key}", "read", _lookup),
    _operation("service_stats", "GET", r"/servicestats", "define", _service_stats),
)
