"""What Slack sends and what it stores with our messages, as values. Pure."""
