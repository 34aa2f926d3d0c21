"""Handle feedback, reactions and the buttons below an answer."""
