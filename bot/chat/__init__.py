"""What people do in any chat: messages, edits, actions, votes and commands."""
