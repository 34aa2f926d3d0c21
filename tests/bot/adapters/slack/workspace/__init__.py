"""The parts of a Slack that runs here: who is there, what it takes, what it refuses."""
