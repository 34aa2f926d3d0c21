"""Verify id tokens and map their claims to a signed-in person. EDGE of PyJWT.

No other module of web/ imports PyJWT. The sign-in errors:

- BotError
    - SignInFailed: has a text for the person, and a text for the log
        - IssuerUnavailable: the issuer is unreachable or its answer unusable; may work later
        - SignInRefused: the issuer or the settings refuse the person
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from bot.domain.errors import BotError
from bot.domain.messages import Person
from bot.domain.settings import Settings
from bot.domain.users import Role, SignedIn
from rag.types import EVERYONE, Principal

if TYPE_CHECKING:
    import jwt


class SignInFailed(BotError):
    """A failed sign-in; its text is for the log, ``user_message`` is shown to the person."""

    status = HTTPStatus.BAD_REQUEST
    user_message = "That did not work. Please sign in again."

    def __init__(self, why: str, *, user_message: str | None = None) -> None:
        super().__init__(why)
        self.user_message = user_message or self.user_message


class IssuerUnavailable(SignInFailed):
    """The issuer can't be reached, or its answer is unusable."""

    status = HTTPStatus.BAD_GATEWAY
    user_message = (
        "Your company's sign-in service doesn't answer as it should. Try again in a minute."
    )


class SignInRefused(SignInFailed):
    """The issuer's answer does not admit this person."""

    status = HTTPStatus.FORBIDDEN


Claims = Mapping[str, object]

_ENTRA = re.compile(r"/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/v2\.0/?$", re.IGNORECASE)
_EMAIL = re.compile(r"[^\s@]+@([^\s@]+)")
_TRUE_VALUES = (True, "true", "1", 1)
_MAX_NAME_LENGTH = 200
_OTHER_COMPANY = "Your account belongs to another company. Use the account of this one."


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """Who may sign in, and which groups make an admin or an expert."""

    issuer: str
    admin_groups: frozenset[str] = frozenset()
    expert_groups: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    @property
    def entra_tenant(self) -> str | None:
        """The Entra tenant of the issuer, or None for any other issuer."""
        found = _ENTRA.search(self.issuer)
        return found.group(1).lower() if found else None


def admission_rules(settings: Settings) -> AdmissionRules:
    """Return the admission rules of the settings."""
    return AdmissionRules(
        issuer=settings.oidc_issuer or "",
        admin_groups=frozenset(settings.oidc_admin_groups),
        expert_groups=frozenset(settings.oidc_expert_groups),
        domains=frozenset(domain.lower() for domain in settings.oidc_allowed_domains),
    )


def signed_in_person(claims: Claims, rules: AdmissionRules) -> SignedIn:
    """Return the person of an id token's claims. Raises SignInRefused if they are not admitted."""
    _check_company(claims, rules)
    email = verified_email(claims)
    _check_domain(email, rules)
    subject = _subject(claims, rules)
    groups = _texts(claims, "groups")
    person = Person(
        person_id(rules.issuer, subject),
        name=_name(claims, email),
        email=email,
        principals=_principals(subject, email, groups),
    )
    return SignedIn("oidc", _role(groups | _texts(claims, "roles"), rules), person)


def person_id(issuer: str, subject: str) -> str:
    """Return an id that is stable across sign-ins and unique to the issuer."""
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()
    return f"oidc-{digest[:32]}"


def verified_email(claims: Claims) -> str | None:
    """Return the e-mail address in lower case if the issuer has verified it, else None.

    Entra reports that in ``xms_edov``; without it, anyone may have entered the address.
    """
    email = claims.get("email")
    verified = (
        claims.get("email_verified") in _TRUE_VALUES or claims.get("xms_edov") in _TRUE_VALUES
    )
    if not verified or not isinstance(email, str) or not _EMAIL.fullmatch(email):
        return None
    return email.lower()


def has_group_overage(claims: Claims) -> bool:
    """Return whether an account has too many groups for a token, so that it lists none (Entra)."""
    named = claims.get("_claim_names")
    elsewhere = isinstance(named, Mapping) and "groups" in named
    return "groups" not in claims and (elsewhere or claims.get("hasgroups") in _TRUE_VALUES)


def _check_company(claims: Claims, rules: AdmissionRules) -> None:
    tenant = rules.entra_tenant
    if tenant is None:
        return
    if str(claims.get("tid", "")).lower() != tenant:
        raise SignInRefused(
            "The token's tid is not the issuer's tenant.", user_message=_OTHER_COMPANY
        )
    if claims.get("acct") in {1, "1"}:
        raise SignInRefused(
            "The account is a guest of the tenant (acct 1).", user_message=_OTHER_COMPANY
        )


