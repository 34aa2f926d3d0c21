"""Questions put to people: their card, its buttons, and what the asker is told."""
