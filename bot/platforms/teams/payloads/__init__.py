"""Parse activities from Teams, and build those sent to it, as plain values; pure."""
