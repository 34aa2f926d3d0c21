"""What a message wants, told by rules and by a small classifier."""
