"""The settings as pages show them."""
