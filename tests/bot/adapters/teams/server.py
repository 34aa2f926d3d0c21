"""A Teams that runs here: a connector that keeps what it is sent, and an issuer of tokens."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

from tests.bot.adapters.teams.limits import refusal

APP_ID = "11111111-2222-3333-4444-555555555555"
ENTRA = "99999999-8888-7777-6666-555555555555"
ISSUER = "https://api.botframework.com"


@dataclass(frozen=True)
class Fault:
    """How the connector answers the next call; ``after`` does what is asked all the same.

    ``status`` 0 cuts the connection; ``code`` is Teams' name of the error.
    """

    status: int
    after: bool = False
    retry_after: str = ""
    code: str = "Failed"


@dataclass(frozen=True)
class Sent:
    """An activity as it arrived over the wire, under the id that it was given."""

    id: str
    conversation: str
    reply_to: str | None
    activity: Mapping[str, Any]
    authorization: str

    @property
    def shown(self) -> str:
        """What a person reads: the text, and the citations below it."""
        (entity,) = self.activity.get("entities") or [{}]
        cited = [
            f"[{claim['position']}] {claim['appearance']['name']} "
            f"{claim['appearance'].get('url', '')} {claim['appearance']['abstract']}"
            for claim in entity.get("citation", [])
        ]
        return "\n".join([str(self.activity.get("text", "")), *cited])


@dataclass
class FakeTeams:
    """State and addresses of one tenant's Teams.

    ``sent`` is everything that was posted, as it is now; ``visible`` what is not deleted, by id.
    ``calls`` and ``faults`` name a call by what it posts (message, typing), update, or delete.
    """

    sent: list[Sent] = field(default_factory=list)
    visible: dict[str, Sent] = field(default_factory=dict)
    edits: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    keys: dict[str, RSAPrivateKey] = field(default_factory=dict)
    url: str = ""
    keys_down: bool = False

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeTeams]:
        app = web.Application()
        conversation = "/v3/conversations/{conversation}/activities"
        app.router.add_post(conversation, self._take)
        app.router.add_post(f"{conversation}/{{activity}}", self._take)
        app.router.add_put(f"{conversation}/{{activity}}", self._update)
        app.router.add_delete(f"{conversation}/{{activity}}", self._delete)
        app.router.add_get("/meta", self._metadata)
        app.router.add_get("/keys", self._keys)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("")).rstrip("/")
            yield self

    @property
    def messages(self) -> list[Sent]:
        """What the conversations show now, in order."""
        return list(self.visible.values())

    def fail(self, *faults: Fault | None, call: str = "message") -> None:
        """Say what happens to the next calls of a kind; None lets one pass."""
        self.faults[call].extend(faults)

    def token(self, *, key_id: str = "k1", **changes: object) -> str:
        """Sign a token as the bot service does; a claim of None is left out."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": APP_ID,
            "serviceurl": self.url,
            "nbf": now - 60,
            "exp": now + 3600,
            **changes,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(kept, self.keys[key_id], algorithm="RS256", headers={"kid": key_id})

    def new_key(self, key_id: str) -> None:
        self.keys[key_id] = generate_private_key(public_exponent=65537, key_size=2048)

    async def _take(self, request: web.Request) -> web.Response:
        activity = json.loads(await request.text())
        return self._answered(request, str(activity["type"]), lambda: self._post(request, activity))

    async def _update(self, request: web.Request) -> web.Response:
        activity = json.loads(await request.text())
        return self._answered(request, "update", lambda: self._replace(request, activity))

    async def _delete(self, request: web.Request) -> web.Response:
        return self._answered(request, "delete", lambda: self._remove(request))

    def _answered(
        self, request: web.Request, call: str, effect: Callable[[], web.Response]
    ) -> web.Response:
        self.calls.append(call)
        fault = self.faults[call].popleft() if self.faults[call] else None
        if fault is None:
            return effect()
        if fault.after:
            effect()
        if fault.status == 0:
            assert request.transport
            request.transport.close()
        headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
        body = {"error": {"code": fault.code, "message": "no"}}
        return web.json_response(body, status=fault.status or 500, headers=headers)

    def _post(self, request: web.Request, activity: Mapping[str, Any]) -> web.Response:
        wrong = refusal(activity)
        if wrong:
            return _error(wrong)
        name = f"reply-{len(self.sent) + 1}"
        sent = _arrived(name, request, activity, request.match_info.get("activity"))
        self.sent.append(sent)
        if activity["type"] == "message":
            self.visible[name] = sent
        return web.json_response({"id": name}, status=201)

    def _replace(self, request: web.Request, activity: Mapping[str, Any]) -> web.Response:
        name = request.match_info["activity"]
        there = self._there(request)
        wrong = refusal(activity) if there else "ActivityNotFoundInConversation"
        if there is None or wrong:
            return _error(wrong)
        self.edits.append(str(activity["text"]))
        now = _arrived(name, request, activity, there.reply_to)
        self.visible[name] = self.sent[self.sent.index(there)] = now
        return web.json_response({"id": name})

    def _remove(self, request: web.Request) -> web.Response:
        if self._there(request) is None:
            return _error("ActivityNotFoundInConversation")
        del self.visible[request.match_info["activity"]]
        return web.Response()

    def _there(self, request: web.Request) -> Sent | None:
        found = self.visible.get(request.match_info["activity"])
        same = found and found.conversation == request.match_info["conversation"]
        return found if same else None

    async def _metadata(self, _: web.Request) -> web.Response:
        self.calls.append("meta")
        if self.keys_down:
            return web.Response(status=503)
        return web.json_response({"issuer": ISSUER, "jwks_uri": f"{self.url}/keys"})

    async def _keys(self, _: web.Request) -> web.Response:
        keys = [
            {**json.loads(RSAAlgorithm.to_jwk(key.public_key())), "kid": name}
            | {"endorsements": ["msteams"]}
            for name, key in self.keys.items()
        ]
        return web.json_response({"keys": keys})


_STATUS = {"MessageSizeTooBig": 413, "BadRequest": 400, "ActivityNotFoundInConversation": 404}


def _arrived(
    name: str, request: web.Request, activity: Mapping[str, Any], reply_to: str | None
) -> Sent:
    authorization = request.headers.get("Authorization", "")
    return Sent(name, request.match_info["conversation"], reply_to, activity, authorization)


def _error(code: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": "no"}}, status=_STATUS[code])


class CountingCredentials:
    """Credentials whose tokens are made here, and counted."""

    def __init__(self) -> None:
        self.fetched = 0
        self.made = 0
        self.threads: list[threading.Thread] = []

    async def is_valid_app_id(self, app_id: str) -> bool:
        return app_id == APP_ID

    async def is_authentication_disabled(self) -> bool:
        return False

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001
    ) -> Signer:
        self.made += 1
        return Signer(self)


class Signer:
    """Signs requests with a token that is fetched once."""

    def __init__(self, issuer: CountingCredentials) -> None:
        self._issuer = issuer
        self._token = ""

    def get_access_token(self, force_refresh: bool = False) -> str:  # noqa: FBT001, FBT002
        if not self._token:
            self._issuer.fetched += 1
            self._issuer.threads.append(threading.current_thread())
            self._token = f"token-{self._issuer.fetched}"
        return self._token

    def signed_session(self, session: Any) -> Any:  # noqa: ANN401
        session.headers["Authorization"] = f"Bearer {self.get_access_token()}"
        return session
