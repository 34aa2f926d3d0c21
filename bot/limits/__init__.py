"""How much is answered, and what is said when it is too much."""
