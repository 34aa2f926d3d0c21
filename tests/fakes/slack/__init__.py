"""A fake Slack: a workspace with its Web API, its sockets, and the people in it."""
