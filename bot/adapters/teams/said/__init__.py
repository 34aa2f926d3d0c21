"""What people write in Teams."""
