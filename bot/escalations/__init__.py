"""Life cycle of an escalated question: acts, cards, notices and reminders."""
