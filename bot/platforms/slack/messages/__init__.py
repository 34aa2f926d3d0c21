"""Messages in conversations: intake of questions, delivery of replies, progress status."""
