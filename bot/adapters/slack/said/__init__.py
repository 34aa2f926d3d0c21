"""What people write on Slack."""
