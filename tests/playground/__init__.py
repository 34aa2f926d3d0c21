"""Microsoft's own client for bots, run as a program, and talked to as people do."""
