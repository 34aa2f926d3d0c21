"""What Frontdesk shows in Teams."""
