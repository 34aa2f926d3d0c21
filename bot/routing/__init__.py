"""What a message wants, and what it asks when it is read with the conversation."""
