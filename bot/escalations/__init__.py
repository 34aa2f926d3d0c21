"""The life of a question that went to people: who has it, what was said, who was told."""
