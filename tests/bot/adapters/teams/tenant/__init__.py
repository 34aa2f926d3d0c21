"""What the Teams that runs here remembers, by topic."""
