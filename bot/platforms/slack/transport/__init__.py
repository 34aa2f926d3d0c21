"""How Slack's events arrive, over HTTP or Socket Mode, and reach their listeners."""
