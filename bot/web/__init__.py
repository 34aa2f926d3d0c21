"""Everything a browser or an API client sees: sign-in, chat page, board and JSON API."""
