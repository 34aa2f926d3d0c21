"""What Slack sends, over HTTP or a socket: let in, or not."""
