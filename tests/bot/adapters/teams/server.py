"""A Teams that runs here: a connector that keeps what it is sent, and an issuer of tokens."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

APP_ID = "11111111-2222-3333-4444-555555555555"
ENTRA = "99999999-8888-7777-6666-555555555555"
ISSUER = "https://api.botframework.com"
BUDGET = 25_000


@dataclass(frozen=True)
class Fault:
    """How the connector answers the next call; ``after`` keeps the activity all the same."""

    status: int
    after: bool = False
    retry_after: str = ""


@dataclass(frozen=True)
class Sent:
    """An activity as it arrived over the wire."""

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
    """State and addresses of one tenant's Teams."""

    sent: list[Sent] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    keys: dict[str, RSAPrivateKey] = field(default_factory=dict)
    url: str = ""
    keys_down: bool = False

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeTeams]:
        app = web.Application()
        app.router.add_post("/v3/conversations/{conversation}/activities", self._take)
        app.router.add_post("/v3/conversations/{conversation}/activities/{reply_to}", self._take)
        app.router.add_get("/meta", self._metadata)
        app.router.add_get("/keys", self._keys)
        async with TestServer(app, host="127.0.0.1") as server:
            self.url = str(server.make_url("")).rstrip("/")
            yield self

    @property
    def messages(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.activity["type"] == "message"]

    def fail(self, *faults: Fault) -> None:
        self.faults["message"].extend(faults)

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
        self.calls.append(str(activity["type"]))
        waiting = self.faults[str(activity["type"])]
        fault = waiting.popleft() if waiting else None
        if fault is None or fault.after:
            wrong = _refusal(activity)
            if wrong:
                return web.json_response({"error": {"code": wrong}}, status=_STATUS[wrong])
            self.sent.append(
                Sent(
                    request.match_info["conversation"],
                    request.match_info.get("reply_to"),
                    activity,
                    request.headers.get("Authorization", ""),
                )
            )
        if fault:
            headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            body = {"error": {"code": "Failed", "message": "no"}}
            return web.json_response(body, status=fault.status, headers=headers)
        return web.json_response({"id": f"reply-{len(self.sent)}"}, status=201)

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


_STATUS = {"MessageSizeTooBig": 413, "BadRequest": 400}


def _refusal(activity: Mapping[str, Any]) -> str:
    """Return why Teams and the playground would refuse an activity, "" when they take it."""
    if len(json.dumps(activity, ensure_ascii=False).encode("utf-16-le")) > BUDGET:
        return "MessageSizeTooBig"
    if activity["type"] != "message":
        return ""
    roots = [e for e in activity["entities"] if e["type"] == "https://schema.org/Message"]
    cited = roots[0].get("citation", []) if len(roots) == 1 else None
    fine = (
        cited is not None
        and len(cited) <= 10
        and len(roots[0]["additionalType"]) == 1
        and all(_is_citation(claim, activity["text"]) for claim in cited)
    )
    return "" if fine else "BadRequest"


def _is_citation(claim: Mapping[str, Any], text: str) -> bool:
    appearance = claim["appearance"]
    return (
        0 < len(appearance["name"]) <= 80
        and 0 < len(appearance["abstract"]) <= 160
        and f"[{claim['position']}]" in text
    )


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
