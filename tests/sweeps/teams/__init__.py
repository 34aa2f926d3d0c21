"""Long runs over the whole application in Teams."""
