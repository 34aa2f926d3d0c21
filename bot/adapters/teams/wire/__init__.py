"""What goes to Teams and comes from it, as values: pure."""
