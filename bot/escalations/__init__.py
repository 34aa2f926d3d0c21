"""Life of a question that went to people: casework, cards, notices and reminders."""
