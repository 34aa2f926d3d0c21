"""Demo mode: act as one of the sample company's invented colleagues, to see what each sees.

Only on a local machine that serves the sample company; see ``demo_allowed``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from bot.domain.messages import Person
from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.domain.urls import safe_redirect_path
from bot.domain.users import Role, SignedIn
from bot.web.auth.identity import (
    SIGNED_IN,
    Signer,
    cookie_name,
    cookie_options,
    person_of,
    signing_key,
)
from bot.web.problems import problem
from rag.types import EVERYONE, Principal

DEMO_PATH = "/session/demo"
DEMO_COOKIE = "frontdesk_demo"
_SECONDS = 12 * 3600
_OWN_KEY, _OWN_NAME = "you", tr("You")


@dataclass(frozen=True, slots=True)
class Persona:
    """An invented colleague; ``signed_in`` is None for the actual user."""

    key: str
    name: str
    about: str
    signed_in: SignedIn | None = None


@dataclass(frozen=True, slots=True)
class PersonaSwitcher:
    """The personas of the switcher, and the current one."""

    personas: Sequence[Persona]
    playing: Persona


class Demo:
    """Stores a browser's persona in a signed cookie, and reads it."""

    def __init__(self, signer: Signer, personas: Sequence[Persona]) -> None:
        self._signer = signer
        self._personas = {each.key: each for each in personas}

    def persona(self, request: web.Request) -> Persona:
        """Return the browser's persona; by default the actual user."""
        key = self._signer.read(request.cookies.get(cookie_name(request, DEMO_COOKIE), ""))
        return self._personas.get(key or _OWN_KEY, self._personas[_OWN_KEY])

    def switcher(self, request: web.Request) -> PersonaSwitcher:
        return PersonaSwitcher(list(self._personas.values()), self.persona(request))

    async def choose(self, request: web.Request) -> web.Response:
        """Switch to another persona."""
        form = await request.post()
        chosen = self._personas.get(str(form.get("persona", "")))
        if chosen is None:
            raise problem(
                422,
                tr("There is no such person in the sample company."),
                cure=tr("Choose one from the menu at the top right."),
            )
        place = safe_redirect_path(str(form.get("next", "/")))
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": place})
        response.set_cookie(
            cookie_name(request, DEMO_COOKIE),
            self._signer.sign(chosen.key),
            max_age=_SECONDS,
            **cookie_options(request),
        )
        return response


DEMO = web.AppKey("demo", Demo)


def demo_allowed(settings: Settings) -> bool:
    """Return whether personas may be used: only where every caller is an admin anyway."""
    return not settings.exposed and settings.admin_token is None and settings.oidc_issuer is None


def mount_demo(app: web.Application, settings: Settings) -> None:
    """Add the persona switcher, if ``demo_allowed``."""
    if not demo_allowed(settings):
        return
    signer = Signer(signing_key(settings.data_dir / "cookie.key"), "demo")
    demo = app[DEMO] = Demo(signer, personas())
    app.router.add_post(DEMO_PATH, demo.choose)


def apply_persona(request: web.Request) -> None:
    """Set the signed-in person of a request to the browser's persona."""
    demo = request.config_dict.get(DEMO)
    signed_in = demo.persona(request).signed_in if demo is not None else None
    if signed_in is not None:
        request[SIGNED_IN] = signed_in


def switcher_of(request: web.Request) -> PersonaSwitcher | None:
    """Return the switcher of the page, or None outside of demo mode."""
    demo = request.config_dict.get(DEMO)
    return None if demo is None else demo.switcher(request)


def display_names(request: web.Request) -> Mapping[str, str]:
    """Return the names shown for the caller and for the personas, by person id."""
    demo, me = switcher_of(request), person_of(request)
    signed_in = [each.signed_in for each in demo.personas if each.signed_in] if demo else []
    played = {each.person.id: each.person.name for each in signed_in if each.person}
    return {**played, me.id: me.name or _OWN_NAME}


def personas() -> Sequence[Persona]:
    """Return the personas; their groups are those of the sample's restricted pages."""
    return (
        Persona(_OWN_KEY, _OWN_NAME, tr("operator, may do everything")),
        _persona("mika", "Mika", tr("sales, asks")),
        _persona("ines", "Ines", tr("HR team, asks and reads HR's pages"), groups=("hr-team",)),
        _persona(
            "tomas",
            "Tomas",
            tr("IT admins, answers colleagues"),
            role="expert",
            groups=("it-admins",),
        ),
    )


def _persona(
    key: str, name: str, about: str, *, role: Role = "asker", groups: Sequence[str] = ()
) -> Persona:
    names = (f"user:{key}", *(f"group:{group}" for group in groups))
    principals = frozenset({EVERYONE, *map(Principal, names)})
    person = Person(f"demo-{key}", name=name, principals=principals)
    return Persona(key, name, about, SignedIn("demo", role, person))
