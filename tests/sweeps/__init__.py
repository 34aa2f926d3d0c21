"""Long runs: servers that are killed, faults, and events that are sent again."""
