"""What is indexed, and how it gets there."""
