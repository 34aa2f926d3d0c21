"""Messages in conversations: questions that come in, replies and status that go out."""
