"""Platform-independent chat features: messages, edits, button actions, votes and commands."""
