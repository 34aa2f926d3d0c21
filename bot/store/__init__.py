"""What is kept: interactions, conversations, progress, feedback."""
