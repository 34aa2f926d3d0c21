"""The HTTP side for browsers and API clients: sign-in, chat page, board and JSON API."""
