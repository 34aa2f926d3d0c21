"""The help desk and the platforms it speaks on."""

__version__ = "0.2.0"
