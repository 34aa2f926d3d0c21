"""Long runs over the whole application on Slack."""
