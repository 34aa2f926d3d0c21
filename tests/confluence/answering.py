"""From a request's parts to its answer, without HTTP: who asks, what for, and is there such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.confluence import cloud_v1, cloud_v2, data_center, data_center_people
from tests.confluence.call import Answer, Call, Edition, Json, Options, Refusal, Route
from tests.confluence.faults import Faults
from tests.confluence.signing_in import Door
from tests.confluence.site import Site

ROUTES: Mapping[Edition, tuple[Route, ...]] = {
    "cloud": (*cloud_v2.ROUTES, *cloud_v1.ROUTES),
    "data-center": (*data_center.ROUTES, *data_center_people.ROUTES),
}
GATEWAY = "/ex/confluence/11223344-a1b2-4b33-8444-def123456789"
"""What comes before the context where OAuth tokens are taken."""
FAILURE = "com.atlassian.confluence.api.service.exceptions"


@dataclass
class Request:
    """A request as it came, without what is secret. ``status`` 0: it got no answer."""

    kind: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    person: str | None = None
    status: int = 0


@dataclass(frozen=True)
class Address:
    """Where a site is: ``origin`` is scheme and host, ``context`` what its paths begin with."""

    origin: str
    context: str
    media: str


@dataclass
class Desk:
    """Answers for one edition of a site."""

    site: Site
    edition: Edition
    faults: Faults
    options: Options = field(default_factory=Options)
    revoked: set[str] = field(default_factory=set)

    def route(self, method: str, path: str, context: str) -> tuple[Route | None, str]:
        """Return the door that a path leads to, and the path without gateway and context."""
        if self.edition == "cloud":
            path = path.removeprefix(GATEWAY)
        if not path.startswith(f"{context}/"):
            return None, path
        inside = path.removeprefix(context)
        for each in ROUTES[self.edition]:
            if method == each.method and each.pattern.match(inside):
                return each, inside
        return None, inside

    def answer(
        self, seen: Request, route: Route | None, address: Address, credentials: str, body: Json
    ) -> Answer:
        """Return what is answered; what no Confluence knows is noted."""
        _, inside = self.route(seen.method, seen.path, address.context)
        gateway = self.edition == "cloud" and seen.path.startswith(GATEWAY)
        try:
            person = Door(self.site, self.edition, self.revoked).person(
                credentials, gateway=gateway
            )
            seen.person = person.handle if person else None
            call = Call(
                site=self.site,
                person=person,
                edition=self.edition,
                base=f"{address.origin}{address.context}",
                context=address.context,
                path=inside,
                names=_names(route, inside),
                sent=seen.query,
                body=body,
                media=address.media,
                oauth=gateway,
                options=self.options,
            )
            return _known(seen, route).effect(self.faults.seen(call, self.site))
        except Refusal as refusal:
            if refusal.unexpected:
                self.site.unexpected.append(f"{seen.method} {seen.path}: {refusal}")
            return Answer(_error(inside, refusal), refusal.status)


def _names(route: Route | None, path: str) -> dict[str, str]:
    found = route.pattern.match(path) if route else None
    return {name: unquote(text) for name, text in found.groupdict().items()} if found else {}


def _known(seen: Request, route: Route | None) -> Route:
    if route is None:
        raise Refusal(404, f"there is no {seen.method} {seen.path}", unexpected=True)
    unknown = set(seen.query) - route.params
    if unknown:
        raise Refusal(400, f"{route.kind} has no {sorted(unknown)}", unexpected=True)
    return route


def _error(path: str, refusal: Refusal) -> Json:
    """Return the body of a refusal, as each API writes it."""
    if path.startswith("/api/v2/"):
        code = {400: "INVALID_REQUEST_PARAMETER", 404: "NOT_FOUND"}.get(refusal.status, "ERROR")
        told = {"status": refusal.status, "code": code, "title": str(refusal), "detail": None}
        return {"errors": [told]}
    return {
        "statusCode": refusal.status,
        "data": {"authorized": refusal.status not in {401, 403}, "valid": True, "errors": []},
        "message": f"{FAILURE}.Refusal: {refusal}",
    }
