"""Who may come in, who they are, and what they are told when they may not."""
