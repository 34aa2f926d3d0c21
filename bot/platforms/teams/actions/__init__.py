"""What people press below an answer, or react with."""
