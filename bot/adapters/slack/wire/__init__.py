"""What goes to Slack and comes from it, as values: pure."""
