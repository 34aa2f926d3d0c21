"""What is looked for and counted in the record; all frozen."""
