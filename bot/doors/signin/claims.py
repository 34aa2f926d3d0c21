"""From the claims of a checked id token to who signs in, and as what; pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.settings import Settings
from bot.domain.types import Person
from bot.domain.users import Role, SignedIn
from bot.doors.signin.errors import SignInRefused
from rag.types import EVERYONE, Principal

Claims = Mapping[str, object]

_ENTRA = re.compile(r"/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/v2\.0/?$", re.IGNORECASE)
_EMAIL = re.compile(r"[^\s@]+@([^\s@]+)")
_TRUE = (True, "true", "1", 1)
_LONGEST_NAME = 200
_ELSEWHERE = "Your account belongs to another company. Use the account of this one."


@dataclass(frozen=True, slots=True)
class Admittance:
    """Who is let in, and who is more than an asker."""

    issuer: str
    admin_groups: frozenset[str] = frozenset()
    expert_groups: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    @property
    def entra_tenant(self) -> str | None:
        """The Entra tenant that the issuer is, None for any other issuer."""
        found = _ENTRA.search(self.issuer)
        return found.group(1).lower() if found else None


def admittance(settings: Settings) -> Admittance:
    """Return who the settings let in."""
    return Admittance(
        issuer=settings.oidc_issuer or "",
        admin_groups=frozenset(settings.oidc_admin_groups),
        expert_groups=frozenset(settings.oidc_expert_groups),
        domains=frozenset(domain.lower() for domain in settings.oidc_allowed_domains),
    )


def colleague(claims: Claims, let_in: Admittance) -> SignedIn:
    """Return who signs in. Raises SignInRefused for who is not let in."""
    _check_company(claims, let_in)
    email = verified_email(claims)
    _check_domain(email, let_in)
    subject = _subject(claims, let_in)
    groups = _texts(claims, "groups")
    person = Person(
        person_id(let_in.issuer, subject),
        name=_name(claims, email),
        email=email,
        principals=_principals(subject, email, groups),
    )
    return SignedIn("oidc", _role(groups | _texts(claims, "roles"), let_in), person)


def person_id(issuer: str, subject: str) -> str:
    """Return an id that is the same at every sign-in, and nobody's at another issuer."""
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()
    return f"oidc-{digest[:32]}"


def verified_email(claims: Claims) -> str | None:
    """Return the address, in small letters, if the issuer says that it is theirs.

    Entra says so by ``xms_edov``; without it, anyone may have written the address there.
    """
    email = claims.get("email")
    verified = claims.get("email_verified") in _TRUE or claims.get("xms_edov") in _TRUE
    if not verified or not isinstance(email, str) or not _EMAIL.fullmatch(email):
        return None
    return email.lower()


def groups_left_out(claims: Claims) -> bool:
    """Tell whether somebody has too many groups for a token, so that it names none (Entra)."""
    named = claims.get("_claim_names")
    elsewhere = isinstance(named, Mapping) and "groups" in named
    return "groups" not in claims and (elsewhere or claims.get("hasgroups") in _TRUE)


def _check_company(claims: Claims, let_in: Admittance) -> None:
    tenant = let_in.entra_tenant
    if tenant is None:
        return
    if str(claims.get("tid", "")).lower() != tenant:
        raise SignInRefused("The token's tid is not the issuer's tenant.", told=_ELSEWHERE)
    if claims.get("acct") in {1, "1"}:
        raise SignInRefused("The account is a guest of the tenant (acct 1).", told=_ELSEWHERE)


def _check_domain(email: str | None, let_in: Admittance) -> None:
    if not let_in.domains:
        return
    found = _EMAIL.fullmatch(email or "")
    if found is None:
        raise SignInRefused(
            "OIDC_ALLOWED_DOMAINS is set and the token has no verified e-mail address.",
            told="Your account has no verified e-mail address, which is needed here.",
        )
    if found.group(1) not in let_in.domains:
        raise SignInRefused(
            f"The domain {found.group(1)!r} is not in OIDC_ALLOWED_DOMAINS.", told=_ELSEWHERE
        )


def _subject(claims: Claims, let_in: Admittance) -> str:
    """Return Entra's oid, which is the same in all applications, or else the sub."""
    wanted = "oid" if let_in.entra_tenant else "sub"
    subject = claims.get(wanted)
    if not isinstance(subject, str) or not subject:
        raise SignInRefused(f"The token has no {wanted!r}. Ask for the scope 'profile'.")
    return subject


def _name(claims: Claims, email: str | None) -> str:
    for candidate in (claims.get("name"), claims.get("preferred_username"), email):
        if isinstance(candidate, str) and candidate.strip():
            return " ".join(candidate.split())[:_LONGEST_NAME]
    return ""


def _principals(subject: str, email: str | None, groups: frozenset[str]) -> frozenset[Principal]:
    names = {f"user:{subject}", *(f"group:{group}" for group in groups)}
    if email is not None:
        names.add(f"user:{email}")
    return frozenset({EVERYONE, *map(Principal, names)})


def _role(held: frozenset[str], let_in: Admittance) -> Role:
    if held & let_in.admin_groups:
        return "admin"
    return "expert" if held & let_in.expert_groups else "asker"


def _texts(claims: Claims, name: str) -> frozenset[str]:
    given = claims.get(name)
    values = given if isinstance(given, list) else [given]
    return frozenset(value for value in values if isinstance(value, str) and value)
