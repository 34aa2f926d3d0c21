"""Why Microsoft gives the bot no token, in words an administrator can act on: pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE = re.compile(r"AADSTS(\d+)")
_CHECK = "Check MICROSOFT_APP_ID, MICROSOFT_APP_PASSWORD and MICROSOFT_APP_TENANT_ID."
_ANEW = (
    "Make a new client secret in the app registration, and set MICROSOFT_APP_PASSWORD to its value."
)
_REFUSALS: dict[str, tuple[str, str]] = {
    "7000222": ("the client secret has expired", _ANEW),
    "7000215": (
        "the client secret is wrong",
        f"MICROSOFT_APP_PASSWORD is the secret's value, not its id. {_ANEW}",
    ),
    "700016": (
        "the app is not in the directory that was asked",
        f"{_CHECK} MICROSOFT_APP_TYPE is SingleTenant, unless the registration is an old one.",
    ),
    "90002": (
        "there is no such directory",
        "Set MICROSOFT_APP_TENANT_ID to the directory id of the company served.",
    ),
    "900023": (
        "the directory's id is none",
        "Set MICROSOFT_APP_TENANT_ID to the directory id of the company served.",
    ),
    "7000112": ("the app is disabled", "Enable the app registration's enterprise application."),
    "7000229": (
        "the app has no service principal in the directory",
        "Create the app registration's enterprise application in MICROSOFT_APP_TENANT_ID.",
    ),
}
_UNREACHABLE = frozenset({"ConnectionError", "Timeout", "TimeoutError"})
_IDENTITY = frozenset({"ManagedIdentityError", "KeyError"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong, and what mends it."""

    why: str
    cure: str

    def __str__(self) -> str:
        return f"{self.why} {self.cure}"


def refusal_of(error: Exception) -> Refusal:
    """Return what an error of fetching a token means; nothing of its own words is in it."""
    code = _CODE.search(str(error))
    if code and code[1] in _REFUSALS:
        why, cure = _REFUSALS[code[1]]
        return Refusal(f"Microsoft gives no token: {why}.", cure)
    kinds = {each.__name__ for each in type(error).__mro__}
    if kinds & _UNREACHABLE:
        return Refusal("Microsoft's login cannot be reached.", "Check the network.")
    if kinds & _IDENTITY:
        return Refusal(
            "This machine's managed identity gives no token.",
            "Assign the identity whose client id is MICROSOFT_APP_ID to this machine, or set "
            "MICROSOFT_APP_TYPE=SingleTenant with a secret.",
        )
    return Refusal(f"Microsoft gives no token ({type(error).__name__}).", _CHECK)