def _check_domain(email: str | None, rules: AdmissionRules) -> None:
    if not rules.domains:
        return
    found = _EMAIL.fullmatch(email or "")
    if found is None:
        raise SignInRefused(
            "OIDC_ALLOWED_DOMAINS is set and the token has no verified e-mail address.",
            user_message="Your account has no verified e-mail address, which is needed here.",
        )
    if found.group(1) not in rules.domains:
        raise SignInRefused(
            f"The domain {found.group(1)!r} is not in OIDC_ALLOWED_DOMAINS.",
            user_message=_OTHER_COMPANY,
        )


def _subject(claims: Claims, rules: AdmissionRules) -> str:
    """Return Entra's oid, which is the same in all applications, or otherwise the sub."""
    wanted = "oid" if rules.entra_tenant else "sub"
    subject = claims.get(wanted)
    if not isinstance(subject, str) or not subject:
        raise SignInRefused(f"The token has no {wanted!r}. Ask for the scope 'profile'.")
    return subject


def _name(claims: Claims, email: str | None) -> str:
    for candidate in (claims.get("name"), claims.get("preferred_username"), email):
        if isinstance(candidate, str) and candidate.strip():
            return " ".join(candidate.split())[:_MAX_NAME_LENGTH]
    return ""


def _principals(subject: str, email: str | None, groups: frozenset[str]) -> frozenset[Principal]:
    names = {f"user:{subject}", *(f"group:{group}" for group in groups)}
    if email is not None:
        names.add(f"user:{email}")
    return frozenset({EVERYONE, *map(Principal, names)})


def _role(held: frozenset[str], rules: AdmissionRules) -> Role:
    if held & rules.admin_groups:
        return "admin"
    return "expert" if held & rules.expert_groups else "asker"


def _texts(claims: Claims, name: str) -> frozenset[str]:
    given = claims.get(name)
    values = given if isinstance(given, list) else [given]
    return frozenset(value for value in values if isinstance(value, str) and value)


ALGORITHMS = ("RS256", "ES256")
"""Asymmetric algorithms only: never ``none``, never a shared secret."""
LEEWAY_SECONDS = 60
_REQUIRED_CLAIMS = ["exp", "iat", "iss", "aud", "sub"]


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One of the issuer's public keys."""

    id: str | None
    public: jwt.PyJWK


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """The issuer, client and nonce that an id token must contain.

    ``nonce`` is None for a refreshed token: it belongs to no attempt (OIDC Core 12.2).
    """

    issuer: str
    client_id: str
    nonce: str | None


def signing_keys(document: Mapping[str, object]) -> Sequence[SigningKey]:
    """Return the signing keys of a JWKS; entries that are not understood are skipped."""
    listed = document.get("keys")
    found = (_signing_key(each) for each in listed) if isinstance(listed, list) else ()
    return [key for key in found if key is not None]


def key_id(token: str) -> str | None:
    """Return the ``kid`` of a token's header, if any. Raises SignInRefused: other algorithm."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise SignInRefused("The id token can't be read.") from error
    if header.get("alg") not in ALGORITHMS:
        raise SignInRefused(f"The id token is signed by {header.get('alg')!r}.")
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None


def verified_claims(token: str, key: SigningKey, expected: ExpectedToken) -> Claims:
    """Verify a token and return its claims. Raises SignInRefused."""
    import jwt

    try:
        claims: dict[str, object] = jwt.decode(
            token,
            key.public,
            algorithms=list(ALGORITHMS),
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": _REQUIRED_CLAIMS},
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise SignInRefused(f"The id token is not valid: {type(error).__name__}.") from error
    if expected.nonce is not None:
        _check_nonce(claims, expected.nonce)
    _check_party(claims, expected.client_id)
    return claims


def _check_nonce(claims: Claims, nonce: str) -> None:
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInRefused("The id token is for another attempt (nonce).")


def _check_party(claims: Claims, client_id: str) -> None:
    """Check ``azp``: a token for several audiences must be issued to us (OIDC Core 3.1.3.7)."""
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    party = claims.get("azp")
    if (several or party is not None) and party != client_id:
        raise SignInRefused("The id token was issued to another application (azp).")


def _signing_key(described: object) -> SigningKey | None:
    import jwt

    if not isinstance(described, dict) or described.get("use", "sig") != "sig":
        return None
    try:
        public = jwt.PyJWK(described)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if public.algorithm_name not in ALGORITHMS:
        return None
    kid = described.get("kid")
    return SigningKey(kid if isinstance(kid, str) else None, public)
