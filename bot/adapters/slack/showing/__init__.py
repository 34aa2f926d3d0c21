"""What Frontdesk shows on Slack."""
