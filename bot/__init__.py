"""The help desk and the platforms it speaks on."""
