"""What is ordered in words in Teams, and the runs that are shown to their end."""
