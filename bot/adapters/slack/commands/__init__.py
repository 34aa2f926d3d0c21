"""What is ordered by command on Slack, and the runs that are shown to their end."""
