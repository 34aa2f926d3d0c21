"""Questions handed to people on Slack: their cards, actions on them, and notices."""
