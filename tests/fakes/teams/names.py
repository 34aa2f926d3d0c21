"""Ids of the tenant, the app in it, and the people and places that are always there."""

from __future__ import annotations

APP_ID = "11111111-2222-3333-4444-555555555555"
ENTRA = "99999999-8888-7777-6666-555555555555"
OTHER_ENTRA = "77777777-8888-7777-6666-555555555555"
ISSUER = "https://api.botframework.com"
BOT = f"28:{APP_ID}"
BOT_NAME = "Help"

ALICE = "alice-object-id"
BOB = "bob-object-id"
ANNA = "anna-object-id"
CAROL = "carol-object-id"
GUEST = "guest-object-id"
STRANGER = "stranger-object-id"

TEAM = "19:general@thread.tacv2"
"""A team has the id of its channel General."""

TEAM_GROUP = "aaaaaaaa-2222-3333-4444-555555555555"
GENERAL = TEAM
HELP = "19:help@thread.tacv2"
PEOPLE = "19:people@thread.tacv2"
SHARED = "19:shared@thread.tacv2"
GUESTS = "19:guests@thread.tacv2"
ELSEWHERE = "19:elsewhere@thread.tacv2"
"""A channel of a team that the bot is not in."""

GROUP = "19:group@thread.v2"
OUTSIDE_GROUP = "19:outside@thread.v2"
"""A group chat with somebody of another company."""
